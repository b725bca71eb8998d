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

/** Last known prices, also of markets that are shut; a market that never had one is left out. */
export function listPrices(venue: Venue): Price[] {
  const prices = venue.feed.prices();
  return directoryOf(venue.feed.config()).pairs.flatMap((pair) => {
    const point = prices.get(pair.index);
    if (!point) return [];
    return [
      { market: symbolOf(pair), mark: decimal(point.mark, PRICE_SCALE), index: decimal(point.index, PRICE_SCALE), updatedAt: point.at },
    ];
  });
}
