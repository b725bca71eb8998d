import { z } from 'zod';
import { CANDLE_INTERVALS, type Candle as CoreCandle } from '../../core/domain/candle.js';
import { MARKET_GROUPS, TRADE_ACTIONS } from '../../core/domain/market.js';
import { DecimalString, EpochMs, textOf } from './codec.js';
import { showCandle } from '../../core/markets/get-candles.js';
import { createOnce } from '../../core/caching/shared-reads.js';

/** Wire schemas of markets, prices and public history. */

const TokenAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const list = <Item extends z.ZodType>(item: Item) => z.object({ data: z.array(item) });

export const MarketSymbol = z.string().regex(/^[A-Z0-9.]{1,15}\/[A-Z0-9]{1,10}$/);

const SPELLING = /^[A-Za-z0-9.]{1,15}[-/][A-Za-z0-9]{1,10}$/;

/** `BTC-USD`, `btc%2Fusd`: the same market. */
export const MarketParams = z.object({
  symbol: z
    .codec(z.string().regex(SPELLING, 'must be written as BASE-QUOTE, or BASE%2FQUOTE'), z.string(), {
      decode: (text) => text.toUpperCase().replace('-', '/'),
      encode: (symbol) => symbol,
    })
    .meta({ description: 'Base and quote with `-` or an encoded `/` between them, in any letter case.' }),
});

/** A whole number in a query: digits and nothing else. */
const count = (least: number, most: number) =>
  z.codec(z.string().regex(/^\d{1,16}$/, 'must be a whole number'), z.int().min(least).max(most), { decode: Number, encode: String });

const Funding = {
  fundingRateLongHourly: DecimalString,
  fundingRateShortHourly: DecimalString,
  borrowingRateHourly: DecimalString,
  openInterestLongUsd: DecimalString,
  openInterestShortUsd: DecimalString,
  skewUsd: DecimalString,
};
export const FundingSnapshot = z.object({ ...Funding, market: MarketSymbol }).meta({ id: 'FundingSnapshot' });

export const Market = z
  .object({
    symbol: MarketSymbol,
    pairIndex: z.int(),
    base: z.string(),
    quote: z.string(),
    group: z.enum(MARKET_GROUPS),
    groupIndex: z.int(),
    feeIndex: z.int(),
    isOpen: z.boolean(),
    minLeverage: DecimalString,
    maxLeverage: DecimalString,
    minCollateralUsd: DecimalString,
    minPositionUsd: DecimalString,
    pricePrecision: z.int(),
    sizePrecision: z.int(),
    spreadRate: DecimalString,
    fees: z.object({ openFeeRate: DecimalString, closeFeeRate: DecimalString, minPositionSizeUsd: DecimalString }),
    funding: z.object(Funding),
    onlyIsolated: z.literal(true),
    collaterals: z.array(z.object({ symbol: z.string(), index: z.int(), address: TokenAddress, decimals: z.int() })),
  })
  .meta({ id: 'Market' });
export const Markets = list(Market);

export const Price = z
  .object({ market: MarketSymbol, mark: DecimalString, index: DecimalString, updatedAt: EpochMs })
  .meta({ id: 'Price' });
export const Prices = list(Price);

export const DayFigures = list(
  z
    .object({
      market: MarketSymbol,
      priceBefore: DecimalString.nullable().meta({ description: 'The index price 24 hours ago; null where it is not known.' }),
      volumeUsd: DecimalString.meta({ description: 'Traded in the last 24 hours, as far as the history reaches.' }),
    })
    .meta({ id: 'DayFigures' }),
);

export const BookQuery = z.strictObject({ levels: count(1, 30).optional() });

const BookLevel = z.object({ price: DecimalString, size: DecimalString, sizeUsd: DecimalString, cumulativeUsd: DecimalString });
export const OrderBook = z
  .object({
    market: MarketSymbol,
    markPrice: DecimalString,
    bids: z.array(BookLevel),
    asks: z.array(BookLevel),
    timestamp: EpochMs,
  })
  .meta({ id: 'OrderBook' });

const Instant = count(0, Number.MAX_SAFE_INTEGER).meta({ description: 'Epoch milliseconds.' });
export const CandlesQuery = z.strictObject({
  interval: z.enum(CANDLE_INTERVALS).optional(),
  from: Instant.optional(),
  to: Instant.optional(),
});

export const Candle = z
  .object({ time: EpochMs, open: DecimalString, high: DecimalString, low: DecimalString, close: DecimalString })
  .meta({ id: 'Candle' });
export const Candles = list(Candle);

export const TradesQuery = z.strictObject({ limit: count(1, 500).optional() });

export const MarketTrade = z
  .object({
    market: MarketSymbol,
    price: DecimalString,
    sizeUsd: DecimalString,
    side: z.enum(['long', 'short']),
    action: z.enum(TRADE_ACTIONS),
    timestamp: EpochMs,
    txHash: z.string(),
  })
  .meta({ id: 'MarketTrade' });
export const MarketTrades = list(MarketTrade);

const encode = textOf(Candle);
/** Past candles are the same objects for as long as the charts keep them, so their text is cached: serialising is most of the cost. */
const candleText = createOnce((candle: CoreCandle) => encode(showCandle(candle)));

export const candlesReply = (candles: readonly CoreCandle[]): string => `{"data":[${candles.map(candleText).join(',')}]}`;
