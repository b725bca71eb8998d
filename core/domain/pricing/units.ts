/**
 * The contract's fixed-point units. bigint division truncates toward zero, as Solidity's does for both signs; truncating twice
 * (`/ 1e10 / 100`) equals truncating once by the product, so `HUNDRED_PERCENT` replaces that pair of divisions.
 */

/** 1e10: prices, and one percent in `…P` figures. */
export const P10 = 10n ** 10n;
export const HUNDRED_PERCENT = 100n * P10;
/** Leverage, fee-tier and counter-trade multipliers: 1e3. */
export const E3 = 1000n;
/** Collateral/USD feed: 1e8. */
export const E8 = 10n ** 8n;
/** USD values, token sizes and token open interest: 1e18. */
export const E18 = 10n ** 18n;

export const MAX_PRICE = 2n ** 64n - 1n;
export const MAX_LEVERAGE = 2n ** 24n - 1n;

/** A trade pushes the price up when it opens a long or closes a short; depth, spread and volume windows follow this direction. */
export const pushesUp = (trade: { readonly long: boolean; readonly open: boolean }): boolean => trade.long === trade.open;

export const absolute = (value: bigint): bigint => (value < 0n ? -value : value);
export const minimum = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const maximum = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** a × b / c, rounded up; for non-negative a, b and positive c. */
export const multiplyDivideUp = (a: bigint, b: bigint, c: bigint): bigint => (a * b + c - 1n) / c;
