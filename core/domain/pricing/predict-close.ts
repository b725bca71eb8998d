import { firstReason, type CancelReason } from '../order.js';
import { closingImpact, DEFAULT_CLOSING_SLIPPAGE_P, isWithinSlippage, type PriceContext, type PriceImpact } from './execution-price.js';
import { tradingFee, pnlPercentP, tradeValue } from './fees.js';
import { isLiquidatable, liquidationPrice } from './liquidation.js';
import type { StoredTrade, TradeAccount } from './market-view.js';
import { positionSizeCollateral } from './size.js';
import { E18, HUNDRED_PERCENT, maximum, multiplyDivideUp } from './units.js';

export interface CloseRequest {
  readonly trade: StoredTrade;
  readonly account: TradeAccount;
  readonly expectedPrice: bigint;
  /** The trade's closing slippage; 0 = the default. */
  readonly maxSlippageP: bigint;
}

export interface CloseOutcome {
  readonly cancelReason: CancelReason;
  readonly impact: PriceImpact;
  /** At the execution price, before fees. */
  readonly pnlP: bigint;
  readonly closingFee: bigint;
  readonly liquidationPrice: bigint;
  /** What the trader gets: all fees taken, and nothing once the oracle price is beyond liquidation. */
  readonly sentToTrader: bigint;
}

/** What the callback would do with a market close at `context.oraclePrice`. Throws `PriceRangeError` where it would revert. */
export function predictClose(context: PriceContext, request: CloseRequest): CloseOutcome {
  const { market, terms, oraclePrice } = context;
  const { trade, account, expectedPrice } = request;
  const { long, isCounterTrade, collateralAmount } = trade;
  const size = positionSizeCollateral(trade);
  const impact = closingImpact(context, { trade, account, positionSizeCollateral: size });
  const price = impact.priceAfterImpact;
  const maxSlippageP = request.maxSlippageP === 0n ? DEFAULT_CLOSING_SLIPPAGE_P : request.maxSlippageP;
  const pnlP = pnlPercentP({ ...trade, price });
  const closingFee = tradingFee({ market, positionSizeCollateral: size, isCounterTrade, feeMultiplier: terms.feeMultiplier });
  const liqPrice = liquidationPrice({ market, terms, ...trade, params: trade.liquidation, account });
  const { precisionDelta } = market.collateral;
  const worthless = isLiquidatable({ long, oraclePrice, liquidationPrice: liqPrice });
  const sentToTrader = worthless ? 0n : tradeValue({ collateralAmount, precisionDelta, pnlP, closingFee, account });
  const cancelReason = firstReason([['SLIPPAGE', () => !isWithinSlippage({ price, expectedPrice, maxSlippageP, long, open: false })]]);
  return { cancelReason, impact, pnlP, closingFee, liquidationPrice: liqPrice, sentToTrader };
}

interface DecreaseRequest {
  readonly trade: StoredTrade;
  readonly account: TradeAccount;
  /** Exactly one of the two is not 0. Less collateral keeps the leverage, less leverage keeps the collateral. */
  readonly collateralDelta: bigint;
  readonly leverageDelta: bigint;
  readonly expectedPrice: bigint;
  /** The trade's closing slippage; 0 = the default. */
  readonly maxSlippageP: bigint;
}

interface DecreaseValues {
  readonly isLeverageUpdate: boolean;
  readonly positionSizeCollateralDelta: bigint;
  readonly impact: PriceImpact;
  readonly pnlP: bigint;
  readonly partialRawPnl: bigint;
  readonly partialNetPnl: bigint;
  readonly closingFee: bigint;
  /** Before the limit for a leverage decrease at a loss by the collateral the contract holds. */
  readonly sentToTrader: bigint;
  readonly pnlToRealize: bigint;
  readonly newCollateralAmount: bigint;
  readonly newLeverage: bigint;
  readonly existingLiquidationPrice: bigint;
  readonly newLiquidationPrice: bigint;
}

interface DecreaseOutcome {
  readonly cancelReason: CancelReason;
  readonly values: DecreaseValues;
}

interface Partial {
  readonly isLeverageUpdate: boolean;
  readonly size: bigint;
  readonly sizeDelta: bigint;
}

function partialOf({ trade, collateralDelta, leverageDelta }: DecreaseRequest): Partial {
  const isLeverageUpdate = leverageDelta > 0n;
  const removed = isLeverageUpdate
    ? { collateralAmount: trade.collateralAmount, leverage: leverageDelta }
    : { collateralAmount: collateralDelta, leverage: trade.leverage };
  return { isLeverageUpdate, size: positionSizeCollateral(trade), sizeDelta: positionSizeCollateral(removed) };
}

/** The removed part's share of the trade's net result, without the closing fee of the part. */
function netPnlOfPart({ market }: PriceContext, request: DecreaseRequest, part: Partial, pnlP: bigint): bigint {
  const { collateralAmount } = request.trade;
  const { precisionDelta } = market.collateral;
  const value = tradeValue({ collateralAmount, precisionDelta, pnlP, closingFee: 0n, account: request.account });
  return ((value - collateralAmount) * part.sizeDelta) / part.size;
}

function decreaseValues(context: PriceContext, request: DecreaseRequest): DecreaseValues {
  const { market, terms } = context;
  const { trade, account } = request;
  const part = partialOf(request);
  const { isLeverageUpdate, size, sizeDelta } = part;
  const impact = closingImpact(context, { trade, account, positionSizeCollateral: sizeDelta });
  const pnlP = pnlPercentP({ ...trade, price: impact.priceAfterImpact });
  const partialRawPnl = (pnlP * trade.collateralAmount * sizeDelta) / size / HUNDRED_PERCENT;
  const partialNetPnl = netPnlOfPart(context, request, part, pnlP);
  const { isCounterTrade } = trade;
  const closingFee = tradingFee({ market, positionSizeCollateral: sizeDelta, isCounterTrade, feeMultiplier: terms.feeMultiplier });
  const sentToTrader = request.collateralDelta + partialNetPnl - closingFee;
  const pnlToRealize = isLeverageUpdate ? partialRawPnl - maximum(sentToTrader, 0n) : 0n;
  const collateralAmount = trade.collateralAmount - request.collateralDelta;
  const leverage = trade.leverage - request.leverageDelta;
  const liquidation = { market, terms, ...trade, params: trade.liquidation, account };
  return {
    ...{ isLeverageUpdate, positionSizeCollateralDelta: sizeDelta, impact, pnlP },
    ...{ partialRawPnl, partialNetPnl, closingFee, sentToTrader, pnlToRealize },
    newCollateralAmount: collateralAmount,
    newLeverage: leverage,
    existingLiquidationPrice: liquidationPrice(liquidation),
    newLiquidationPrice: liquidationPrice({
      ...{ ...liquidation, collateralAmount, leverage },
      additionalFee: isLeverageUpdate ? closingFee - pnlToRealize : 0n,
      partialCloseMultiplier: isLeverageUpdate ? E18 : ((size - sizeDelta) * E18) / size,
    }),
  };
}

/** What the callback would do with a decrease at `context.oraclePrice`. Throws `PriceRangeError` where it would revert. */
export function predictDecrease(context: PriceContext, request: DecreaseRequest): DecreaseOutcome {
  const { oraclePrice } = context;
  const { long } = request.trade;
  const values = decreaseValues(context, request);
  const price = values.impact.priceAfterImpact;
  const maxSlippageP = request.maxSlippageP === 0n ? DEFAULT_CLOSING_SLIPPAGE_P : request.maxSlippageP;
  const liquidatableAt = (liqPrice: bigint): boolean => isLiquidatable({ long, oraclePrice, liquidationPrice: liqPrice });
  const cancelReason = firstReason([
    ['LIQ_REACHED', () => liquidatableAt(values.existingLiquidationPrice) || liquidatableAt(values.newLiquidationPrice)],
    ['SLIPPAGE', () => !isWithinSlippage({ price, expectedPrice: request.expectedPrice, maxSlippageP, long, open: false })],
    ['WRONG_TRADE', () => !values.isLeverageUpdate && values.sentToTrader < 0n],
  ]);
  return { cancelReason, values };
}

/** What is left of a trade's realised figures after a collateral decrease: the contract rounds in its own favour. */
export function scaleRealized(
  realized: { readonly tradingFees: bigint; readonly pnl: bigint },
  part: { readonly sizeDelta: bigint; readonly size: bigint },
): { readonly tradingFees: bigint; readonly pnl: bigint } {
  const { tradingFees, pnl } = realized;
  const taken = pnl > 0n ? multiplyDivideUp(part.sizeDelta, pnl, part.size) : (part.sizeDelta * pnl) / part.size;
  return { tradingFees: tradingFees - (part.sizeDelta * tradingFees) / part.size, pnl: pnl - taken };
}
