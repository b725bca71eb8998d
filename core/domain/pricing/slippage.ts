import { E3, pushesUp } from './units.js';

/** Closing slippage of a trade that never set one: 1 %. */
export const DEFAULT_CLOSING_SLIPPAGE_P = 1000n;

/** How far the execution price may be from the expected one. */
export const slippageAmount = (expectedPrice: bigint, maxSlippageP: bigint): bigint => (expectedPrice * maxSlippageP) / 100n / E3;

/** The worst accepted price: an upper bound for trades that push the price up, a lower bound for the others. */
export function worstPrice(input: {
  readonly expectedPrice: bigint;
  readonly maxSlippageP: bigint;
  readonly long: boolean;
  readonly open: boolean;
}): bigint {
  const amount = slippageAmount(input.expectedPrice, input.maxSlippageP);
  return pushesUp(input) ? input.expectedPrice + amount : input.expectedPrice - amount;
}

export function isWithinSlippage(input: {
  readonly price: bigint;
  readonly expectedPrice: bigint;
  readonly maxSlippageP: bigint;
  readonly long: boolean;
  readonly open: boolean;
}): boolean {
  const worst = worstPrice(input);
  return pushesUp(input) ? input.price <= worst : input.price >= worst;
}
