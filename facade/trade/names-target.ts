import type { ChainSlug } from '../../core/chains/chains.js';
import type { AmendIntent, Intent } from '../../core/domain/intent.js';
import { withLevel } from './send/change-child.js';
import type { TranslationContext } from '../../core/domain/relay/exchange-order.js';
import { indexOf } from '../../core/trading/find-order.js';
import type { KnownOrder } from '../../core/ports/stores/orders.js';
import type { Store } from '../../core/ports/store.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { positionsMeant } from './background/flatten-positions.js';
import { findTarget, type OrderName, type Target } from './plan/find-target.js';
import type { RelayJob, SignedAction } from '../../core/ports/stores/relay.js';
import type { ClosingSlippageJobContext } from './background/set-closing-slippages.js';
import type { TradeAction } from '../actions/trade.js';
import { readAction, type JobContext } from './reencode.js';

type Looked = Pick<Gateway, 'store'>;
type Definition = Venue['definition'] & { readonly slug: ChainSlug };

/**
 * Whether the order that a job cancels, replaces or changes is the one its signed action names. Only the stored orders map a name to a
 * slot of the contract, so they are read again before the signature.
 */
export async function namesTarget(store: Store, definition: Definition, signed: SignedAction, job: RelayJob): Promise<boolean> {
  const context = job.context as JobContext;
  const action = readAction(signed.envelope);
  if (action === null) return false;
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
    case 'room':
      return job.purpose === 'action' && guards(store, definition.slug, signed, context);
    case 'cancel':
      return job.purpose === 'action'
        ? isAmong(context.intent, await target(context.item))
        : isOwn(store, definition.slug, signed, job, context.intent);
  }
}

/** Whether the trades that an order closes belong to its market, and to the side recorded for them. */
async function areTradesOf(
  store: Store,
  chain: ChainSlug,
  { trader }: SignedAction,
  { trades, pairIndex }: TranslationContext,
): Promise<boolean> {
  const held = trades.length === 0 ? [] : await store.account.openPositions(chain, trader);
  return held.every(({ tradeIndex, position }) => {
    const taken = trades.find((trade) => trade.tradeIndex === tradeIndex);
    return taken === undefined || (position.pairIndex === pairIndex && position.long === taken.long);
  });
}

/** Whether the trade was opened by, or got its level from, the bot's order of this action. */
async function guards(
  store: Store,
  chain: ChainSlug,
  { id, trader }: SignedAction,
  { oid, item, tradeIndex }: ClosingSlippageJobContext,
): Promise<boolean> {
  const record = await store.exchange.find(chain, trader, oid);
  if (record?.action !== id || record.item !== item) return false;
  if (record.legs.some((leg) => leg.role === 'protect' && leg.tradeIndex === tradeIndex)) return true;
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
async function isOwn(store: Store, chain: ChainSlug, { trader }: SignedAction, job: RelayJob, intent: Intent): Promise<boolean> {
  if (job.purpose === 'reclaim') {
    const order = job.orderId === null ? null : await store.orders.find(chain, trader, job.orderId);
    return order !== null && intent.kind === 'reclaim' && isOn(order, intent);
  }
  if (intent.kind !== 'withdraw' && intent.kind !== 'reclaim') return false;
  const key = intent.kind === 'withdraw' ? (`resting:${intent.tradeIndex}` as const) : (`request:${intent.requestIndex}` as const);
  return (await store.orders.findByKey(chain, trader, key))?.order.action === 'open';
}
