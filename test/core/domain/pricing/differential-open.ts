import { openingImpact, type PriceContext } from '../../../../core/domain/pricing/execution-price.js';
import { minGovFee, minOpeningCollateral, clampStopLoss } from '../../../../core/domain/pricing/fees.js';
import { liquidationThresholdP } from '../../../../core/domain/pricing/liquidation.js';
import { MAX_OPEN_LOSS_P, openLossP, predictOpen } from '../../../../core/domain/pricing/predict-open.js';
import { netSkew, PriceRangeError } from '../../../../core/domain/pricing/exposure.js';
import { positionSizeCollateral, usdToCollateral } from '../../../../core/domain/pricing/size.js';
import { E3, maximum, minimum } from '../../../../core/domain/pricing/units.js';
import { TRADERS } from './differential-chain.js';
import type { ActionPlan } from './differential-plan.js';
import { answered, compare, count, find, impactFields, moved, reasonCode, settingFor, type Round } from './differential-round.js';

export async function open(round: Round, action: ActionPlan): Promise<void> {
  const { pair, collateral, trader, isCounterTrade } = action;
  const expected = round.prices[pair] ?? 1n;
  const current = moved(expected, action.moves[1]);
  const request = await settingFor(round, { pair, collateral, trader, price: expected });
  const { market, terms } = request;
  // A counter trade is worth trying only against the skew.
  const long = isCounterTrade ? netSkew(market.state.oiToken) < 0n : action.long;
  const limits = [market.pair.customMaxLeverage, isCounterTrade ? market.pair.counterTrade.maxLeverage : 0n].filter((limit) => limit > 0n);
  const leverage = limits.reduce(minimum, action.leverage);
  if (isCounterTrade && market.pair.counterTrade.maxLeverage === 0n) return;
  const wanted = (usdToCollateral(action.sizeUsd, market.collateral) * E3) / leverage;
  const collateralAmount = maximum(wanted, minOpeningCollateral(market.fees, market.collateral) + 1n);
  const [tpMove, slMove] = action.targets;
  const tp = tpMove === 0n ? 0n : moved(expected, long ? tpMove : -tpMove);
  const sl = slMove === 0n ? 0n : moved(expected, long ? -slMove : slMove);
  const order = {
    long,
    collateralAmount,
    leverage,
    openPrice: expected,
    tp: tp === expected ? 0n : tp,
    sl: sl === expected ? 0n : sl,
    isCounterTrade,
  };
  const receipt = await round.chain.trade(TRADERS[trader] ?? '0x', 'openTrade', [
    {
      user: TRADERS[trader],
      index: 0,
      pairIndex: pair,
      isOpen: true,
      collateralIndex: collateral,
      tradeType: 0,
      positionSizeToken: 0n,
      __placeholder: 0,
      ...order,
    },
    action.maxSlippageP,
    TRADERS[trader],
  ]);
  compare(round, 'openTrade', { accepted: receipt.succeeded }, { accepted: isAcceptable(request.context, order) });
  const result = await answered(round, action, { receipt, pair, price: current }, async () => {
    const { context, groupOi } = await settingFor(round, { pair, collateral, trader, price: current });
    return predictOpen(context, { ...order, maxSlippageP: action.maxSlippageP }, groupOi);
  });
  round.prices[pair] = current;
  if (!result) return;
  const { prediction } = result;
  count(round, `open ${prediction.cancelReason}`);
  if (prediction.cancelReason !== 'NONE') {
    const returned = collateralAmount - minGovFee({ market, feeMultiplier: terms.feeMultiplier, govFeeP: round.plan.govFeeP });
    const event = find(result.receipt, 'MarketOpenCanceled');
    const expectedFields = { cancelReason: reasonCode(prediction.cancelReason), collateralReturned: returned };
    return compare(round, 'MarketOpenCanceled', event?.args ?? {}, expectedFields);
  }
  const event = find(result.receipt, 'MarketExecuted');
  const thresholdP = liquidationThresholdP(market.pair.liquidation, leverage);
  const openPrice = prediction.impact.priceAfterImpact;
  const stop = clampStopLoss({ sl: order.sl, openPrice, long, leverage, feeP: market.fees.totalPositionSizeFeeP, thresholdP });
  compare(round, 'MarketExecuted', event?.args ?? {}, {
    liqPrice: prediction.liquidationPrice,
    priceImpact: impactFields(prediction.impact),
    t: { openPrice, collateralAmount: prediction.collateralAmount, positionSizeToken: prediction.impact.positionSizeToken, sl: stop },
  });
  compare(round, 'FeesProcessed', find(result.receipt, 'FeesProcessed')?.args ?? {}, { totalFeesCollateral: prediction.openingFee });
  const index = Number(event?.args['index']);
  round.trades.push({ user: TRADERS[trader] ?? '0x', index, pair, collateral });
  if (action.version !== 2) await round.chain.control('sandboxSetTradeVersion', [TRADERS[trader], index, action.version]);
}

/** What the contract checks before it takes an order: only the price impact can fail for the orders drawn here. */
function isAcceptable(context: PriceContext, order: { long: boolean; collateralAmount: bigint; leverage: bigint }): boolean {
  try {
    const impact = openingImpact(context, { long: order.long, positionSizeCollateral: positionSizeCollateral(order) });
    return openLossP(impact, order) <= MAX_OPEN_LOSS_P;
  } catch (error) {
    if (error instanceof PriceRangeError) return false;
    throw error;
  }
}
