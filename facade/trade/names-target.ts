import type { ChainSlug } from '../../core/chains/chains.js';
import type { AmendIntent, Intent } from '../../core/domain/intent.js';
import type { TranslationContext } from '../../core/domain/relay/exchange-order.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Store } from '../../core/ports/store.js';
import type { KnownOrder } from '../../core/ports/stores/orders.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import { indexOf } from '../../core/trading/find-order.js';
import type { TradeAction } from '../actions/trade.js';
import { positionsMeant } from './background/flatten-positions.js';
import type { ClosingSlippageJobContext } from './background/set-closing-slippages.js';
import { orderOf, type JobContext, type ReadAction } from './derive-calls.js';
import { findTarget, isAwaited, isOfTrade, type OrderName, type Target } from './plan/find-target.js';
import type { CancelJobContext } from './send/cancel-work.js';
import { withLevel, type ChildJobContext } from './send/change-child.js';
import type { MarginJobContext } from './send/relay-margin.js';

type Looked = Pick<Gateway, 'store'>;
type Definition = Venue['definition'] & { readonly slug: ChainSlug };

/** outdated: what the action names was there, and is gone or changed now. other: the job is about something that the action does not name. */
export type Naming = 'named' | 'outdated' | 'other';

/**
 * Whether the order that a job cancels, replaces or changes is the one its signed action names. Only the stored orders map a name to a
 * slot of the contract, so they are read again before the signature.
 */
export async function namesTarget(
  store: Store,
  definition: Definition,
  signed: ReadAction,
  job: Pick<RelayJob, 'context' | 'purpose' | 'orderId' | 'createdAt'>,
): Promise<Naming> {
  const context = job.context as JobContext;
  const { action, trader } = signed;
  const { slug: chain } = definition;
  const target = async (item: number): Promise<Target | null> => {
    const name = nameIn(action, item);
    return name && findTarget({ store } satisfies Looked, { definition }, signed, name, signed.id);
  };
  switch (context.kind) {
    case 'order':
      return namedIf(await areTradesOf(store, chain, signed, context.context));
    case 'child':
      return namesChild(context, await target(context.item));
    case 'replace':
      return namesPlace({ kind: 'withdraw', tradeIndex: context.tradeIndex }, await target(context.item));
    case 'margin':
      return namesMargin(store, chain, signed, context);
    case 'flatten': {
      const dueAt = dueTime(action);
      if (dueAt === null || job.createdAt < dueAt) return 'other';
      const meant = await positionsMeant({ store }, { chain, trader, dueAt });
      if (meant.some(({ tradeIndex }) => tradeIndex === context.tradeIndex)) return 'named';
      const isOpen = (await store.account.openPositions(chain, trader)).some(({ tradeIndex }) => tradeIndex === context.tradeIndex);
      return isOpen ? 'other' : 'outdated';
    }
    case 'closing-slippage':
      return job.purpose === 'action' ? guards(store, definition, signed, context) : 'other';
    case 'cancel': {
      if (job.purpose !== 'action') return namesOwn(store, chain, signed, job, context.intent);
      const named = namesPlace(context.intent, await target(context.item));
      return named === 'named' && (await isReplaced(store, definition, signed, context)) ? 'outdated' : named;
    }
  }
}

const namedIf = (isNamed: boolean): Naming => (isNamed ? 'named' : 'other');

/** When the schedule was to fire, by what was signed; null for another action, and for one that only ends a schedule. */
const dueTime = (action: TradeAction): number | null => (action.type === 'scheduleCancel' ? (action.time ?? null) : null);

/** An order in another place than the job's is live: then the job is about another one. */
function namesPlace(intent: Intent, target: Target | null): Naming {
  if (isAmong(intent, target)) return 'named';
  if (target === null) return 'other';
  const { orders, triggers, children = [], record } = target;
  const tradeIndex = 'tradeIndex' in intent ? intent.tradeIndex : null;
  const wasThere = record?.legs.some((leg) => leg.tradeIndex !== null && leg.tradeIndex === tradeIndex) === true;
  const isElsewhere = triggers.length + children.length > 0 || orders.some(({ order }) => order.status === 'open');
  return wasThere || !isElsewhere ? 'outdated' : 'other';
}

function namesChild({ intent }: ChildJobContext, target: Target | null): Naming {
  if (changesOne(intent, target)) return 'named';
  if (target === null) return 'other';
  const places = (target.children ?? []).flatMap(({ parent: { orderKey } }) => (orderKey === null ? [] : [indexOf(orderKey)]));
  return places.length > 0 && !places.includes(intent.tradeIndex) ? 'other' : 'outdated';
}

async function namesMargin(store: Store, chain: ChainSlug, { action, trader }: ReadAction, { context }: MarginJobContext): Promise<Naming> {
  const { tradeIndex, collateralAmount, leverage } = context;
  const positions = await store.account.openPositions(chain, trader);
  const held = positions.find((open) => open.tradeIndex === tradeIndex)?.position;
  if (action.type !== 'updateIsolatedMargin' || (held !== undefined && held.pairIndex !== action.asset)) return 'other';
  // If the position changed since, the same leverage would move another amount than was signed.
  return held?.collateralAmount === collateralAmount && held.leverage === leverage ? 'named' : 'outdated';
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
): Promise<Naming> {
  const { slug: chain } = definition;
  const record = await store.exchange.find(chain, trader, oid);
  if (record?.action !== id || record.item !== item) return 'other';
  const hasLevel = async (): Promise<Naming> => {
    const target = await findTarget({ store }, { definition }, { trader }, { oid });
    return target?.triggers.some((trigger) => trigger.tradeIndex === tradeIndex) === true ? 'named' : 'outdated';
  };
  if (record.parentOrder != null) return hasLevel();
  // A change to an order that is no child and not reduce-only opens a position, and has no level.
  if (action.type !== 'order' && orderOf(action, item)?.r !== true) return 'other';
  if (isOfTrade(record, tradeIndex)) return hasLevel();
  const ids = record.legs.flatMap(({ role, orderId }) => (role === 'open' && orderId !== null ? [orderId] : []));
  const opened = await Promise.all(ids.map((orderId) => store.orders.find(chain, trader, orderId)));
  return namedIf(opened.some((known) => known?.order.fill?.tradeIndex === tradeIndex));
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
    target.triggers.some((trigger) => trigger.tradeIndex === intent.tradeIndex && trigger.kind === kind);
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
async function namesOwn(
  store: Store,
  chain: ChainSlug,
  { trader, action }: Pick<ReadAction, 'trader' | 'action'>,
  { purpose, orderId }: Pick<RelayJob, 'purpose' | 'orderId'>,
  intent: Intent,
): Promise<Naming> {
  if (purpose === 'reclaim') {
    const order = orderId === null ? null : await store.orders.find(chain, trader, orderId);
    if (order === null || intent.kind !== 'reclaim') return 'other';
    return isOn(order, intent) ? 'named' : 'outdated';
  }
  if (dueTime(action) === null || (intent.kind !== 'withdraw' && intent.kind !== 'reclaim')) return 'other';
  const key = intent.kind === 'withdraw' ? (`resting:${intent.tradeIndex}` as const) : (`request:${intent.requestIndex}` as const);
  const known = await store.orders.findByKey(chain, trader, key);
  if (known === null) return 'outdated';
  return namedIf(known.order.action === 'open');
}
