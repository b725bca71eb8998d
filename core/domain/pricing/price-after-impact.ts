import { HUNDRED_PERCENT, MAX_PRICE } from './units.js';

export type PriceRangeCode = 'BelowMin' | 'AboveMax';

/** The contract reverts with this error, because no valid price exists. */
export class PriceRangeError extends RangeError {
  override readonly name = 'PriceRangeError';
  readonly code: PriceRangeCode;

  constructor(code: PriceRangeCode) {
    super(code === 'BelowMin' ? 'the impact leaves no positive price' : 'the price after impact does not fit the contract');
    this.code = code;
  }
}

export function priceAfterImpact(oraclePrice: bigint, impactP: bigint): bigint {
  const price = oraclePrice + (oraclePrice * impactP) / HUNDRED_PERCENT;
  if (price <= 0n) throw new PriceRangeError('BelowMin');
  if (price > MAX_PRICE) throw new PriceRangeError('AboveMax');
  return price;
}
