import type { AgentCaller } from '../../../core/access/caller.js';
import { levelKey, levelOf } from '../../../core/domain/order-machine.js';
import type { OrderStatus } from '../../../core/domain/order.js';
import type { KnownProtection, Protection } from '../../../core/ports/stores/protections.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { KnownOrder } from '../../../core/ports/stores/orders.js';
import type { ExchangeRecord } from '../../../core/ports/stores/exchange.js';
import { indexOf } from '../../../core/trading/find-order.js';
import type { Address } from '../../../core/types.js';
import type { MarketConfig } from '../../../core/domain/market.js';
import type { PositionState } from '../../../core/domain/position.js';
import { marketView } from '../../../core/domain/pricing/market-view.js';
import type { ExchangeOrder } from '../../../core/domain/relay/exchange-order.js';
import { storedStopLoss } from '../../../core/trading/order-request.js';

/** How a bot names an order. */
export type OrderName = { readonly oid: bigint } | { readonly cloid: string };

/** What a name refers to: orders of ours, TP/SL of positions, or both. */
export interface Target {
  readonly pairIndex: number;
  readonly record: ExchangeRecord | null;
  readonly orders: readonly KnownOrder[];
  readonly protections: readonly Pick<KnownProtection, 'tradeIndex' | 'kind' | 'price'>[];
  /** Levels of resting or pending orders; absent if there are none. */
  readonly children?: readonly Child[];
}

/** A TP/SL that has no position yet. */
export interface Child {
  readonly record: ExchangeRecord;
  readonly parent: KnownOrder;
  readonly level: Pick<KnownProtection, 'kind' | 'price'>;
}

type StoreOf = Pick<Gateway, 'store'>;
type DefinitionOf = Pick<Venue, 'definition'>;
type TraderOf = Pick<AgentCaller, 'trader'>;

/**
 * Finds any order of the trader, whatever its origin; null if none has that name. `maker`: an action that may itself have created an
 * order of that name, as a change that keeps the cloid does; that order is excluded.
 */
export async function findTarget(
  gateway: StoreOf,
  venue: DefinitionOf,
  caller: TraderOf,
  name: OrderName,
  maker: bigint | null = null,
): Promise<Target | null> {
  const { slug } = venue.definition;
  if ('cloid' in name) return ofCloid(gateway, venue, caller, { ...name, maker });
  const record = await gateway.store.exchange.find(slug, caller.trader, name.oid);
  return record === null ? ofId(gateway, venue, caller, name.oid) : ofRecord(gateway, venue, caller, record);
}

/** Equal for two names of the same target. */
export const identityOf = ({ orders, protections, children = [] }: Target): string =>
  [
    ...orders.map(({ id }) => String(id)),
    ...protections.map(({ kind, tradeIndex }) => levelKey(kind, tradeIndex)),
    ...children.map(({ level, parent }) => `${level.kind} of ${parent.id}`),
  ].join();

/** The newest live order with the cloid: a failed change leaves the older one in place. Without a live one, the newest. */
async function ofCloid(
  gateway: StoreOf,
  venue: DefinitionOf,
  caller: TraderOf,
  { cloid, maker }: { readonly cloid: string; readonly maker: bigint | null },
): Promise<Target | null> {
  const named = await gateway.store.exchange.ofCloid(venue.definition.slug, caller.trader, cloid);
  const records = named.filter(({ action }) => action !== maker);
  const targets = await Promise.all(records.map((record) => ofRecord(gateway, venue, caller, record)));
  const lives = ({ orders, protections, children = [] }: Target): boolean =>
    protections.length + children.length > 0 || orders.some(({ order }) => LIVE_STATUSES.has(order.status));
  return targets.find(lives) ?? targets[0] ?? null;
}

const LIVE_STATUSES: ReadonlySet<OrderStatus> = new Set(['prepared', 'pending', 'open', 'timed_out']);

async function ofRecord(gateway: StoreOf, venue: DefinitionOf, caller: TraderOf, record: ExchangeRecord): Promise<Target> {
  const { store } = gateway;
  const { slug } = venue.definition;
  if (record.parentOrder != null) return ofChild(gateway, venue, caller, record);
  const ids = record.legs.flatMap(({ orderId }) => orderId ?? []);
  const orders = await Promise.all(ids.map((id) => store.orders.find(slug, caller.trader, id)));
  const own = { pairIndex: record.pairIndex, record, orders: orders.flatMap((order) => order ?? []) };
  if (ids.length > 0) return { ...own, protections: await ofNoOther(gateway, venue, caller, record) };
  const [standing, order] = await Promise.all([
    store.facade.protections.standing(slug, caller.trader, record.oid),
    // The id may be that of a native order, which has the level of the first trade.
    store.orders.find(slug, caller.trader, record.oid),
  ]);
  const level = order && levelTarget(order);
  const isOwn = level !== null && (await isStillOf(gateway, venue, caller, record.oid));
  return { ...own, orders: order && !level ? [order] : [], protections: [...(isOwn ? [level] : []), ...standing] };
}

/** The take profits of an order that also opens: they have no ids of their own, and are another order's if that one set them again. */
async function ofNoOther(
  { store }: StoreOf,
  { definition: { slug } }: DefinitionOf,
  { trader }: TraderOf,
  record: ExchangeRecord,
): Promise<Target['protections']> {
  const { legs, order, createdAt } = record;
  const trades = legs.flatMap(({ role, tradeIndex }) => (role === 'protect' && tradeIndex !== null ? [tradeIndex] : []));
  if (trades.length === 0) return [];
  const levels = trades.map((tradeIndex) => ({ tradeIndex, ...askedLevel(order) }));
  const known = await store.facade.protections.identify(slug, trader, levels, createdAt);
  const others = await store.exchange.ofOids(
    slug,
    trader,
    known.map(({ id }) => id),
  );
  const unnamed = known.filter(({ id }) => !others.has(id));
  const later = await store.facade.protections.laterThan(
    record,
    unnamed.map(({ id }) => id),
  );
  return unnamed.filter(({ id }) => !later.has(id));
}

/** Whether a native order still has its level: a bot's order may have set it again at the same price. */
const isStillOf = async ({ store }: StoreOf, { definition }: DefinitionOf, { trader }: TraderOf, id: bigint): Promise<boolean> =>
  !(await store.facade.protections.successors(definition.slug, trader, [id])).has(id);

async function ofChild(gateway: StoreOf, venue: DefinitionOf, { trader }: TraderOf, record: ExchangeRecord): Promise<Target> {
  const none = { pairIndex: record.pairIndex, record, orders: [], protections: [] };
  const place = await childPlace(gateway, venue, trader, record);
  switch (place.kind) {
    case 'position':
      return { ...none, protections: [place.level] };
    case 'resting':
      return { ...none, children: [{ record, parent: place.parent, level: place.level }] };
    case 'waiting':
      return { ...none, children: [{ record, parent: place.parent, level: askedLevel(record.order) }] };
    case 'gone':
      return none;
  }
}

async function ofId(gateway: StoreOf, venue: DefinitionOf, caller: TraderOf, id: bigint): Promise<Target | null> {
  const { store } = gateway;
  const { slug } = venue.definition;
  const { trader } = caller;
  const order = await store.orders.find(slug, trader, id);
  const level = order && levelTarget(order);
  if (level) {
    const protections = (await isStillOf(gateway, venue, caller, id)) ? [level] : [];
    return { pairIndex: order.order.pairIndex, record: null, orders: [], protections };
  }
  if (order !== null) return { pairIndex: order.order.pairIndex, record: null, orders: [order], protections: [] };
  const [protection] = await store.facade.protections.standing(slug, trader, id);
  const position =
    protection && (await store.account.openPositions(slug, trader)).find(({ tradeIndex }) => tradeIndex === protection.tradeIndex);
  return protection && position ? { pairIndex: position.position.pairIndex, record: null, orders: [], protections: [protection] } : null;
}

/** The level to remove from its position when the order is canceled; null for an order that is no level, or does not rest. */
export function levelTarget({ order }: KnownOrder): Target['protections'][number] | null {
  const kind = levelOf(order);
  const { tradeIndex, price, status } = order;
  return kind === null || tradeIndex === null || status !== 'open' ? null : { tradeIndex, kind, price };
}

/** Whether an order is about to set this level. */
export async function isAwaited(
  { store }: StoreOf,
  { definition }: DefinitionOf,
  { trader }: TraderOf,
  { tradeIndex, kind }: Pick<Protection, 'tradeIndex' | 'kind'>,
): Promise<boolean> {
  const awaited = await store.exchange.awaited(definition.slug, trader);
  return awaited.some(
    ({ order, legs }) => askedLevel(order).kind === kind && legs.some((leg) => leg.role === 'protect' && leg.tradeIndex === tradeIndex),
  );
}

/** Whether the order is a TP/SL of this trade, or one that came with an opening. */
export const isOfLevel = ({ parentOrder, legs }: ExchangeRecord, tradeIndex: number): boolean =>
  parentOrder != null || legs.some((leg) => leg.role === 'protect' && leg.tradeIndex === tradeIndex);

/** Where a TP/SL that came with an opening is now. */
export type ChildPlace =
  /** Its parent is not on chain yet. */
  | { readonly kind: 'waiting'; readonly parent: KnownOrder }
  /** Its parent rests with it. */
  | { readonly kind: 'resting'; readonly parent: KnownOrder; readonly level: Protection }
  /** The position that its parent opened has it. */
  | { readonly kind: 'position'; readonly level: Protection }
  /** It was removed or changed, or its parent or position is gone. */
  | { readonly kind: 'gone'; readonly parent: KnownOrder | null };

/** Assigns a child its id when it is found for the first time. */
export async function childPlace(
  { store }: Pick<Gateway, 'store'>,
  { definition: { slug } }: Pick<Venue, 'definition'>,
  trader: Address,
  record: ExchangeRecord,
): Promise<ChildPlace> {
  const parent = record.parentOrder == null ? null : await store.orders.find(slug, trader, record.parentOrder);
  if (parent === null) return { kind: 'gone', parent };
  const { kind } = askedLevel(record.order);
  const { status, fill } = parent.order;
  if (status === 'prepared' || status === 'pending') return { kind: 'waiting', parent };
  const isHeld = async (level: Protection): Promise<boolean> => {
    if (level.price === 0n) return false;
    const [known] = await store.facade.protections.identify(slug, trader, [level], record.createdAt);
    return known?.id === record.oid;
  };
  if (status === 'open' && parent.orderKey !== null) {
    const level = { tradeIndex: indexOf(parent.orderKey), kind, price: parent.order[kind] };
    return (await isHeld(level)) ? { kind: 'resting', parent, level } : { kind: 'gone', parent };
  }
  if (status !== 'filled' || fill === null) return { kind: 'gone', parent };
  const { tradeIndex } = fill;
  const position = (await store.account.openPositions(slug, trader)).find((open) => open.tradeIndex === tradeIndex)?.position;
  // For a closed position the id depends on its last levels.
  const last = position ?? (await store.facade.history.lastExecutions(slug, trader, [tradeIndex])).get(tradeIndex)?.executed.terms;
  const level = { tradeIndex, kind, price: last?.[kind] ?? 0n };
  return (await isHeld(level)) && position ? { kind: 'position', level } : { kind: 'gone', parent };
}

type Level = Pick<Protection, 'kind' | 'price'>;

/** The level that a bot's order sets on its trades: a limit order against a position is its take profit. */
export const askedLevel = ({ style, limit }: ExchangeOrder): Level =>
  style.kind === 'trigger' ? { kind: style.tpsl, price: style.trigger } : { kind: 'tp', price: limit };

/** The price at which the contract stores a level: it clamps a stop loss that is too far away. A dropped one keeps the requested price. */
export function keptPrice(config: MarketConfig, position: PositionState, { kind, price }: Level): bigint {
  const view = kind === 'sl' ? marketView(config, position) : null;
  const kept = view && storedStopLoss(view, { ...position, sl: price, price: position.openPrice });
  return kept === null || kept === 0n ? price : kept;
}
