import type { Intent } from '../intent.js';
import type { CollateralUnits } from '../pricing/market-view.js';

/** An order as an order-book exchange takes it, in the contract's units. */
export interface ExchangeOrder {
  readonly isBuy: boolean;
  /** 1e10: a buyer pays no more, a seller takes no less. */
  readonly limit: bigint;
  /** Base units, 1e18; 0 = the whole position, where the style allows it. */
  readonly size: bigint;
  readonly reduceOnly: boolean;
  readonly style: ExchangeStyle;
}

export const TIMES_IN_FORCE = ['Gtc', 'Ioc', 'Alo', 'FrontendMarket'] as const;
export type TimeInForce = (typeof TIMES_IN_FORCE)[number];

export type ExchangeStyle =
  | { readonly kind: 'limit'; readonly tif: TimeInForce }
  /** `isMarket` is absent in orders that were stored before it was kept. */
  | { readonly kind: 'trigger'; readonly trigger: bigint; readonly tpsl: 'tp' | 'sl'; readonly isMarket?: boolean };

/** One of the trader's trades in the market, as it stood when the order was translated. */
export interface NettedTrade {
  readonly tradeIndex: number;
  readonly long: boolean;
  /** 1e18. */
  readonly sizeBase: bigint;
  readonly collateralAmount: bigint;
  /** Collateral that must be left after a partial close; less than that is closed whole. */
  readonly minCollateral: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  /** How far from its levels it may be closed, 1e3 percent; 0 = the contract's default. */
  readonly slippageP: bigint;
  /** 1e10: the mark in the trade's own collateral. Absent in contexts that were stored before it was kept: the mark of the context stands in. */
  readonly mark?: bigint;
  /** Something is pending on it: the contract takes nothing else meanwhile. */
  readonly isBusy: boolean;
  /** Base units (1e18) it holds beyond what its order asked for. Absent in contexts from before it was kept: then there is none. */
  readonly excess?: bigint;
}

/** Everything a translation stands on. Stored beside what was sent, so that anybody can repeat it. */
export interface TranslationContext {
  readonly block: bigint;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly collateral: CollateralUnits;
  /** 1e10. */
  readonly oracle: bigint;
  readonly mark: bigint;
  /** At which the opening part would be executed now; what its collateral is sized at. */
  readonly predicted: bigint;
  /** Oldest first, both sides. */
  readonly trades: readonly NettedTrade[];
  /** 1e3. */
  readonly leverage: bigint;
  /** The smallest size the market shows, 1e18. */
  readonly sizeStep: bigint;
  /**
   * What an opening is sized for beyond what was asked, 1e18: half of `sizeStep`, so that a small move of the price until the oracle
   * answers leaves the shown size as it was asked for; 0 where the trader's funds do not allow it. Absent in contexts from before it was
   * kept, which are translated as they were then.
   */
  readonly halfLot?: bigint;
  /** Room between a resting order's trigger and its limit, 1e3 percent: spread and impact have to fit in. */
  readonly cushionP: bigint;
  /** The contract's own bound, 1e3 percent. */
  readonly maxSlippageP: bigint;
  /** Of a position that is opened with the order; 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  /** Named in every opening; absent = none, as in what was stored before there was one. */
  readonly referrer?: `0x${string}`;
}

export interface Leg {
  readonly role: 'close' | 'open' | 'protect';
  readonly intent: Intent;
  /** 1e18; of a protection, what it covers. */
  readonly sizeBase: bigint;
}

export const TRANSLATION_REFUSALS = [
  'no-match',
  'reduce-only',
  'post-only',
  'bad-trigger',
  'busy',
  'partial-protection',
  'zero-size',
] as const;
export type TranslationRefusal = (typeof TRANSLATION_REFUSALS)[number];

export type Translation =
  /** market: executed or refused at once · resting: waits for its price · protection: tp or sl of what is open. */
  { readonly kind: 'legs'; readonly manner: 'market' | 'resting' | 'protection'; readonly legs: readonly Leg[] } | RefusedTranslation;

export interface RefusedTranslation {
  readonly kind: 'refused';
  readonly why: TranslationRefusal;
  /** Of an order that covers a part of a trade: the sizes (1e18) that cover whole trades, the smallest first. */
  readonly sizes?: readonly bigint[];
}
