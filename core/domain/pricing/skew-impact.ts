import type { PairInCollateral, Sides } from '../market.js';
import { priceAfterImpact } from './price-after-impact.js';
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
