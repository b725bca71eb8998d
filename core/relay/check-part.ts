import { decimal, formatDecimal, round } from '../domain/decimal.js';
import { tradingFee } from '../domain/pricing/fees.js';
import { marketView, STANDARD_TERMS } from '../domain/pricing/market-view.js';
import { pnlPercentP, rawPnl } from '../domain/pricing/pnl.js';
import { collateralToUsd, positionSizeCollateral } from '../domain/pricing/size.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import type { PositionFigures } from '../orders/find-position.js';
import { currentPrice } from '../orders/order-request.js';

const USD_DECIMALS = 6;

/** A part that is worth less than the fee of closing it is mined and then canceled by the contract: gas for nothing. */
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
