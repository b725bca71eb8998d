import { skewCollateral } from './exposure.js';
import type { MarketView } from './market-view.js';
import { E8, absolute, maximum } from './units.js';

/**
 * A counter trade must reduce the skew; null if it does not. Otherwise the part of the position (collateral units) that would
 * push the skew past zero and is therefore cut off.
 */
export function counterTradeExcess(
  market: Pick<MarketView, 'state' | 'collateral'>,
  order: { readonly long: boolean; readonly positionSizeCollateral: bigint; readonly price: bigint },
): bigint | null {
  const skew = (skewCollateral(market, order.price) * E8) / market.collateral.precisionDelta;
  if (skew === 0n || skew > 0n === order.long) return null;
  return maximum(order.positionSizeCollateral - absolute(skew), 0n);
}
