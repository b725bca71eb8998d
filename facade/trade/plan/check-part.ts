import { decimal, formatDecimal, round } from '../../../core/domain/decimal.js';
import { tradingFee } from '../../../core/domain/pricing/fees.js';
import { marketView, STANDARD_TERMS } from '../../../core/domain/pricing/market-view.js';
import { pnlPercentP, rawPnl } from '../../../core/domain/pricing/pnl.js';
import { collateralToUsd, positionSizeCollateral } from '../../../core/domain/pricing/size.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import type { PositionFigures } from '../../../core/trading/find-position.js';
import { currentPrice } from '../../../core/trading/order-request.js';

const USD_DECIMALS = 6;

/** A partial close worth less than its fee would be mined and then canceled by the contract, which wastes gas. */
export function checkPart(venue: Venue, position: PositionFigures, collateralAmount: bigint): void {
  const market = marketView(venue.feed.config(), position);
  if (market === null) return;
  const { leverage, isCounterTrade, pairIndex } = position;
  const { feeMultiplier } = STANDARD_TERMS;
  const size = positionSizeCollateral({ collateralAmount, leverage });
  const fee = tradingFee({ market, positionSizeCollateral: size, isCounterTrade, feeMultiplier });
  const gain = rawPnl(collateralAmount, pnlPercentP({ ...position, price: currentPrice(venue, pairIndex).oracle }));
  if (collateralAmount + gain >= fee) return;
  const usd = (amount: bigint): string =>
    formatDecimal(round(decimal(collateralToUsd(amount, market.collateral), 18), USD_DECIMALS, 'half-up'));
  throw new GatewayError('SIZE_BELOW_MINIMUM', { collateralUsd: usd(collateralAmount), minCollateralUsd: usd(fee) });
}
