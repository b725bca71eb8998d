import { encodeIntent } from '../../core/trading/encode-intent.js';
import type { Intent, OpenIntent } from '../../core/domain/intent.js';
import type { ExchangeOrder } from '../../core/domain/relay/exchange-order.js';
import { leverageForMargin, MAX_SLIPPAGE_P, wantedClosingSlippage, translateOrder } from '../../core/domain/relay/translate-order.js';
import type { Hex } from '../../core/types.js';
import type { FlattenJobContext } from './background/flatten-positions.js';
import type { CancelJobContext, ReplaceJobContext } from './send/cancel-work.js';
import type { ChildJobContext } from './send/change-child.js';
import type { ClosingSlippageJobContext } from './background/set-closing-slippages.js';
import type { MarginJobContext } from './send/relay-margin.js';
import type { RelayJob, RelayPurpose, SignedAction } from '../../core/ports/stores/relay.js';
import { atRest } from './plan/plan-items.js';
import type { OrderJobContext } from './send/send-item.js';
import { ordersOf, type TradeAction, type WireOrder } from '../actions/trade.js';
import { exchangeOrder } from './read-order.js';

/** What each job stores of its translation, besides its kind. `multiplier` is the market coin's. */
export type JobContext =
  | OrderJobContext
  | ReplaceJobContext
  | ChildJobContext
  | CancelJobContext
  | MarginJobContext
  | ClosingSlippageJobContext
  | FlattenJobContext;

/** A stored action, and what was read from its signed text. */
export type ReadAction = Pick<SignedAction, 'id' | 'trader'> & { readonly action: TradeAction };

/**
 * Derives the calls of a job again from the signed action: the call to be signed must be among the returned ones. The relayer asks for every
 * transaction; only the action and the figures that the translation was based on are used.
 */
export function deriveCalls(
  { action, trader }: Omit<ReadAction, 'id'>,
  { context, purpose }: Pick<RelayJob, 'context' | 'purpose'>,
  multiplierOf: (asset: number) => bigint,
  isWithin: OpeningCheck = () => true,
): readonly Hex[] {
  const read = context as JobContext;
  if (!PURPOSES[read.kind].includes(purpose)) return [];
  const intents = intentsOf(action, read, purpose, multiplierOf);
  const wire = 'item' in read ? orderOf(action, read.item) : null;
  return intents.filter((intent) => isAsSigned(intent, wire, multiplierOf, isWithin)).map((intent) => encodeIntent(intent, trader));
}

/** Whether an opening of this order may be sent: what the signed text does not say is as it should be. */
export type OpeningCheck = (order: ExchangeOrder, intent: OpenIntent) => boolean;

function isAsSigned(intent: Intent, wire: WireOrder | null, multiplierOf: (asset: number) => bigint, isWithin: OpeningCheck): boolean {
  const opening = intent.kind === 'open' ? intent : intent.kind === 'replace' ? intent.by : null;
  if (opening === null) return true;
  return wire !== null && isWithin(exchangeOrder({ multiplier: multiplierOf(wire.a) }, wire), { kind: 'open', ...opening });
}

/** What the service does by itself needs less proof than an order, so an order must not come as one of these. */
const PURPOSES: Readonly<Record<JobContext['kind'], readonly RelayPurpose[]>> = {
  order: ['action'],
  replace: ['action'],
  child: ['action'],
  margin: ['action'],
  'closing-slippage': ['action'],
  flatten: ['scheduled-cancel'],
  cancel: ['action', 'scheduled-cancel', 'reclaim'],
};

function intentsOf(
  action: TradeAction,
  context: JobContext,
  purpose: RelayJob['purpose'],
  multiplierOf: (asset: number) => bigint,
): readonly Intent[] {
  switch (context.kind) {
    case 'order':
    case 'replace': {
      const wire = orderOf(action, context.item);
      return wire === null || !areSigned(action, context, multiplierOf) ? [] : orderIntents(wire, context, multiplierOf(wire.a));
    }
    case 'closing-slippage':
      return closingSlippagesOf(action, context.item, multiplierOf).map((slippageP) => ({
        kind: 'protect',
        tradeIndex: context.tradeIndex,
        tp: null,
        sl: null,
        slippageP,
      }));
    case 'flatten': {
      const { tradeIndex, expectedPrice } = context;
      const isMeant = purpose === 'scheduled-cancel' && action.type === 'scheduleCancel' && action.time !== undefined;
      return isMeant ? [{ kind: 'close', tradeIndex, expectedPrice, slippageP: null }] : [];
    }
    case 'cancel':
      return mayTakeBack(action, purpose) && onlyTakesBack(context.intent, purpose) ? [context.intent] : [];
    case 'child':
      return childIntents(action, context, multiplierOf);
    case 'margin': {
      const leverage = action.type === 'updateIsolatedMargin' ? leverageForMargin(BigInt(action.ntli), context.context) : null;
      return leverage === null ? [] : [{ kind: 'leverage', tradeIndex: context.context.tradeIndex, leverage }];
    }
  }
}

export function orderOf(action: TradeAction, item: number): WireOrder | null {
  if (action.type === 'order') return ordersOf(action)[item] ?? null;
  if (action.type === 'modify') return action.order;
  return action.type === 'batchModify' ? (action.modifies[item]?.order ?? null) : null;
}

/** TP/SL of an opening must be triggers after the parent in the same action, or none. They are no orders of their own. */
function areSigned(
  action: TradeAction,
  { item, context: { tp, sl } }: OrderJobContext | ReplaceJobContext,
  multiplierOf: (asset: number) => bigint,
): boolean {
  const children = childrenOf(action);
  if (children !== null && item > 0) return false;
  const levels = (children ?? []).map((wire) => exchangeOrder({ multiplier: multiplierOf(wire.a) }, wire).style);
  const isSigned = (level: bigint, tpsl: 'tp' | 'sl'): boolean =>
    level === 0n || levels.some((style) => style.kind === 'trigger' && style.tpsl === tpsl && style.trigger === level);
  return isSigned(tp, 'tp') && isSigned(sl, 'sl');
}

/** The children of a parent that can become its levels; null if there is no parent. */
function childrenOf(action: TradeAction): readonly WireOrder[] | null {
  if (action.type !== 'order' || action.grouping !== 'normalTpsl') return null;
  const [parent, ...children] = action.orders;
  return children.filter(({ a, b }) => a === parent?.a && b !== parent.b);
}

/**
 * The closing slippages of an item's levels: those of its children, or of the item if it is a level itself. A child need not be reduce-only,
 * neither as it is placed nor as it is changed; that a changed order is one is compared with its record.
 */
function closingSlippagesOf(action: TradeAction, item: number, multiplierOf: (asset: number) => bigint): readonly bigint[] {
  const children = childrenOf(action);
  const mayBeChild = children !== null || action.type !== 'order';
  return (children ?? [orderOf(action, item)]).flatMap((wire) => {
    const level = wire && exchangeOrder({ multiplier: multiplierOf(wire.a) }, wire);
    return level?.style.kind === 'trigger' && (mayBeChild || level.reduceOnly) ? [wantedClosingSlippage(level, MAX_SLIPPAGE_P)] : [];
  });
}

/** A resting order stays the same except for the level that the changed order names. */
function childIntents(action: TradeAction, { item, intent }: ChildJobContext, multiplierOf: (asset: number) => bigint): readonly Intent[] {
  const wire = action.type === 'modify' || action.type === 'batchModify' ? orderOf(action, item) : null;
  const style = wire && exchangeOrder({ multiplier: multiplierOf(wire.a) }, wire).style;
  return style?.kind === 'trigger' ? [{ ...intent, [style.tpsl]: style.trigger }] : [];
}

function orderIntents(wire: WireOrder, job: OrderJobContext | ReplaceJobContext, multiplier: bigint): readonly Intent[] {
  if (wire.a !== job.context.pairIndex) return [];
  const asked = exchangeOrder({ multiplier }, wire);
  const mayRest = asked.style.kind === 'limit' && asked.style.tif === 'Gtc';
  const order = job.kind === 'order' && job.isLeftToRest && mayRest ? atRest(asked) : asked;
  const translation = translateOrder(order, job.context);
  const intents = translation.kind === 'legs' ? translation.legs.map(({ intent }) => intent) : [];
  if (job.kind === 'order') return intents;
  return intents.flatMap((intent): Intent[] => {
    if (intent.kind !== 'open') return [];
    return [{ kind: 'replace', tradeIndex: job.tradeIndex, by: intent }];
  });
}

/** True for a cancel, the cancel half of a change, or a schedule. */
const mayTakeBack = ({ type }: TradeAction, purpose: RelayJob['purpose']): boolean =>
  purpose === 'scheduled-cancel'
    ? type === 'scheduleCancel'
    : purpose === 'reclaim' || type === 'cancel' || type === 'cancelByCloid' || type === 'modify' || type === 'batchModify';

const onlyTakesBack = (intent: Intent, purpose: RelayPurpose): boolean =>
  intent.kind === 'reclaim' ||
  // Anybody's action proves a reclaim, because its collateral goes to the trader.
  (purpose !== 'reclaim' && takesOff(intent));

const takesOff = (intent: Intent): boolean =>
  intent.kind === 'withdraw' ||
  // Which level is removed, and that the rest stays, is compared with the order itself.
  (intent.kind === 'amend' && (intent.tp === 0n || intent.sl === 0n)) ||
  (intent.kind === 'protect' && (intent.tp ?? 0n) === 0n && (intent.sl ?? 0n) === 0n && intent.slippageP === undefined);
