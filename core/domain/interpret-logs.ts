import {
  comparePlaces,
  type ChainEvent,
  type EventPlace,
  type RefusalFigures,
  type Refused,
  type Requested,
  type Rested,
  type Terms,
} from './chain-event.js';
import { type OrderAction, CANCEL_REASONS } from './order.js';
import { begins, type DiamondLog, type LogNamed, type PendingOrderStruct, type TradeStruct } from './diamond-log.js';
import {
  edited,
  editedLevel,
  executedLeverage,
  executedPart,
  executedWhole,
  lower,
  ofRequest,
  PENDING_TYPE,
  plainTerms,
  termsOf,
  tokensOf,
  withdrawal,
  type TransactionLogs,
} from './interpret-executions.js';
import type { PositionState } from './position.js';
import { unaccounted, type Unaccounted } from './unaccounted.js';
import { positionSizeCollateral } from './pricing/size.js';
import { DEFAULT_CLOSING_SLIPPAGE_P } from './pricing/execution-price.js';

type Hex = `0x${string}`;

/** The logs of one transaction are interpreted together, because amounts, fees and outcomes are in different logs. */
export function interpretLogs(transaction: TransactionLogs): ChainEvent[] {
  const open = unaccounted(transaction.logs).flatMap((one) => ofUnaccounted(one, transaction));
  return [...transaction.logs.flatMap((log) => interpret(log, transaction) ?? []), ...open].sort((a, b) => comparePlaces(a.place, b.place));
}

/** Market requests by the contract's `PendingOrderType`; other types come from keepers and governance. */
const REQUESTS: Readonly<Record<number, OrderAction>> = {
  0: 'open',
  1: 'close',
  7: 'leverage',
  8: 'increase',
  9: 'decrease',
  11: 'withdraw',
};
const STOP = 2;

function interpret(log: DiamondLog, transaction: TransactionLogs): ChainEvent | null {
  switch (log.name) {
    case 'PendingOrderStored':
      return requested(log.args.pendingOrder, log.place, transaction);
    // The same request, which another topic may hide in the log that stores it.
    case 'PriceRequested':
      return isStored(log, transaction) ? null : requested(log.args.pendingOrder, log.place, transaction);
    case 'TradeStored':
      return isPlaced(log, transaction) ? null : restedAs(log.args.trade, BigInt(log.args.tradeInfo.maxSlippageP), log.place);
    case 'OpenOrderPlaced':
      return rested(log, transaction);
    case 'OpenOrderDetailsUpdated': {
      const { openPrice, tp, sl, maxSlippageP, user, index } = log.args;
      return { kind: 'amended', ...ofResting(user, index, log), openPrice, tp, sl, slippageP: BigInt(maxSlippageP) };
    }
    case 'OpenLimitCanceled':
      return { kind: 'withdrawn', ...ofResting(log.args.trader, log.args.index, log) };
    case 'ChainlinkCallbackTimeout':
      return { kind: 'withdrawn', ...ofRequest(log.args.pendingOrderId, null, log) };
    case 'MarketOpenCanceled':
      return refused(log, null, transaction);
    case 'MarketCloseCanceled':
      return refused(log, Number(log.args.index), transaction);
    case 'MarketExecuted':
    case 'LimitExecuted':
      return executedWhole(log, transaction);
    case 'LeverageUpdateExecuted':
      return log.args.cancelReason === 0 ? executedLeverage(log, transaction) : refused(log, Number(log.args.index), transaction);
    case 'PositionSizeIncreaseExecuted':
    case 'PositionSizeDecreaseExecuted':
      return log.args.cancelReason === 0 ? executedPart(log, transaction) : refused(log, Number(log.args.index), transaction);
    case 'TradePositivePnlWithdrawn':
      return withdrawal(log, transaction);
    case 'TradeTpUpdated':
      return editedLevel(log, transaction, 'tp', log.args.newTp);
    case 'TradeSlUpdated':
      return editedLevel(log, transaction, 'sl', log.args.newSl);
    case 'TradeMaxClosingSlippagePUpdated':
      return edited(log, 'slippageP', BigInt(log.args.maxClosingSlippageP));
    default:
      return null;
  }
}

function ofResting(trader: Hex, index: number, { place }: { readonly place: EventPlace }) {
  return { trader: lower(trader), orderKey: `resting:${index}` as const, tradeIndex: null, place };
}

/** A market request; null for requests of keepers, and for changes of an unknown trade. */
export function requested(pendingOrder: PendingOrderStruct, place: EventPlace, transaction: TransactionLogs): Requested | null {
  const { trade } = pendingOrder;
  const action = REQUESTS[pendingOrder.orderType];
  if (!action || lower(pendingOrder.user) !== lower(trade.user)) return null;
  const common = { kind: 'requested' as const, action };
  if (action === 'open') {
    const terms = termsOf(trade);
    const size = { sizeCollateral: positionSizeCollateral(terms), sizeToken: null };
    return { ...common, ...ofRequest(pendingOrder, null, { place }), ...size, terms, slippageP: BigInt(pendingOrder.maxSlippageP) };
  }
  const position = transaction.tradeOf(lower(trade.user), trade.index);
  if (position === null) return null;
  const closing = slippageBefore(transaction.logs, trade, place) ?? position.slippageP;
  const slippageP = pendingOrder.maxSlippageP > 0 ? BigInt(pendingOrder.maxSlippageP) : closing || DEFAULT_CLOSING_SLIPPAGE_P;
  return { ...common, ...ofRequest(pendingOrder, trade.index, { place }), ...changeOf(action, trade, position, transaction), slippageP };
}

/** The closing slippage set earlier in the same transaction: a close may set its own just before the request. */
function slippageBefore(logs: readonly DiamondLog[], { user, index }: TradeStruct, { logIndex }: EventPlace): bigint | null {
  const slipped = logs.findLast(
    (log): log is LogNamed<'TradeMaxClosingSlippagePUpdated'> =>
      log.name === 'TradeMaxClosingSlippagePUpdated' &&
      log.place.logIndex < (logIndex ?? 0) &&
      lower(log.args.user) === lower(user) &&
      log.args.index === index,
  );
  return slipped === undefined ? null : BigInt(slipped.args.maxClosingSlippageP);
}

/** The requested change of a position; the contract leaves the other fields of the struct empty. */
function changeOf(
  action: OrderAction,
  asked: TradeStruct,
  position: PositionState,
  { precisionOf }: TransactionLogs,
): Pick<Requested, 'terms' | 'sizeCollateral' | 'sizeToken'> {
  const { collateralAmount, openPrice } = asked;
  const leverage = BigInt(asked.leverage);
  const terms: Terms = { ...position, tp: 0n, sl: 0n, openPrice };
  const whole = positionSizeCollateral(position);
  const tokens = tokensOf(position.sizeToken, { ...position, sizeCollateral: whole }, precisionOf);
  const part = (sizeCollateral: bigint) => ({ sizeCollateral, sizeToken: whole === 0n ? null : (tokens * sizeCollateral) / whole });
  switch (action) {
    case 'close':
      return { terms: plainTerms(terms), sizeCollateral: whole, sizeToken: tokens };
    case 'increase': {
      const base = collateralAmount === 0n ? position.collateralAmount : collateralAmount;
      const sizeCollateral = positionSizeCollateral({ collateralAmount: base, leverage });
      return { terms: plainTerms({ ...terms, collateralAmount, leverage }), sizeCollateral, sizeToken: null };
    }
    case 'decrease': {
      const delta = leverage > 0n ? { ...position, leverage } : { ...position, collateralAmount };
      return { terms: plainTerms({ ...terms, collateralAmount }), ...part(positionSizeCollateral(delta)) };
    }
    case 'leverage':
      return { terms: plainTerms({ ...terms, collateralAmount, leverage }), sizeCollateral: 0n, sizeToken: 0n };
    default:
      return { terms: plainTerms({ ...terms, collateralAmount }), sizeCollateral: 0n, sizeToken: 0n };
  }
}

function rested(log: LogNamed<'OpenOrderPlaced'>, { logs }: TransactionLogs): ChainEvent | null {
  const { trader, index } = log.args;
  const stored = logs.find(
    (other): other is LogNamed<'TradeStored'> =>
      other.name === 'TradeStored' && lower(other.args.user) === lower(trader) && other.args.index === index,
  );
  return stored ? restedAs(stored.args.trade, BigInt(stored.args.tradeInfo.maxSlippageP), log.place) : null;
}

const isStored = ({ args: { pendingOrder } }: LogNamed<'PriceRequested'>, { logs }: TransactionLogs): boolean =>
  logs.some(
    ({ name, args }) =>
      name === 'PendingOrderStored' &&
      lower(args.pendingOrder.user) === lower(pendingOrder.user) &&
      args.pendingOrder.index === pendingOrder.index,
  );

/** A position is not placed, and a resting order has a log of its own. */
const isPlaced = (log: LogNamed<'TradeStored'>, { logs }: TransactionLogs): boolean =>
  !begins(log) ||
  logs.some(({ name, args }) => name === 'OpenOrderPlaced' && lower(args.trader) === lower(log.args.user) && args.index === log.args.index);

/** A resting order as the contract stores it. */
export function restedAs(trade: TradeStruct, slippageP: bigint, place: EventPlace): Rested {
  const terms = termsOf(trade);
  const type = trade.tradeType === STOP ? 'stop' : 'limit';
  const size = { sizeCollateral: positionSizeCollateral(terms), sizeToken: null };
  return { kind: 'rested', type, ...ofResting(trade.user, trade.index, { place }), terms, ...size, slippageP };
}

const refused = (log: Refusal, tradeIndex: number | null, transaction: TransactionLogs): Refused => ({
  kind: 'refused',
  ...ofRequest(log.args.orderId, tradeIndex, log),
  reason: CANCEL_REASONS[log.args.cancelReason] ?? 'OTHER',
  figures: refusalFigures(log, transaction),
});

/** A profit withdrawal from a trade that was closed in the meantime has no outcome log: alone among logs that can be read it counts as refused. */
function ofUnaccounted({ place, trader, orderKey, isDone }: Unaccounted, { isUnread }: TransactionLogs): ChainEvent[] {
  if (orderKey === null || (isDone && isUnread !== true)) return [];
  const about = { trader, orderKey, tradeIndex: null, place };
  return [isUnread === true ? { kind: 'unexplained', ...about } : { kind: 'refused', ...about, reason: 'NO_TRADE' }];
}

/** Trades whose figures must be known to interpret these logs, without those opened in the logs themselves. */
export function tradesMentioned(logs: readonly DiamondLog[]): { readonly trader: Hex; readonly tradeIndex: number }[] {
  const born = new Set<string>();
  const mentioned = new Map<string, { trader: Hex; tradeIndex: number }>();
  const mention = (user: Hex, tradeIndex: number): void => {
    const key = `${lower(user)}:${tradeIndex}`;
    if (!born.has(key)) mentioned.set(key, { trader: lower(user), tradeIndex });
  };
  for (const log of logs) {
    if (log.name === 'TradeStored') born.add(`${lower(log.args.user)}:${log.args.index}`);
    else if (log.name === 'PendingOrderStored' || log.name === 'PriceRequested') {
      const { trade, orderType } = log.args.pendingOrder;
      if (orderType !== PENDING_TYPE.marketOpen && REQUESTS[orderType]) mention(trade.user, trade.index);
    } else if (log.name === 'TradePositionUpdated' || log.name === 'TradeTpUpdated' || log.name === 'TradeSlUpdated')
      mention(log.args.user, log.args.index);
    else if (log.name === 'TradePositivePnlWithdrawn') mention(log.args.trader, log.args.index);
  }
  return [...mentioned.values()];
}

type Refusal = LogNamed<
  'MarketOpenCanceled' | 'MarketCloseCanceled' | 'LeverageUpdateExecuted' | 'PositionSizeIncreaseExecuted' | 'PositionSizeDecreaseExecuted'
>;

const NOTHING: RefusalFigures = { oraclePrice: null, executionPrice: null, leverage: null, liquidationPrice: null };

/** The contract leaves values at zero that it did not compute before refusing. */
const unlessZero = (value: bigint): bigint | null => (value === 0n ? null : value);

/** The log of a refused opening or closing has only the reason; the oracle's price is in another log of the same transaction. */
function refusalFigures(log: Refusal, { logs }: TransactionLogs): RefusalFigures {
  const { orderId } = log.args;
  const answer = logs.find(
    (other): other is LogNamed<'TradingCallbackExecuted'> =>
      other.name === 'TradingCallbackExecuted' &&
      lower(other.args.a.orderId.user) === lower(orderId.user) &&
      other.args.a.orderId.index === orderId.index,
  );
  const common = { ...NOTHING, oraclePrice: answer?.args.a.current ?? null };
  switch (log.name) {
    case 'LeverageUpdateExecuted': {
      const { newEffectiveLeverage, newLiqPrice } = log.args.values;
      return { ...common, leverage: unlessZero(newEffectiveLeverage), liquidationPrice: unlessZero(newLiqPrice) };
    }
    case 'PositionSizeIncreaseExecuted': {
      const { newEffectiveLeverage, newLiqPrice, priceImpact } = log.args.values;
      return {
        ...common,
        executionPrice: unlessZero(priceImpact.priceAfterImpact),
        leverage: unlessZero(newEffectiveLeverage),
        liquidationPrice: unlessZero(newLiqPrice),
      };
    }
    case 'PositionSizeDecreaseExecuted': {
      const { newLiqPrice, priceImpact } = log.args.values;
      return { ...common, executionPrice: unlessZero(priceImpact.priceAfterImpact), liquidationPrice: unlessZero(newLiqPrice) };
    }
    default:
      return common;
  }
}
