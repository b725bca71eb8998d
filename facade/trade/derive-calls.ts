import type { ChainSlug } from '../../core/chains/chains.js';
import type { TranslationContext } from '../../core/domain/relay/exchange-order.js';
import { indexOf } from '../../core/trading/find-order.js';
import type { KnownOrder } from '../../core/ports/stores/orders.js';
import type { Store } from '../../core/ports/store.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { findTarget, isAwaited, isOfLevel, type OrderName, type Target } from './plan/find-target.js';
import { encodeIntent } from '../../core/trading/encode-intent.js';
import type { AmendIntent, Intent } from '../../core/domain/intent.js';
import { leverageForMargin, MAX_SLIPPAGE_P, wantedClosingSlippage, translateOrder } from '../../core/domain/relay/translate-order.js';
import type { Hex } from '../../core/types.js';
import { positionsMeant, type FlattenJobContext } from './background/flatten-positions.js';
import type { CancelJobContext, ReplaceJobContext } from './send/cancel-work.js';
import { withLevel, type ChildJobContext } from './send/change-child.js';
import type { ClosingSlippageJobContext } from './background/set-closing-slippages.js';
import type { MarginJobContext } from './send/relay-margin.js';
import type { RelayJob, SignedAction } from '../../core/ports/stores/relay.js';
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
): readonly Hex[] {
  return intentsOf(action, context as JobContext, purpose, multiplierOf).map((intent) => encodeIntent(intent, trader));
}

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
      return mayTakeBack(action, purpose) && onlyTakesBack(context.intent) ? [context.intent] : [];
    case 'child':
      return childIntents(action, context, multiplierOf);
    case 'margin': {
      const leverage = action.type === 'updateIsolatedMargin' ? leverageForMargin(BigInt(action.ntli), context.context) : null;
      return leverage === null ? [] : [{ kind: 'leverage', tradeIndex: context.context.tradeIndex, leverage }];
    }
  }
}

function orderOf(action: TradeAction, item: number): WireOrder | null {
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

const onlyTakesBack = (intent: Intent): boolean =>
  intent.kind === 'withdraw' ||
  intent.kind === 'reclaim' ||
  // Which level is removed, and that the rest stays, is compared with the order itself.
  (intent.kind === 'amend' && (intent.tp === 0n || intent.sl === 0n)) ||
  (intent.kind === 'protect' && (intent.tp ?? 0n) === 0n && (intent.sl ?? 0n) === 0n && intent.slippageP === undefined);

type Looked = Pick<Gateway, 'store'>;
type Definition = Venue['definition'] & { readonly slug: ChainSlug };

/**
 * Whether the order that a job cancels, replaces or changes is the one its signed action names. Only the stored orders map a name to a
 * slot of the contract, so they are read again before the signature.
 */
export async function namesTarget(store: Store, definition: Definition, signed: ReadAction, job: RelayJob): Promise<boolean> {
  const context = job.context as JobContext;
  const { action } = signed;
  const target = async (item: number): Promise<Target | null> => {
    const name = nameIn(action, item);
    return name && findTarget({ store } satisfies Looked, { definition }, signed, name, signed.id);
  };
  switch (context.kind) {
    case 'order':
      return areTradesOf(store, definition.slug, signed, context.context);
    case 'child':
      return changesOne(context.intent, await target(context.item));
    case 'replace':
      return isAmong({ kind: 'withdraw', tradeIndex: context.tradeIndex }, await target(context.item));
    case 'margin': {
      const { tradeIndex, collateralAmount, leverage } = context.context;
      const positions = await store.account.openPositions(definition.slug, signed.trader);
      const held = positions.find((open) => open.tradeIndex === tradeIndex)?.position;
      // If the position changed since, the same leverage would move another amount than was signed.
      const isAsItWas = held?.collateralAmount === collateralAmount && held.leverage === leverage;
      return action.type === 'updateIsolatedMargin' && held?.pairIndex === action.asset && isAsItWas;
    }
    case 'flatten': {
      const dueAt = action.type === 'scheduleCancel' ? action.time : undefined;
      if (dueAt === undefined || job.createdAt < dueAt) return false;
      const meant = await positionsMeant({ store }, { chain: definition.slug, trader: signed.trader, dueAt });
      return meant.some(({ tradeIndex }) => tradeIndex === context.tradeIndex);
    }
    case 'closing-slippage':
      return job.purpose === 'action' && guards(store, definition, signed, context);
    case 'cancel':
      return job.purpose === 'action'
        ? isAmong(context.intent, await target(context.item)) && !(await isReplaced(store, definition, signed, context))
        : isOwn(store, definition.slug, signed, job, context.intent);
  }
}

/** Whether the trades that an order closes belong to its market, and to the side recorded for them. */
async function areTradesOf(
  store: Store,
  chain: ChainSlug,
  { trader }: Pick<ReadAction, 'trader'>,
  { trades, pairIndex }: TranslationContext,
): Promise<boolean> {
  const held = trades.length === 0 ? [] : await store.account.openPositions(chain, trader);
  return held.every(({ tradeIndex, position }) => {
    const taken = trades.find((trade) => trade.tradeIndex === tradeIndex);
    return taken === undefined || (position.pairIndex === pairIndex && position.long === taken.long);
  });
}

/** Whether the trade was opened by, or has its level from, the bot's order of this action. */
async function guards(
  store: Store,
  definition: Definition,
  { id, trader, action }: ReadAction,
  { oid, item, tradeIndex }: ClosingSlippageJobContext,
): Promise<boolean> {
  const { slug: chain } = definition;
  const record = await store.exchange.find(chain, trader, oid);
  if (record?.action !== id || record.item !== item) return false;
  const hasLevel = async (): Promise<boolean> => {
    const target = await findTarget({ store }, { definition }, { trader }, { oid });
    return target?.protections.some((level) => level.tradeIndex === tradeIndex) === true;
  };
  if (record.parentOrder != null) return hasLevel();
  // A change to an order that is no child and not reduce-only opens a position, and has no level.
  if (action.type !== 'order' && orderOf(action, item)?.r !== true) return false;
  if (isOfLevel(record, tradeIndex)) return hasLevel();
  const ids = record.legs.flatMap(({ role, orderId }) => (role === 'open' && orderId !== null ? [orderId] : []));
  const opened = await Promise.all(ids.map((orderId) => store.orders.find(chain, trader, orderId)));
  return opened.some((known) => known?.order.fill?.tradeIndex === tradeIndex);
}

/** The order that an item of the action names. */
function nameIn(action: TradeAction, item: number): OrderName | null {
  const named = (oid: number | string | undefined): OrderName | null =>
    oid === undefined ? null : typeof oid === 'number' ? { oid: BigInt(oid) } : { cloid: oid };
  switch (action.type) {
    case 'cancel':
      return named(action.cancels[item]?.o);
    case 'cancelByCloid':
      return named(action.cancels[item]?.cloid);
    case 'modify':
      return named(action.oid);
    case 'batchModify':
      return named(action.modifies[item]?.oid);
    default:
      return null;
  }
}

const isOn = ({ orderKey }: KnownOrder, intent: Intent): boolean => {
  if (orderKey === null) return false;
  if (intent.kind === 'withdraw') return orderKey.startsWith('resting:') && indexOf(orderKey) === intent.tradeIndex;
  return intent.kind === 'reclaim' && orderKey.startsWith('request:') && indexOf(orderKey) === intent.requestIndex;
};

function isAmong(intent: Intent, target: Target | null): boolean {
  if (target === null) return false;
  if (intent.kind === 'amend') return takesOneOff(intent, target);
  if (intent.kind !== 'protect') return target.orders.some((order) => isOn(order, intent));
  const kinds = (['tp', 'sl'] as const).filter((kind) => intent[kind] !== null);
  const isNamed = (kind: 'tp' | 'sl'): boolean =>
    target.protections.some((protection) => protection.tradeIndex === intent.tradeIndex && protection.kind === kind);
  return kinds.length > 0 && kinds.every(isNamed);
}

/** Whether the level that would be removed is no longer that of the canceled order, or another order is about to take its place. */
async function isReplaced(
  store: Store,
  definition: Definition,
  signed: Pick<ReadAction, 'trader'>,
  { intent, price }: CancelJobContext,
): Promise<boolean> {
  if (intent.kind !== 'protect') return false;
  const { tradeIndex } = intent;
  const kind = intent.tp === null ? 'sl' : 'tp';
  if (await isAwaited({ store }, { definition }, signed, { tradeIndex, kind })) return true;
  const positions = await store.account.openPositions(definition.slug, signed.trader);
  return price !== undefined && positions.find((open) => open.tradeIndex === tradeIndex)?.position[kind] !== price;
}

/** Whether the order stays the same except for the level of a named child. */
const changesOne = (intent: AmendIntent, target: Target | null): boolean =>
  (target?.children ?? []).some(({ parent, level }) => {
    const meant = withLevel(parent, level.kind, intent[level.kind]);
    return meant !== null && AMENDED.every((field) => meant[field] === intent[field]);
  });

const AMENDED = ['tradeIndex', 'price', 'tp', 'sl', 'slippageP'] as const satisfies readonly (keyof AmendIntent)[];

const takesOneOff = (intent: AmendIntent, target: Target): boolean =>
  changesOne(intent, { ...target, children: (target.children ?? []).filter(({ level }) => intent[level.kind] === 0n) });

/** Targets that no action names: a schedule's entries, and requests that the oracle did not answer. */
async function isOwn(
  store: Store,
  chain: ChainSlug,
  { trader }: Pick<ReadAction, 'trader'>,
  job: RelayJob,
  intent: Intent,
): Promise<boolean> {
  if (job.purpose === 'reclaim') {
    const order = job.orderId === null ? null : await store.orders.find(chain, trader, job.orderId);
    return order !== null && intent.kind === 'reclaim' && isOn(order, intent);
  }
  if (intent.kind !== 'withdraw' && intent.kind !== 'reclaim') return false;
  const key = intent.kind === 'withdraw' ? (`resting:${intent.tradeIndex}` as const) : (`request:${intent.requestIndex}` as const);
  return (await store.orders.findByKey(chain, trader, key))?.order.action === 'open';
}
