import { divideInteger, type Rounding } from '../decimal.js';
import type { CollateralUnits } from './market-view.js';
import { E18, E3, E8, P10 } from './units.js';

export const positionSizeCollateral = (trade: { readonly collateralAmount: bigint; readonly leverage: bigint }): bigint =>
  (trade.collateralAmount * trade.leverage) / E3;

/** 1e18 USD. */
export const collateralToUsd = (amount: bigint, collateral: CollateralUnits): bigint =>
  (amount * collateral.precisionDelta * collateral.priceUsd) / E8;

/** Token units of a 1e18 USD value. */
export const usdToCollateral = (usd: bigint, collateral: CollateralUnits): bigint =>
  (usd * E8) / collateral.priceUsd / collateral.precisionDelta;

/**
 * What the contract calls token: collateral value over pair price (1e18). `price` is the price after spread and volume impact,
 * without skew.
 */
export const positionSizeToken = (input: {
  readonly positionSizeCollateral: bigint;
  readonly price: bigint;
  readonly collateral: CollateralUnits;
}): bigint => (input.positionSizeCollateral * input.collateral.precisionDelta * P10) / input.price;

/** Tokens of a trade from before the contract stored them: its size at its open price. */
export const tokensAtOpen = (input: { readonly sizeCollateral: bigint; readonly openPrice: bigint; readonly precision: bigint }): bigint =>
  input.openPrice === 0n ? 0n : (input.sizeCollateral * E18 * P10) / input.precision / input.openPrice;

/** Units of the base asset (1e18): the same number as the contract's tokens only for a collateral worth exactly one USD. */
export const tokenToBase = (token: bigint, collateral: CollateralUnits): bigint => (token * collateral.priceUsd) / E8;

interface EntryFigures {
  readonly sizeToken: bigint;
  readonly collateralAmount: bigint;
  readonly leverage: bigint;
  readonly openPrice: bigint;
  readonly entryPriceUsd?: bigint;
}

/** Where the precision is null, it is not known, and tokens that the contract did not store count as 0. */
interface EntryUnits {
  readonly precision: bigint | null;
  readonly priceUsd: bigint;
}

/**
 * Base units (1e18) of a trade at the collateral's price of its opening, so that the size changes only when something is traded. For trades
 * from before the contract stored tokens, computed from the opening.
 */
export const entryBase = (trade: EntryFigures, collateral: Pick<CollateralUnits, 'precision' | 'priceUsd'>): bigint =>
  exactEntryBase(trade, collateral) / E8;

/** The same in 1e26, before its last division, so that a sum over trades is divided once. */
export const exactEntryBase = (trade: EntryFigures, { precision, priceUsd }: EntryUnits): bigint =>
  (trade.sizeToken > 0n ? trade.sizeToken : tokensIfKnown({ ...trade, sizeCollateral: positionSizeCollateral(trade), precision })) *
  (trade.entryPriceUsd ?? priceUsd);

/** 1e26, as `exactEntryBase`: what an execution adds to its trade or takes from it. */
export function exactTradedBase(
  {
    sizeToken,
    sizeCollateral,
    terms: { openPrice },
    after,
    ...prices
  }: {
    readonly sizeToken: bigint | null;
    readonly sizeCollateral: bigint;
    readonly terms: { readonly openPrice: bigint };
    readonly after: { readonly sizeToken: bigint } | null;
    readonly collateralPriceUsd: bigint | null;
    readonly entryPriceUsd?: bigint;
  },
  { precision, priceUsd }: EntryUnits,
): bigint {
  const isCounted = (sizeToken ?? 0n) > 0n || (after?.sizeToken ?? 0n) > 0n;
  const token = isCounted ? (sizeToken ?? 0n) : tokensIfKnown({ sizeCollateral, openPrice, precision });
  return token * (prices.entryPriceUsd ?? prices.collateralPriceUsd ?? priceUsd);
}

const tokensIfKnown = ({
  precision,
  ...size
}: {
  readonly sizeCollateral: bigint;
  readonly openPrice: bigint;
  readonly precision: bigint | null;
}): bigint => (precision === null ? 0n : tokensAtOpen({ ...size, precision }));

/** Converts base units to the collateral the contract takes; the caller chooses the rounding. */
export function collateralForBaseSize(input: {
  /** 1e18. */
  readonly baseSize: bigint;
  readonly price: bigint;
  readonly leverage: bigint;
  readonly collateral: CollateralUnits;
  readonly rounding: Rounding;
}): bigint {
  const { collateral } = input;
  const numerator = input.baseSize * input.price * collateral.precision * E3 * E8;
  return divideInteger(numerator, collateral.priceUsd * input.leverage * P10 * E18, input.rounding);
}

/** Base units (1e18) that collateral × leverage buys at a price; the inverse of `collateralForBaseSize`. */
export function baseSizeForCollateral(input: {
  readonly collateralAmount: bigint;
  readonly price: bigint;
  readonly leverage: bigint;
  readonly collateral: CollateralUnits;
  readonly rounding: Rounding;
}): bigint {
  const { collateral } = input;
  const numerator = input.collateralAmount * input.leverage * collateral.priceUsd * P10 * E18;
  return divideInteger(numerator, input.price * collateral.precision * E3 * E8, input.rounding);
}
