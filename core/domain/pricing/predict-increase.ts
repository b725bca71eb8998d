import { divideInteger } from '../decimal.js';
import { maxLeverageOf } from '../market.js';
import { firstReason, type CancelReason } from '../order.js';
import { counterTradeExcess, isWithinExposureLimits, type GroupOpenInterest } from './exposure.js';
import { effectiveLeverage } from './leverage-update.js';
import { isWithinSlippage, openingImpact, type PriceContext, type PriceImpact } from './execution-price.js';
import { tradingFee, pnlPercentP, rawPnl } from './fees.js';
import { isLiquidatable, liquidationPrice } from './liquidation.js';
import type { StoredTrade, TradeAccount } from './market-view.js';
import { positionSizeCollateral } from './size.js';
import { E3, multiplyDivideUp } from './units.js';

export interface IncreaseRequest {
  readonly trade: StoredTrade;
  readonly account: TradeAccount;
  /** 0 = add leverage to the existing collateral. */
  readonly collateralDelta: bigint;
  /** Leverage of the added part, or the leverage added when `collateralDelta` is 0. */
  readonly leverageDelta: bigint;
  readonly expectedPrice: bigint;
  readonly maxSlippageP: bigint;
}

export interface IncreaseValues {
  readonly positionSizeCollateralDelta: bigint;
  readonly newCollateralAmount: bigint;
  readonly newLeverage: bigint;
  readonly impact: PriceImpact;
  readonly existingPnl: bigint;
  readonly newOpenPrice: bigint;
  readonly openingFee: bigint;
  readonly existingLiquidationPrice: bigint;
  readonly newLiquidationPrice: bigint;
  readonly newEffectiveLeverage: bigint;
  /** Collateral returned when a counter trade is reduced. */
  readonly collateralToReturn: bigint;
}

export interface IncreaseOutcome {
  readonly cancelReason: CancelReason;
  /** null when truncation leaves nothing to add: the contract stops there. */
  readonly values: IncreaseValues | null;
}

interface Delta {
  readonly collateral: bigint;
  readonly leverage: bigint;
  readonly isLeverageUpdate: boolean;
  readonly toReturn: bigint;
  readonly accepted: boolean;
}

const addedSize = (trade: StoredTrade, delta: Pick<Delta, 'collateral' | 'leverage' | 'isLeverageUpdate'>): bigint =>
  positionSizeCollateral({
    collateralAmount: delta.isLeverageUpdate ? trade.collateralAmount : delta.collateral,
    leverage: delta.leverage,
  });

/** A counter trade grows at most to the point where the skew is gone. */
function cutDelta({ market, oraclePrice }: PriceContext, request: IncreaseRequest): Delta {
  const { trade } = request;
  const isLeverageUpdate = request.collateralDelta === 0n;
  const asked = { collateral: request.collateralDelta, leverage: request.leverageDelta, isLeverageUpdate, toReturn: 0n, accepted: true };
  if (!trade.isCounterTrade) return asked;
  const size = addedSize(trade, asked);
  const excess = counterTradeExcess(market, { long: trade.long, positionSizeCollateral: size, price: oraclePrice });
  if (excess === null) return { ...asked, accepted: false };
  if (isLeverageUpdate) return { ...asked, leverage: asked.leverage - multiplyDivideUp(excess, E3, trade.collateralAmount) };
  const toReturn = multiplyDivideUp(excess, E3, asked.leverage);
  return { ...asked, collateral: asked.collateral - toReturn, toReturn };
}

/**
 * The leverage of an added part (or the leverage added, without collateral) after which the trade has its leverage again. The contract cuts
 * the sizes of both parts to whole units and then the leverage to three decimals, so the trade's own leverage would often leave it, all of
 * it, one thousandth lower: then the part gets one thousandth more.
 */
export function leverageThatKeeps(trade: Pick<StoredTrade, 'collateralAmount' | 'leverage'>, collateralDelta: bigint): bigint {
  const { leverage } = trade;
  return leverageAfter(trade, { collateral: collateralDelta, leverage }) < leverage ? leverage + 1n : leverage;
}

/** The leverage of a trade with an added part, as the contract computes it. */
export const leverageAfter = (
  trade: Pick<StoredTrade, 'collateralAmount' | 'leverage'>,
  part: { readonly collateral: bigint; readonly leverage: bigint },
): bigint => {
  const added = positionSizeCollateral({ collateralAmount: part.collateral, leverage: part.leverage });
  return ((positionSizeCollateral(trade) + added) * E3) / (trade.collateralAmount + part.collateral);
};

/** Leverage has three decimals: the size is recomputed from it, so the delta is what truncation left. */
function resize(trade: StoredTrade, delta: Delta): { collateralAmount: bigint; leverage: bigint; sizeDelta: bigint } {
  const size = positionSizeCollateral(trade);
  const collateralAmount = trade.collateralAmount + delta.collateral;
  const leverage = delta.isLeverageUpdate ? trade.leverage + delta.leverage : leverageAfter(trade, delta);
  return { collateralAmount, leverage, sizeDelta: positionSizeCollateral({ collateralAmount, leverage }) - size };
}

/** Average of the old position at its current value and the added one at its price; the contract rounds it against longs only. */
function averagePrice(trade: StoredTrade, input: { existingPnl: bigint; sizeDelta: bigint; price: bigint }): bigint {
  const worth = positionSizeCollateral(trade) + (trade.long ? input.existingPnl : -input.existingPnl);
  if (worth + input.sizeDelta === 0n) return trade.openPrice;
  const numerator = worth * trade.openPrice + input.sizeDelta * input.price;
  return divideInteger(numerator, worth + input.sizeDelta, trade.long ? 'up' : 'down');
}

function increaseValues(context: PriceContext, request: IncreaseRequest, delta: Delta): IncreaseValues | null {
  const { market, terms } = context;
  const { trade, account } = request;
  const { collateralAmount, leverage, sizeDelta } = resize(trade, delta);
  if (sizeDelta < 0n) return null;
  const impact = openingImpact(context, { long: trade.long, positionSizeCollateral: sizeDelta });
  const price = impact.priceAfterImpact;
  const existingPnl = rawPnl(trade.collateralAmount, pnlPercentP({ ...trade, price }));
  const { isCounterTrade } = trade;
  const openingFee = tradingFee({ market, positionSizeCollateral: sizeDelta, isCounterTrade, feeMultiplier: terms.feeMultiplier });
  const newOpenPrice = averagePrice(trade, { existingPnl, sizeDelta, price });
  const grown = { ...trade, collateralAmount, leverage, openPrice: newOpenPrice };
  return {
    positionSizeCollateralDelta: sizeDelta,
    newCollateralAmount: collateralAmount,
    newLeverage: leverage,
    impact,
    existingPnl,
    newOpenPrice,
    openingFee,
    existingLiquidationPrice: liquidationPrice({ market, terms, ...trade, params: trade.liquidation, account }),
    newLiquidationPrice: liquidationPrice({
      ...{ market, terms, ...grown, account },
      params: market.pair.liquidation,
      additionalFee: openingFee,
    }),
    newEffectiveLeverage: effectiveLeverage(context, { trade: grown, account, additionalFee: openingFee }),
    collateralToReturn: delta.toReturn,
  };
}

/** What the callback would do with an increase at `context.oraclePrice`. Throws `PriceRangeError` where it would revert. */
export function predictIncrease(
  context: PriceContext,
  request: IncreaseRequest,
  groupOi: GroupOpenInterest | null = null,
): IncreaseOutcome {
  const { market, oraclePrice } = context;
  const { trade } = request;
  const { long, tp, sl } = trade;
  const delta = cutDelta(context, request);
  const values = increaseValues(context, request, delta);
  if (values === null) return { cancelReason: 'WRONG_TRADE', values };
  const size = values.positionSizeCollateralDelta;
  const price = values.impact.priceAfterImpact;
  const { expectedPrice, maxSlippageP } = request;
  const liquidatableAt = (liqPrice: bigint): boolean => isLiquidatable({ long, oraclePrice, liquidationPrice: liqPrice });
  const cancelReason = firstReason([
    ['WRONG_TRADE', () => size <= 0n],
    ['SLIPPAGE', () => !isWithinSlippage({ price, expectedPrice, maxSlippageP, long, open: true })],
    ['TP_REACHED', () => tp > 0n && (long ? oraclePrice >= tp : oraclePrice <= tp)],
    ['SL_REACHED', () => sl > 0n && (long ? oraclePrice <= sl : oraclePrice >= sl)],
    ['LIQ_REACHED', () => liquidatableAt(values.existingLiquidationPrice) || liquidatableAt(values.newLiquidationPrice)],
    ['EXPOSURE_LIMITS', () => !isWithinExposureLimits({ market, long, positionSizeCollateral: size, price: oraclePrice, groupOi })],
    ['MAX_LEVERAGE', () => values.newEffectiveLeverage > maxLeverageOf(market.pair, market.group)],
    [
      'COUNTER_TRADE_CANCELED',
      () => trade.isCounterTrade && (!delta.accepted || values.newEffectiveLeverage > market.pair.counterTrade.maxLeverage),
    ],
  ]);
  return { cancelReason, values };
}
