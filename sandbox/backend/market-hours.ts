import { groupOf, type MarketGroup } from '../../core/domain/market.js';
import { sessionOpen } from '../../core/domain/schedule.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Cancel } from '../../core/types.js';

export type HoursClass = Exclude<MarketGroup, 'crypto'>;

/**
 * Who is open, as the sandbox's oracle and backend both see it: the calendar, unless somebody said otherwise for a market.
 *
 * Production can say "closed" of a class only (`isForexOpen` and its like), and of one pair that its leverage is capped to 0.001x,
 * which switches opening off. So a class is open while any market of it is, and a closed market in an open class is capped.
 */
export interface MarketHours {
  readonly isOpen: (pairIndex: number, at?: number) => boolean;
  isClassOpen(hours: HoursClass): boolean;
  /** True when only the cap can say that the market is closed. */
  isCapped(pairIndex: number): boolean;
  /** null gives the market back to the calendar. */
  set(pairIndex: number, isOpen: boolean | null): void;
  onChange(listener: () => void): Cancel;
}

export interface MarketHoursOptions {
  /** By pair index; null is a slot without a market. */
  readonly markets: readonly ({ readonly group: string } | null)[];
  readonly clock: Clock;
}

export function createMarketHours({ markets, clock }: MarketHoursOptions): MarketHours {
  const classes = markets.map((market) => (market ? groupOf(market.group) : null));
  const overrides = new Map<number, boolean>();
  const listeners = new Set<() => void>();

  const byCalendar = (pairIndex: number, at: number): boolean => {
    const hours = classes[pairIndex];
    if (hours === undefined || hours === null) return false;
    return sessionOpen(hours, at);
  };

  const isOpen = (pairIndex: number, at = clock.now()): boolean => overrides.get(pairIndex) ?? byCalendar(pairIndex, at);
  const isAnyOpen = (hours: HoursClass): boolean => classes.some((known, pairIndex) => known === hours && isOpen(pairIndex));

  return {
    isOpen,
    isClassOpen: isAnyOpen,
    isCapped(pairIndex) {
      const hours = classes[pairIndex];
      if (hours === undefined || hours === null || isOpen(pairIndex)) return false;
      return hours === 'crypto' || isAnyOpen(hours);
    },
    set(pairIndex, value) {
      if (!markets[pairIndex]) throw new RangeError(`no market at pair ${pairIndex}`);
      if (value === null) overrides.delete(pairIndex);
      else overrides.set(pairIndex, value);
      for (const listener of [...listeners]) listener();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
