import { divideInteger, toUnits } from '../../core/domain/decimal.js';
import { BOOK_LEVELS, getOrderBook, type BookLevel } from '../../core/markets/market-data.js';
import type { Venue } from '../../core/gateway.js';
import { BASE_SCALE, PRICE_SCALE, ZERO_TEXT, formatExact, formatSize, magnitude, priceDecimals } from '../format.js';
import { coinPrice, coinSize, type Asset } from '../universe.js';

export interface L2Level {
  readonly px: string;
  readonly sz: string;
  readonly n: 1;
}

export interface L2Book {
  readonly coin: string;
  readonly time: number;
  readonly levels: readonly [readonly L2Level[], readonly L2Level[]];
}

/** Aggregation: fewer significant figures, and with five of them a step of 2 or 5. */
export interface Coarseness {
  readonly nSigFigs?: number | null | undefined;
  readonly mantissa?: number | null | undefined;
}

const MOST_LEVELS = 20;

/** What the contract would fill now, on the tick: bids rounded down, asks up. There are no resting orders in it, so every level counts one. */
export function l2Book(venue: Venue, asset: Asset, coarseness: Coarseness): L2Book {
  const book = getOrderBook(venue, asset.symbol, BOOK_LEVELS.most);
  const mark = coinPrice(asset, toUnits(book.markPrice, PRICE_SCALE, 'half-up'));
  const step = stepOf(mark, asset.szDecimals, coarseness);
  const bids = sideOf(asset, book.bids, step, 'floor');
  const asks = sideOf(asset, book.asks, step, 'ceil');
  const bestAsk = asks.keys().next().value ?? divideInteger(mark, step, 'ceil') * step + step;
  const apart = new Map([...bids].map(([px, size]) => [px < bestAsk ? px : bestAsk - step, size]));
  return {
    coin: asset.coin,
    time: book.timestamp,
    levels: [shown(asset, apart, divideInteger(mark, step, 'floor') * step - step), shown(asset, asks, bestAsk)],
  };
}

/** 1e10. */
function stepOf(mark: bigint, szDecimals: number, { nSigFigs, mantissa }: Coarseness): bigint {
  const finest = priceDecimals(mark, szDecimals);
  const decimals = nSigFigs ? Math.min(finest, nSigFigs - 1 - magnitude(mark, PRICE_SCALE)) : finest;
  return 10n ** BigInt(PRICE_SCALE - decimals) * BigInt(mantissa ?? 1);
}

/** Base units by price, best first; levels on the same step are merged. */
function sideOf(asset: Asset, levels: readonly BookLevel[], step: bigint, rounding: 'floor' | 'ceil'): Map<bigint, bigint> {
  const sizes = new Map<bigint, bigint>();
  for (const { price, size } of levels) {
    const px = divideInteger(coinPrice(asset, toUnits(price, PRICE_SCALE, rounding)), step, rounding) * step;
    if (px > 0n) sizes.set(px, (sizes.get(px) ?? 0n) + coinSize(asset, toUnits(size, BASE_SCALE, 'down')));
  }
  return sizes;
}

/** A side on which nothing can be opened still shows one price, with size zero. */
function shown({ szDecimals }: Asset, sizes: ReadonlyMap<bigint, bigint>, empty: bigint): L2Level[] {
  const levels = [...sizes].slice(0, MOST_LEVELS).map(([px, size]): L2Level => ({
    px: formatExact(px),
    sz: formatSize(size, szDecimals, 'down'),
    n: 1,
  }));
  return levels.length > 0 ? levels : [{ px: formatExact(empty), sz: ZERO_TEXT, n: 1 }];
}
