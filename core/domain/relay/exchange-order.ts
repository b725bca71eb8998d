import type { Intent } from '../intent.js';
import type { CollateralUnits } from '../pricing/market-view.js';

/** An order in the form of an order-book exchange, in the contract's units. */
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
  /** `isMarket` is absent in older stored orders. */
  | { readonly kind: 'trigger'; readonly trigger: bigint; readonly tpsl: 'tp' | 'sl'; readonly isMarket?: boolean };

/** One of the trader's trades in the market, at the time of the translation. */
export interface NettedTrade {
  readonly tradeIndex: number;
  readonly long: boolean;
  /** 1e18. */
  readonly sizeBase: bigint;
  readonly collateralAmount: bigint;
  /** Collateral that must remain after a partial close; with less, the trade is closed as a whole. */
  readonly minCollateral: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  /** Closing slippage, 1e3 percent; 0 = the contract's default. */
  readonly slippageP: bigint;
  /** 1e10: the mark in the trade's own collateral. Absent in older stored contexts; then the context's mark is used. */
  readonly mark?: bigint;
  /** A request on it is pending; the contract accepts no other until it is answered. */
  readonly isBusy: boolean;
  /** Base units (1e18) it holds beyond its order's requested size. Absent in older stored contexts = 0. */
  readonly excess?: bigint;
}

/** All inputs of a translation. Stored with the sent transaction, so that the translation can be repeated. */
export interface TranslationContext {
  readonly block: bigint;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly collateral: CollateralUnits;
  /** 1e10. */
  readonly oracle: bigint;
  readonly mark: bigint;
  /** Predicted execution price of the opening part, used to size its collateral. */
  readonly predicted: bigint;
  /** Oldest first, both sides. */
  readonly trades: readonly NettedTrade[];
  /** 1e3. */
  readonly leverage: bigint;
  /** Where it comes from. Absent in older stored contexts. */
  readonly chosen?: ChosenLeverage;
  /** The market's lot, 1e18. */
  readonly sizeStep: bigint;
  /**
   * Size added to an opening, 1e18: half of `sizeStep`, so that the shown size equals the requested one even if the price moves slightly until
   * the oracle answers; 0 where the trader's funds do not allow it. Absent in older stored contexts, which are translated as they were then.
   */
  readonly halfLot?: bigint;
  /** Slippage between a resting order's trigger and its limit, 1e3 percent, for spread and impact. */
  readonly cushionP: bigint;
  /** The contract's maximum slippage, 1e3 percent. */
  readonly maxSlippageP: bigint;
  /** For the position opened by the order; 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  /** Named in every opening; absent = none, as in older stored contexts. */
  readonly referrer?: `0x${string}`;
}

/** A leverage before the market's limits bind it. */
export interface ChosenLeverage {
  /** Whole times. */
  readonly leverage: number;
  /** The signed action that set it; null where the trader set none, or a release before kept none. */
  readonly action: bigint | null;
  /** The market's limits, 1e3. */
  readonly least: bigint;
  readonly most: bigint;
}

export interface Leg {
  readonly role: 'close' | 'open' | 'protect';
  readonly intent: Intent;
  /** 1e18; for a TP/SL, the size it covers. */
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
  /** market: executed or refused at once · resting: waits for its price · protection: TP/SL of open trades. */
  { readonly kind: 'legs'; readonly manner: 'market' | 'resting' | 'protection'; readonly legs: readonly Leg[] } | RefusedTranslation;

export interface RefusedTranslation {
  readonly kind: 'refused';
  readonly why: TranslationRefusal;
  /** For an order that covers only a part of a trade: the sizes (1e18) that cover whole trades, smallest first. */
  readonly sizes?: readonly bigint[];
}
