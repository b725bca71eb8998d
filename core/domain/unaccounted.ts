import type { OrderKey } from './chain-event.js';
import {
  POSITION,
  type DiamondLog,
  type DiamondLogName,
  type LogNamed,
  type LogPlace,
  type OrderId,
  type TransactionReceipt,
} from './diamond-log.js';

type Hex = `0x${string}`;

/** A log whose outcome is missing among those that can be read: something was done that another log has to report. */
export interface Unaccounted {
  readonly place: LogPlace;
  readonly trader: Hex;
  /** The order that it ended; null where no log says which. */
  readonly orderKey: OrderKey | null;
  /** False: the contract also logs this where nothing was done. */
  readonly isDone: boolean;
}

/** Outcomes that name the pending order they answer. */
const OUTCOMES: ReadonlySet<DiamondLogName> = new Set<DiamondLogName>([
  'MarketExecuted',
  'LimitExecuted',
  'MarketOpenCanceled',
  'MarketCloseCanceled',
  'TriggerOrderCanceled',
  'ChainlinkCallbackTimeout',
  'LeverageUpdateExecuted',
  'PositionSizeIncreaseExecuted',
  'PositionSizeDecreaseExecuted',
  'TradePositivePnlWithdrawn',
  'TradeHoldingFeesManuallyRealized',
  'TradeNegativePnlManuallyRealized',
]);

/** Up to this one the `PendingOrderType` of an executed trigger opens a trade. */
const LAST_OPENING_TRIGGER = 3;

const lower = (address: Hex): Hex => address.toLowerCase() as Hex;
const isSame = (user: Hex, index: number | bigint, other: { readonly user: Hex; readonly index: number }): boolean =>
  lower(user) === lower(other.user) && Number(index) === other.index;

/** What the logs of one transaction leave open. */
export function unaccounted(logs: readonly DiamondLog[]): Unaccounted[] {
  return logs.flatMap((log): Unaccounted[] => {
    const { place } = log;
    switch (log.name) {
      case 'PendingOrderClosed':
        return hasOutcome(log, logs) ? [] : [{ ...ofRequest(log.args.orderId), place, isDone: false }];
      case 'LeverageUpdateExecuted':
      case 'PositionSizeIncreaseExecuted':
      case 'PositionSizeDecreaseExecuted':
        return log.args.cancelReason !== 0 || hasFigures(log, logs) ? [] : [{ ...ofRequest(log.args.orderId), place, isDone: true }];
      case 'TradeStored': {
        const isKnown = log.args.trade.tradeType !== POSITION || logs.some((other) => opens(other, log.args));
        return isKnown ? [] : [{ trader: lower(log.args.user), orderKey: null, place, isDone: true }];
      }
      case 'TradeClosed': {
        const { user, index } = log.args;
        return logs.some((other) => ends(other, log.args))
          ? []
          : [{ trader: lower(user), orderKey: `resting:${index}`, place, isDone: true }];
      }
      default:
        return [];
    }
  });
}

/**
 * Whether logs which cannot be read may hold what is missing. An executed change is missing for certain. A request that was closed without an
 * outcome is usually refused, so that such a log counts only if it names its trader: others cannot stop openings with refused requests of theirs.
 */
export function mayHoldOutcome({ logs, unreadable }: Pick<TransactionReceipt, 'logs' | 'unreadable'>): boolean {
  const texts = unreadable.map(({ topics, data }) => [...topics, data].join().toLowerCase());
  return unaccounted(logs).some(({ trader, isDone }) => texts.some((text) => isDone || text.includes(trader.slice(2))));
}

const ofRequest = ({ user, index }: OrderId) => ({ trader: lower(user), orderKey: `request:${index}` as const });

const answered = ({ args }: DiamondLog): OrderId | null =>
  'orderId' in args ? args.orderId : 'pendingOrderId' in args ? args.pendingOrderId : null;

function hasOutcome({ args: { orderId } }: LogNamed<'PendingOrderClosed'>, logs: readonly DiamondLog[]): boolean {
  return logs.some((other) => {
    const id = OUTCOMES.has(other.name) ? answered(other) : null;
    return id !== null && isSame(id.user, id.index, orderId);
  });
}

type Change = LogNamed<'LeverageUpdateExecuted' | 'PositionSizeIncreaseExecuted' | 'PositionSizeDecreaseExecuted'>;

/** The figures of a changed position are in a log of their own. */
const hasFigures = ({ args: { trader, index } }: Change, logs: readonly DiamondLog[]): boolean =>
  logs.some((other) => other.name === 'TradePositionUpdated' && isSame(trader, index, other.args));

interface Slot {
  readonly user: Hex;
  readonly index: number;
}

const opens = (log: DiamondLog, trade: Slot): boolean =>
  (log.name === 'MarketExecuted' || log.name === 'LimitExecuted') && isSame(log.args.user, log.args.index, trade);

/** The slot of a resting order is closed, too, when the order is executed. */
function ends(log: DiamondLog, trade: Slot): boolean {
  switch (log.name) {
    case 'OpenLimitCanceled':
      return isSame(log.args.trader, log.args.index, trade);
    case 'LimitExecuted': {
      const isOpening = log.args.orderType <= LAST_OPENING_TRIGGER;
      return isSame(log.args.user, isOpening ? log.args.limitIndex : log.args.index, trade);
    }
    default:
      return opens(log, trade);
  }
}
