import { groupOf, type MarketGroup } from '../../core/domain/market.js';
import { sessionOpen } from '../../core/domain/schedule.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Cancel } from '../../core/types.js';

export type HoursClass = Exclude<MarketGroup, 'crypto'>;

/**
 * Which markets are open, for the sandbox's oracle and backend: by the calendar, unless a control overrides it for a market.
 *
 * Production can report only a class as closed (`isForexOpen` etc.), and cap the leverage of one pair at 0.001x, which disables opening.
 * So a class is open while any of its markets is, and a closed market in an open class is capped.
 */
export interface MarketHours {
  readonly isOpen: (pairIndex: number, at?: number) => boolean;
  isClassOpen(hours: HoursClass): boolean;
  /** True if only the cap can express that the market is closed. */
  isCapped(pairIndex: number): boolean;
  /** null returns the market to the calendar. */
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
