import { predictClose, predictDecrease } from '../../../../core/domain/pricing/predict-close.js';
import { minRemainingCollateral } from '../../../../core/domain/pricing/fees.js';
import { predictIncrease } from '../../../../core/domain/pricing/predict-increase.js';
import { predictWithdrawal } from '../../../../core/domain/pricing/predict-withdrawal.js';
import { collateralAtLeverage, predictLeverageUpdate } from '../../../../core/domain/pricing/leverage-update.js';
import { maximum, minimum } from '../../../../core/domain/pricing/units.js';
import { TRADERS, type Receipt } from './differential-chain.js';
import type { ActionPlan } from './differential-plan.js';
import {
  answered,
  compare,
  count,
  find,
  impactFields,
  moved,
  reasonCode,
  settingFor,
  type Fields,
  type Round,
  type Setting,
} from './differential-round.js';
import { accountAt, readTrade, type TradeRef, type TradeState } from './differential-state.js';

interface Target {
  readonly ref: TradeRef;
  readonly trader: number;
  readonly before: TradeState;
  readonly expected: bigint;
  readonly current: bigint;
}

/** Predicts with the trade and its fees as they are once the request is in. */
async function onTrade<Prediction>(
  round: Round,
  action: ActionPlan,
  target: Target,
  call: { name: string; args: readonly unknown[] },
  predict: (setting: Setting, state: TradeState) => Prediction,
): Promise<{ prediction: Prediction; receipt: Receipt } | null> {
  const { ref, trader, current } = target;
  const receipt = await round.chain.trade(ref.user, call.name, [ref.index, ...call.args]);
  const result = await answered(round, action, { receipt, pair: ref.pair, price: current }, async () => {
    const state = await readTrade(round.chain, ref);
    return predict(await settingFor(round, { ...ref, trader, price: current }), state);
  });
  round.prices[ref.pair] = current;
  return result;
}

export async function adjust(round: Round, action: ActionPlan): Promise<void> {
  const ref = round.trades[action.which % Math.max(round.trades.length, 1)];
  if (!ref) return;
  const before = await readTrade(round.chain, ref);
  const expected = round.prices[ref.pair] ?? 1n;
  const target: Target = { ref, trader: TRADERS.indexOf(ref.user), before, expected, current: moved(expected, action.moves[1]) };
  if (action.kind === 'close') return close(round, action, target);
  if (action.kind === 'increase') return before.trade.contractsVersion < 2 ? undefined : increase(round, action, target);
  if (action.kind === 'decrease') return decrease(round, action, target);
  if (action.kind === 'withdraw') return withdraw(round, action, target);
  return leverage(round, action, target);
}

const accountIn = (setting: Setting, state: TradeState): ReturnType<typeof accountAt> =>
  accountAt(setting.market, state, { timestamp: setting.context.moment.timestamp, price: setting.context.oraclePrice });

async function close(round: Round, action: ActionPlan, target: Target): Promise<void> {
  const result = await onTrade(round, action, target, { name: 'closeTradeMarket', args: [target.expected] }, (setting, state) =>
    predictClose(setting.context, {
      ...{ trade: state.trade, account: accountIn(setting, state), expectedPrice: target.expected, maxSlippageP: state.maxSlippageP },
    }),
  );
  if (!result) return;
  const { prediction, receipt } = result;
  count(round, `close ${prediction.cancelReason}`);
  if (prediction.cancelReason !== 'NONE') {
    return compare(round, 'MarketCloseCanceled', find(receipt, 'MarketCloseCanceled')?.args ?? {}, {
      cancelReason: reasonCode(prediction.cancelReason),
    });
  }
  compare(round, 'MarketExecuted', find(receipt, 'MarketExecuted')?.args ?? {}, {
    liqPrice: prediction.liquidationPrice,
    priceImpact: impactFields(prediction.impact),
    percentProfit: prediction.pnlP,
    amountSentToTrader: prediction.sentToTrader,
  });
  compare(round, 'FeesProcessed', find(receipt, 'FeesProcessed')?.args ?? {}, { totalFeesCollateral: prediction.closingFee });
}

async function increase(round: Round, action: ActionPlan, target: Target): Promise<void> {
  const { trade } = target.before;
  // A grain of collateral at little leverage vanishes in the truncation of the new leverage.
  const grain = !action.isLeverageUpdate && action.share < 60n;
  const leverageDelta = grain ? 100n : maximum(action.leverage / 4n, 100n);
  const collateralDelta = action.isLeverageUpdate ? 0n : grain ? 1n : (trade.collateralAmount * action.share) / 500n + 1n;
  const call = { name: 'increasePositionSize', args: [collateralDelta, leverageDelta, target.expected, action.maxSlippageP] };
  const result = await onTrade(round, action, target, call, (setting, state) => {
    const order = { collateralDelta, leverageDelta, expectedPrice: target.expected, maxSlippageP: action.maxSlippageP };
    return predictIncrease(setting.context, { trade: state.trade, account: accountIn(setting, state), ...order }, setting.groupOi);
  });
  if (!result) return;
  const { cancelReason, values } = result.prediction;
  count(round, `increase ${cancelReason}`);
  const fields: Fields =
    (values && {
      positionSizeCollateralDelta: values.positionSizeCollateralDelta,
      newCollateralAmount: values.newCollateralAmount,
      newLeverage: values.newLeverage,
      priceImpact: impactFields(values.impact),
      existingPnlCollateral: values.existingPnl,
      newOpenPrice: values.newOpenPrice,
      openingFeesCollateral: values.openingFee,
      existingLiqPrice: values.existingLiquidationPrice,
      newLiqPrice: values.newLiquidationPrice,
      newEffectiveLeverage: values.newEffectiveLeverage,
      counterTradeCollateralToReturn: values.collateralToReturn,
    }) ??
    {};
  const event = find(result.receipt, 'PositionSizeIncreaseExecuted');
  compare(round, 'PositionSizeIncreaseExecuted', event?.args ?? {}, { cancelReason: reasonCode(cancelReason), values: fields });
}

async function decrease(round: Round, action: ActionPlan, target: Target): Promise<void> {
  const { trade } = target.before;
  const setting = await settingFor(round, { ...target.ref, trader: target.trader, price: target.expected });
  const floor = minRemainingCollateral(setting.market.fees, setting.market.collateral);
  const collateralDelta = action.isLeverageUpdate
    ? 0n
    : minimum((trade.collateralAmount * action.share) / 1000n, trade.collateralAmount - floor);
  const leverageDelta = action.isLeverageUpdate ? ((trade.leverage - 100n) * action.share) / 1000n : 0n;
  if (collateralDelta <= 0n && leverageDelta <= 0n) return;
  const call = { name: 'decreasePositionSize', args: [collateralDelta, leverageDelta, target.expected] };
  const result = await onTrade(round, action, target, call, (at, state) =>
    predictDecrease(at.context, {
      ...{ trade: state.trade, account: accountIn(at, state), collateralDelta, leverageDelta },
      ...{ expectedPrice: target.expected, maxSlippageP: state.maxSlippageP },
    }),
  );
  if (!result) return;
  const { cancelReason, values } = result.prediction;
  count(round, `decrease ${cancelReason}${values.isLeverageUpdate ? ' by leverage' : ''}`);
  // A leverage decrease at a loss sends the loss to the vault; that figure depends on what the Diamond holds, not on prices.
  const settled = cancelReason === 'NONE' && values.isLeverageUpdate && values.sentToTrader < 0n;
  compare(round, 'PositionSizeDecreaseExecuted', find(result.receipt, 'PositionSizeDecreaseExecuted')?.args ?? {}, {
    cancelReason: reasonCode(cancelReason),
    values: {
      isLeverageUpdate: values.isLeverageUpdate,
      positionSizeCollateralDelta: values.positionSizeCollateralDelta,
      priceImpact: impactFields(values.impact),
      existingPnlPercent: values.pnlP,
      partialRawPnlCollateral: values.partialRawPnl,
      partialNetPnlCollateral: values.partialNetPnl,
      pnlToRealizeCollateral: values.pnlToRealize,
      closingFeeCollateral: values.closingFee,
      newCollateralAmount: values.newCollateralAmount,
      newLeverage: values.newLeverage,
      existingLiqPrice: values.existingLiquidationPrice,
      newLiqPrice: values.newLiquidationPrice,
      ...(settled ? {} : { collateralSentToTrader: values.sentToTrader }),
    },
  });
}

async function leverage(round: Round, action: ActionPlan, target: Target): Promise<void> {
  const { trade } = target.before;
  const newLeverage = action.leverage === trade.leverage ? trade.leverage + 1n : action.leverage;
  const setting = await settingFor(round, { ...target.ref, trader: target.trader, price: target.expected });
  if (collateralAtLeverage(trade, newLeverage) < minRemainingCollateral(setting.market.fees, setting.market.collateral)) return;
  const result = await onTrade(round, action, target, { name: 'updateLeverage', args: [newLeverage] }, (at, state) =>
    predictLeverageUpdate(at.context, { trade: state.trade, account: accountIn(at, state), newLeverage, govFeeP: round.plan.govFeeP }),
  );
  if (!result) return;
  const { prediction } = result;
  count(round, `leverage ${prediction.cancelReason}`);
  compare(round, 'LeverageUpdateExecuted', find(result.receipt, 'LeverageUpdateExecuted')?.args ?? {}, {
    cancelReason: reasonCode(prediction.cancelReason),
    values: {
      newLeverage,
      newCollateralAmount: prediction.newCollateralAmount,
      existingLiqPrice: prediction.existingLiquidationPrice,
      newLiqPrice: prediction.newLiquidationPrice,
      govFeeCollateral: prediction.govFee,
      newEffectiveLeverage: prediction.newEffectiveLeverage ?? 0n,
    },
  });
}

async function withdraw(round: Round, action: ActionPlan, target: Target): Promise<void> {
  // A part of the collateral, or more than any profit.
  const amount = action.isLeverageUpdate ? 2n ** 120n - 1n : maximum((target.before.trade.collateralAmount * action.share) / 1000n, 1n);
  const result = await onTrade(round, action, target, { name: 'withdrawPositivePnl', args: [amount] }, (at, state) =>
    predictWithdrawal(at.context, { trade: state.trade, account: accountIn(at, state), amount, govFeeP: round.plan.govFeeP }),
  );
  if (!result) return;
  const { impact, pnlP, withdrawable, paid } = result.prediction;
  count(round, `withdraw ${paid === 0n ? 'nothing' : paid < amount ? 'all' : 'a part'}`);
  compare(round, 'TradePositivePnlWithdrawn', find(result.receipt, 'TradePositivePnlWithdrawn')?.args ?? {}, {
    priceImpact: impactFields(impact),
    pnlPercent: pnlP,
    withdrawablePositivePnlCollateral: withdrawable,
    pnlInputCollateral: amount,
    pnlWithdrawnCollateral: paid,
  });
}
