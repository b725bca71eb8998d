import type { PairInCollateral, PricePoint, Sides } from '../market.js';
import { HUNDRED_PERCENT, MAX_PRICE, P10 } from './units.js';

type SkewState = Pick<PairInCollateral, 'oiToken' | 'skewDepth'>;

/** Longs minus shorts. */
export const netSkew = (sides: Sides): bigint => sides.long - sides.short;

/** Signed (1e10 percent): the skew impact on a trade, including half of its own size. */
export function skewImpactP(input: { readonly state: SkewState; readonly sizeToken: bigint; readonly up: boolean }): bigint {
  const { oiToken, skewDepth } = input.state;
  if (skewDepth === 0n) return 0n;
  const ownHalf = (input.up ? input.sizeToken : -input.sizeToken) / 2n;
  return ((netSkew(oiToken) + ownHalf) * P10) / skewDepth / 2n;
}

/** The oracle price shifted by the current skew. Triggers compare with it; liquidation compares with the oracle price. */
export const marketPrice = (state: SkewState, oraclePrice: bigint): bigint =>
  priceAfterImpact(oraclePrice, skewImpactP({ state, sizeToken: 0n, up: true }));

/**
 * The mark of a trade or order in one collateral. The contract shifts the oracle's price by the skew of that collateral, while the feed's mark
 * has the skew of the reference collateral and is used only where the own one is unknown. Where the skew gives no valid price, the oracle's
 * is used.
 */
export function markIn(state: SkewState | null | undefined, { mark, oracle }: Pick<PricePoint, 'mark' | 'oracle'>): bigint {
  if (!state) return mark;
  try {
    return marketPrice(state, oracle);
  } catch (error) {
    if (error instanceof PriceRangeError) return oracle;
    throw error;
  }
}

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
