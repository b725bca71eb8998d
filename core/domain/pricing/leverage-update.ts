import { maxLeverageOf } from '../market.js';
import { firstReason, type CancelReason } from '../order.js';
import { closingImpact, type PriceContext } from './execution-price.js';
import { minGovFee, tradingFee, pnlPercentP, tradeValue } from './fees.js';
import { isLiquidatable, liquidationPrice } from './liquidation.js';
import type { StoredTrade, TradeAccount } from './market-view.js';
import { positionSizeCollateral } from './size.js';
import { E3, MAX_LEVERAGE, minimum } from './units.js';

export interface LeverageUpdateRequest {
  readonly trade: StoredTrade;
  readonly account: TradeAccount;
  readonly newLeverage: bigint;
  /** 1e3 percent. */
  readonly govFeeP: bigint;
}

export interface LeverageUpdateOutcome {
  readonly cancelReason: CancelReason;
  readonly newCollateralAmount: bigint;
  readonly govFee: bigint;
  readonly existingLiquidationPrice: bigint;
  readonly newLiquidationPrice: bigint;
  /** null for a decrease, which the contract does not check. */
  readonly newEffectiveLeverage: bigint | null;
}

/** The position keeps its size; collateral is added or removed. */
export const collateralAtLeverage = (trade: Pick<StoredTrade, 'collateralAmount' | 'leverage'>, newLeverage: bigint): bigint =>
  (trade.collateralAmount * trade.leverage) / newLeverage;

/** What the callback would do with a leverage update at `context.oraclePrice`. Throws `PriceRangeError` where it would revert. */
export function predictLeverageUpdate(context: PriceContext, request: LeverageUpdateRequest): LeverageUpdateOutcome {
  const { market, terms, oraclePrice } = context;
  const { trade, account, newLeverage } = request;
  const { long } = trade;
  const govFee = minGovFee({ market, feeMultiplier: terms.feeMultiplier, govFeeP: request.govFeeP });
  const newCollateralAmount = collateralAtLeverage(trade, newLeverage);
  const updated = { ...trade, collateralAmount: newCollateralAmount, leverage: newLeverage };
  const liquidation = { market, terms, params: trade.liquidation, account };
  const existingLiquidationPrice = liquidationPrice({ ...liquidation, ...trade });
  const newLiquidationPrice = liquidationPrice({ ...liquidation, ...updated, additionalFee: govFee });
  const isIncrease = newLeverage > trade.leverage;
  const newEffectiveLeverage = isIncrease ? effectiveLeverage(context, { trade: updated, account, additionalFee: govFee }) : null;
  const exceeds = (limit: bigint): boolean => newEffectiveLeverage !== null && newEffectiveLeverage > limit;
  const liquidatableAt = (liqPrice: bigint): boolean => isLiquidatable({ long, oraclePrice, liquidationPrice: liqPrice });
  const cancelReason = firstReason([
    ['LIQ_REACHED', () => liquidatableAt(existingLiquidationPrice) || liquidatableAt(newLiquidationPrice)],
    ['MAX_LEVERAGE', () => exceeds(maxLeverageOf(market.pair, market.group))],
    ['COUNTER_TRADE_CANCELED', () => trade.isCounterTrade && exceeds(market.pair.counterTrade.maxLeverage)],
  ]);
  return { cancelReason, newCollateralAmount, govFee, existingLiquidationPrice, newLiquidationPrice, newEffectiveLeverage };
}

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
