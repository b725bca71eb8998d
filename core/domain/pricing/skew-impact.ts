import type { PairInCollateral, PricePoint, Sides } from '../market.js';
import { PriceRangeError, priceAfterImpact } from './price-after-impact.js';
import { P10 } from './units.js';

type SkewState = Pick<PairInCollateral, 'oiToken' | 'skewDepth'>;

/** Longs minus shorts. */
export const netSkew = (sides: Sides): bigint => sides.long - sides.short;

/** Signed (1e10 percent): the skew a trade meets, its own half included. */
export function skewImpactP(input: { readonly state: SkewState; readonly sizeToken: bigint; readonly up: boolean }): bigint {
  const { oiToken, skewDepth } = input.state;
  if (skewDepth === 0n) return 0n;
  const ownHalf = (input.up ? input.sizeToken : -input.sizeToken) / 2n;
  return ((netSkew(oiToken) + ownHalf) * P10) / skewDepth / 2n;
}

/** The oracle price moved by the standing skew: what triggers compare with, while liquidation compares the oracle price. */
export const marketPrice = (state: SkewState, oraclePrice: bigint): bigint =>
  priceAfterImpact(oraclePrice, skewImpactP({ state, sizeToken: 0n, up: true }));

/**
 * The mark of a trade or order in one collateral. The contract moves the oracle's price by the skew of that collateral, while the mark of
 * the feed has the skew of the reference collateral, which stands in only where the own one is not described. Where the skew leaves no
 * price that the contract could hold, the oracle's is used.
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
