import { decimal, type Decimal } from '../domain/decimal.js';
import { symbolOf } from '../domain/market.js';
import type { Venue } from '../gateway.js';
import { directoryOf } from './directory.js';

export interface Price {
  market: string;
  mark: Decimal;
  index: Decimal;
  updatedAt: number;
}

export const PRICE_SCALE = 10;

/** Last known prices, including closed markets, optionally of some pairs only; markets without a price are left out. */
export function listPrices(venue: Venue, only: ReadonlySet<number> | null = null): Price[] {
  const prices = venue.feed.prices();
  return directoryOf(venue.feed.config()).pairs.flatMap((pair) => {
    const point = only === null || only.has(pair.index) ? prices.get(pair.index) : undefined;
    if (!point) return [];
    return [
      { market: symbolOf(pair), mark: decimal(point.mark, PRICE_SCALE), index: decimal(point.index, PRICE_SCALE), updatedAt: point.at },
    ];
  });
}
