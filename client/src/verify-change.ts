import { formatUnits } from 'viem/utils';
import type { UpdateOrderRequest, UpdatePositionRequest } from './api.js';
import type { CollateralOnChain, StoredTrade } from './chain-reader.js';
import { divideUp, isWithin } from './decimal.js';
import type { Call } from './decode-calls.js';
import { ClientError, requireSame, VerificationError } from './errors.js';
import {
  leverageUnits,
  priceUnits,
  requireAffordable,
  requirePrice,
  requireSize,
  slippageUnits,
  units,
  type Context,
  type OrderView,
} from './verify-context.js';
import { verifyIncrease, verifyWithdrawal } from './verify-increase.js';
import { NO_REFERRER, requireBlank, type OpenCall } from './verify-open.js';
import { readLevels, requireClosingSlippage } from './verify-reduce.js';
import { levelOf, requireLevel, requirePosition, requireResting, storedTrade } from './verify-stored.js';

type WithId<Request> = Request & { readonly id: string };

const noChange = (): VerificationError =>
  new VerificationError('CALLS', 'the transaction makes another number of calls than the change needs');

const only = (calls: readonly Call[]): Call => {
  const [call, ...others] = calls;
  if (call === undefined || others.length > 0) throw noChange();
  return call;
};

const wrongFunction = ({ functionName }: Call): VerificationError =>
  new VerificationError('FUNCTION', 'the transaction calls a function that this operation has no use for', null, functionName);

/** Cancels a resting order, takes a level away from a position, or takes the collateral of an unanswered request back. */
export async function verifyCancel(context: Context, { id }: { readonly id: string }, calls: readonly Call[]): Promise<void> {
  const view = await context.order(id);
  const call = only(calls);
  if (call.functionName === 'cancelOrderAfterTimeout') return verifyReclaim(context, view, call.args[0]);
  if (view.reduceOnly) {
    const { index, tp, sl } = readLevels(calls);
    const [removed, other] = levelOf(view) === 'tp' ? [tp, sl] : [sl, tp];
    if (removed !== 0n || other !== null)
      throw new VerificationError('FUNCTION', `the transaction must remove the ${levelOf(view)} and nothing else`);
    return requireLevel(context, view, await storedTrade(context, index));
  }
  if (call.functionName !== 'cancelOpenOrder') throw wrongFunction(call);
  await requireResting(context, view, await storedTrade(context, call.args[0]));
}

/** Only a market order waits for the oracle; what a closing stores of its position has no side. */
async function verifyReclaim({ reader, trader }: Context, view: OrderView, index: number): Promise<void> {
  if (view.type !== 'market')
    throw new VerificationError('FUNCTION', 'only a market order can be reclaimed', 'cancelOpenOrder', 'cancelOrderAfterTimeout');
  const pending = await reader.pendingRequest(trader, index);
  if (pending === null) throw new VerificationError('INDEX', `no request of the trader waits at index ${index}`);
  requireSame('INDEX', `the request at index ${index} is of another market`, view.market, await reader.marketOf(pending.pairIndex));
  if (!view.reduceOnly && pending.isOpening)
    requireSame('INDEX', `the request at index ${index} has the other side`, view.side, pending.long ? 'long' : 'short');
}

/** Changes a resting order in place, or cancels it and opens another in one transaction. */
export async function verifyOrderChange(context: Context, asked: WithId<UpdateOrderRequest>, calls: readonly Call[]): Promise<void> {
  const view = await context.order(asked.id);
  if (view.reduceOnly) {
    const { index, tp, sl, slippageP } = readLevels(calls);
    const trade = await storedTrade(context, index);
    await requireLevel(context, view, trade);
    const level = levelOf(view);
    const [moved, other] = level === 'tp' ? [tp, sl] : [sl, tp];
    if (other !== null) throw new VerificationError('FUNCTION', `the transaction must change the ${level} and nothing else`);
    requirePrice(
      'PRICE',
      'the trigger price is another',
      asked.price === undefined ? trade[level] : priceUnits('price', asked.price),
      moved ?? trade[level],
    );
    requireClosingSlippage(trade, asked.slippage, slippageP);
    return;
  }
  const [first, second, ...others] = calls;
  if (first === undefined || others.length > 0) throw noChange();
  if (first.functionName === 'updateOpenOrder' && second === undefined) {
    const [index, price, tp, sl, slippageP] = first.args;
    const trade = await storedTrade(context, index);
    await requireResting(context, view, trade);
    requireChanges(asked, trade, { price, tp, sl, slippageP });
    return requireKeptSize(context, asked, trade, price);
  }
  if (first.functionName !== 'cancelOpenOrder') throw wrongFunction(first);
  if (second?.functionName !== 'openTrade') throw second === undefined ? noChange() : wrongFunction(second);
  const trade = await storedTrade(context, first.args[0]);
  await requireResting(context, view, trade);
  await verifyReplacement(context, asked, trade, second);
}

interface Changed {
  readonly price: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly slippageP: number;
}

/** What is absent stays as the chain has it. */
function requireChanges(asked: UpdateOrderRequest, trade: StoredTrade, found: Changed): void {
  const wanted = (name: 'price' | 'tp' | 'sl', stored: bigint): bigint => {
    const text = asked[name];
    return text === undefined ? stored : priceUnits(name, text);
  };
  requirePrice('PRICE', 'the trigger price is another', wanted('price', trade.openPrice), found.price);
  requirePrice('TP', 'the take profit is another', wanted('tp', trade.tp), found.tp);
  requirePrice('SL', 'the stop loss is another', wanted('sl', trade.sl), found.sl);
  const slippageP = asked.slippage === undefined ? trade.slippageP : slippageUnits(asked.slippage);
  requireSame('SLIPPAGE', 'the slippage is another, in thousandths of a percent', slippageP, found.slippageP);
}

async function verifyReplacement(context: Context, asked: UpdateOrderRequest, old: StoredTrade, { args }: OpenCall): Promise<void> {
  const [trade, slippageP, referrer] = args;
  requireBlank(context, trade, old);
  requireSame('MARKET', 'the new order is of another pair', old.pairIndex, trade.pairIndex);
  requireSame('SIDE', 'the new order has the other side', old.long, trade.long);
  requireSame('TYPE', 'the new order is of another type', old.tradeType, trade.tradeType);
  requireSame('LEVERAGE', 'the leverage is another', old.leverage, trade.leverage);
  requireSame('COLLATERAL', 'the new order uses another collateral', old.collateralIndex, trade.collateralIndex);
  requireSame('REFERRER', 'the transaction names another referrer', NO_REFERRER, referrer);
  requireChanges(asked, old, { price: trade.openPrice, tp: trade.tp, sl: trade.sl, slippageP });
  const collateral = await collateralOf(context, old);
  if (asked.size !== undefined) {
    const collateralUsd = await context.reader.collateralPriceUsd(collateral.index);
    const sized = { size: asked.size, price: trade.openPrice, leverage: BigInt(old.leverage), collateral, collateralUsd, tolerance: 0n };
    return requireSize(context, sized, trade.collateralAmount);
  }
  requireSameSize(old, trade, collateral);
  requireAffordable(context, collateral, trade.collateralAmount);
}

/** In millionths: the collateral's price may have moved since the order was placed. */
const SIZE_DRIFT = 20_000n;

/** The same size at another price takes another collateral. */
function requireSameSize(
  old: StoredTrade,
  { openPrice, collateralAmount }: Pick<StoredTrade, 'openPrice' | 'collateralAmount'>,
  { decimals }: CollateralOnChain,
): void {
  const expected = (old.collateralAmount * openPrice) / old.openPrice;
  if (!isWithin(expected, collateralAmount, SIZE_DRIFT, 2n))
    throw new VerificationError(
      'SIZE',
      'the order would have another size',
      formatUnits(expected, decimals),
      formatUnits(collateralAmount, decimals),
    );
}

/** A change in place keeps the collateral: only an order that has the wanted size at its new price may be changed so. */
async function requireKeptSize(context: Context, { size }: UpdateOrderRequest, trade: StoredTrade, price: bigint): Promise<void> {
  const collateral = await collateralOf(context, trade);
  if (size === undefined) return requireSameSize(trade, { ...trade, openPrice: price }, collateral);
  const collateralUsd = await context.reader.collateralPriceUsd(collateral.index);
  const sized = { size, price, leverage: BigInt(trade.leverage), collateral, collateralUsd, tolerance: SIZE_DRIFT };
  requireSize(context, sized, trade.collateralAmount);
}

async function collateralOf({ reader }: Context, { collateralIndex }: StoredTrade) {
  const found = (await reader.collaterals()).find(({ index }) => index === collateralIndex);
  if (found === undefined) throw new VerificationError('COLLATERAL', 'the chain has no such collateral', null, String(collateralIndex));
  return found;
}

export async function verifyPositionChange(context: Context, asked: WithId<UpdatePositionRequest>, calls: readonly Call[]): Promise<void> {
  const view = await context.position(asked.id);
  const { increase, withdrawPnl } = asked;
  if (increase !== undefined || withdrawPnl !== undefined) {
    const call = only(calls);
    if (call.functionName !== (increase === undefined ? 'withdrawPositivePnl' : 'increasePositionSize')) throw wrongFunction(call);
    const trade = await storedTrade(context, call.args[0]);
    await requirePosition(context, view, trade);
    const held = { market: view.market, trade, collateral: await collateralOf(context, trade) };
    if (call.functionName === 'increasePositionSize' && increase !== undefined) return verifyIncrease(context, increase, held, call);
    if (call.functionName === 'withdrawPositivePnl' && withdrawPnl !== undefined) verifyWithdrawal(withdrawPnl, held, call);
    return;
  }
  if (asked.leverage === undefined && asked.collateral === undefined) {
    const { index, tp, sl, slippageP } = readLevels(calls);
    const trade = await storedTrade(context, index);
    await requirePosition(context, view, trade);
    if (slippageP !== null) throw new VerificationError('SLIPPAGE', 'the closing slippage must stay', 'no change', String(slippageP));
    const wanted = (name: 'tp' | 'sl'): bigint => (asked[name] === undefined ? trade[name] : priceUnits(name, asked[name]));
    requirePrice('TP', 'the take profit is another', wanted('tp'), tp ?? trade.tp);
    requirePrice('SL', 'the stop loss is another', wanted('sl'), sl ?? trade.sl);
    return;
  }
  const call = only(calls);
  if (call.functionName !== 'updateLeverage') throw wrongFunction(call);
  const [index, found] = call.args;
  const trade = await storedTrade(context, index);
  await requirePosition(context, view, trade);
  requireSame('LEVERAGE', 'the new leverage is another, in thousandths', await leverageWanted(context, asked, trade), BigInt(found));
  // With less leverage the same size takes more collateral.
  const held = found === 0 ? trade.collateralAmount : (trade.collateralAmount * BigInt(trade.leverage)) / BigInt(found);
  if (asked.leverage !== undefined) requireAffordable(context, await collateralOf(context, trade), held - trade.collateralAmount);
}

/** Collateral is added and removed by changing the leverage, in steps of a thousandth; the amount is rounded down to the next step. */
async function leverageWanted(context: Context, { leverage, collateral }: UpdatePositionRequest, trade: StoredTrade): Promise<bigint> {
  if (leverage !== undefined) return leverageUnits(leverage);
  if (collateral === undefined) throw new ClientError('leverage or collateral is required.');
  const token = await collateralOf(context, trade);
  const amount = units('collateral.amount', collateral.amount, token.decimals);
  if (collateral.action === 'add') requireAffordable(context, token, amount);
  const size = trade.collateralAmount * BigInt(trade.leverage);
  const held = collateral.action === 'add' ? trade.collateralAmount + amount : trade.collateralAmount - amount;
  if (held <= 0n) throw new ClientError('collateral.amount is more than the position has.');
  return collateral.action === 'add' ? divideUp(size, held) : size / held;
}
