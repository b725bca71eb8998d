import { closingImpact, type PriceContext } from './execution-price.js';
import { tradingFee } from './fees.js';
import type { StoredTrade, TradeAccount } from './market-view.js';
import { pnlPercentP, tradeValue } from './pnl.js';
import { positionSizeCollateral } from './size.js';
import { E3, MAX_LEVERAGE, minimum } from './units.js';

/**
 * Position value at the current price divided by what closing it would pay (1e3), for a trade after an update. `additionalFee` is the fee of
 * the update.
 */
export function effectiveLeverage(
  context: PriceContext,
  input: { readonly trade: StoredTrade; readonly account: TradeAccount; readonly additionalFee: bigint },
): bigint {
  const { trade, account } = input;
  const size = positionSizeCollateral(trade);
  const { priceAfterImpact } = closingImpact(context, { trade, account, positionSizeCollateral: size });
  const fee = tradingFee({
    market: context.market,
    positionSizeCollateral: size,
    isCounterTrade: trade.isCounterTrade,
    feeMultiplier: context.terms.feeMultiplier,
  });
  const margin = tradeValue({
    collateralAmount: trade.collateralAmount,
    precisionDelta: context.market.collateral.precisionDelta,
    pnlP: pnlPercentP({ ...trade, price: priceAfterImpact }),
    closingFee: fee + input.additionalFee,
    account,
  });
  if (margin === 0n) return MAX_LEVERAGE;
  return minimum((((size * context.oraclePrice) / trade.openPrice) * E3) / margin, MAX_LEVERAGE);
}
