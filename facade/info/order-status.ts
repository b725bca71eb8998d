import { levelOf } from '../../core/domain/order-machine.js';
import { isSettled, type Order, type OrderStatus } from '../../core/domain/order.js';
import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { PastProtection } from '../../core/ports/stores/protections.js';
import { childPlace, type ChildPlace } from '../trade/plan/find-target.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { recordStatus, withCancelWords } from './bot-order-status.js';
import { endOf, levelStatuses, type NumberedLevel } from './level-status.js';
import { fillsOf, findExcess, sizeOfFills, withExcess, type OrderFills } from './order-fills.js';
import { isTrade, showOrder, showRecord, statusOf, type OrderWithStatus, type AccountContext } from './order-shapes.js';

function withStatus({ venue, universe }: AccountContext, seen: SeenOrder, fills: OrderFills): OrderWithStatus | null {
  const asset = universe.assets[seen.order.pairIndex];
  if (!asset || !isTrade(seen.order)) return null;
  const filled = sizeOfFills(fills.of(seen.id));
  return {
    order: showOrder(venue.feed.config(), asset, seen, { filled }),
    status: statusOf(seen.order),
    statusTimestamp: seen.order.updatedAt,
  };
}

/** Newest first; several orders of ours that are one of the bot's appear as one. */
export async function orderHistory(account: AccountContext, limit: number): Promise<OrderWithStatus[]> {
  const { gateway, venue, trader } = account;
  const { slug } = venue.definition;
  const seen = await gateway.store.facade.history.orders(slug, trader, limit);
  const relayed = seen.filter(({ isRelayed }) => isRelayed).map(({ id }) => id);
  const records = await gateway.store.exchange.ofOrders(slug, relayed);
  const groups = new Map<bigint, SeenOrder[]>();
  for (const order of seen) {
    const key = records.get(order.id)?.oid ?? order.id;
    groups.set(key, [...(groups.get(key) ?? []), order]);
  }
  const [ends, fills] = await Promise.all([endsOfLevels(account, seen), fillsOf(account, seen, true)]);
  const shown = [...groups.values()].flatMap((group) => {
    const record = group[0] && records.get(group[0].id);
    return (
      record ? [recordStatus(account, record, group, fills)] : group.map((order) => ends(withStatus(account, order, fills), order))
    ).filter((each) => each !== null);
  });
  const levels = await levelHistory(account, limit, new Set(seen.map(({ id }) => id)));
  const newestFirst = [...shown, ...levels].sort((a, b) => b.order.oid - a.order.oid).slice(0, limit);
  return withExcess(await withCancelWords(account, newestFirst), fills.excess).slice(0, limit);
}

/** TP/SL that are no orders of ours: those of bots, and those that were set on chain and listed once. */
async function levelHistory(account: AccountContext, limit: number, ofOrders: ReadonlySet<bigint>): Promise<OrderWithStatus[]> {
  const { gateway, venue, trader } = account;
  const { exchange, facade } = gateway.store;
  const { slug } = venue.definition;
  const awaited = new Set((await exchange.awaited(slug, trader)).map(({ oid }) => oid));
  const records = new Map((await exchange.levels(slug, trader, limit)).map((record) => [record.oid, record]));
  const guards = await facade.protections.list(slug, trader, limit);
  const byOrder = new Map<bigint, PastProtection[]>();
  for (const guard of guards) if (!ofOrders.has(guard.id)) byOrder.set(guard.id, [...(byOrder.get(guard.id) ?? []), guard]);
  const numbered = [...byOrder].map(([id, own]): NumberedLevel => ({
    guards: own,
    record: records.get(id) ?? null,
    isAwaited: awaited.has(id),
  }));
  const known = new Set([...guards.map(({ id }) => id), ...ofOrders]);
  const others = [...records.values()].filter(({ oid }) => !known.has(oid));
  const parents = await facade.history.ordersOf(
    slug,
    trader,
    others.flatMap(({ parentOrder }) => parentOrder ?? []),
  );
  const unnumbered = others.map((record) => {
    if (record.parentOrder == null) return setAgain(account, record, awaited.has(record.oid));
    const parent = parents.find(({ id }) => id === record.parentOrder)?.order ?? null;
    const isOpen = awaited.has(record.oid) || (parent !== null && !isSettled(parent.status));
    return childStatus(account, record, { isOpen, parent });
  });
  return [...(await levelStatuses(account, numbered)), ...unnumbered].filter((each) => each !== null);
}

/** By id, or by the client's own id; null if the trader has no such order. */
export async function findOrder(account: AccountContext, oid: number | string): Promise<OrderWithStatus | null> {
  const { gateway, venue, trader } = account;
  const { exchange, facade } = gateway.store;
  const { slug } = venue.definition;
  const record = typeof oid === 'string' ? await exchange.findByCloid(slug, trader, oid) : await exchange.find(slug, trader, BigInt(oid));
  if (record !== null) return withCancelStatus(account, await findRecorded(account, record));
  if (typeof oid === 'string') return null;
  const seen = await facade.history.order(slug, trader, BigInt(oid));
  if (seen !== null) return (await endsOfLevels(account, [seen]))(withStatus(account, seen, await fillsOf(account, [seen])), seen);
  const guards = await facade.protections.everOf(slug, trader, BigInt(oid));
  if (guards.length === 0) return findExcess(account, BigInt(oid));
  return (await levelStatuses(account, [{ guards, record: null, isAwaited: false }]))[0] ?? null;
}

type Ending = (shown: OrderWithStatus | null, seen: SeenOrder) => OrderWithStatus | null;

/**
 * A level set by an order of its own that stood until its position ended gets the same final status as any level. One that a bot's order
 * set again ended then.
 */
async function endsOfLevels({ gateway, venue, trader }: AccountContext, seen: readonly SeenOrder[]): Promise<Ending> {
  const trades = seen.flatMap(({ order }) => (isTakenLevel(order) && order.tradeIndex !== null ? [order.tradeIndex] : []));
  const levels = seen.filter(({ order }) => levelOf(order) !== null && HAS_LEVEL.has(order.status)).map(({ id }) => id);
  const { history, protections } = gateway.store.facade;
  const [last, successors] = await Promise.all([
    history.lastExecutions(venue.definition.slug, trader, [...new Set(trades)]),
    protections.successors(venue.definition.slug, trader, levels),
  ]);
  return (shown, { id, order }) => {
    const successor = successors.get(id);
    if (shown !== null && successor !== undefined)
      return { order: { ...shown.order, sz: shown.order.origSz }, status: 'canceled', statusTimestamp: successor.since };
    const kind = levelOf(order);
    const executed = last.get(order.tradeIndex ?? -1)?.executed;
    if (shown === null || kind === null || !isTakenLevel(order) || executed?.after !== null) return shown;
    // A level that ended earlier is canceled, even if another one stood at the same price at the end.
    const stood = executed.terms[kind] === order.price && order.updatedAt >= executed.place.at && executed.action !== kind;
    return stood ? { ...shown, status: endOf(kind, executed.action) } : shown;
  };
}

const HAS_LEVEL: ReadonlySet<OrderStatus> = new Set(['open', 'filled']);
const isTakenLevel = (order: Order): boolean => levelOf(order) !== null && order.status === 'canceled';

async function withCancelStatus(account: AccountContext, shown: OrderWithStatus | null): Promise<OrderWithStatus | null> {
  return shown && ((await withCancelWords(account, [shown]))[0] ?? shown);
}

async function findRecorded(account: AccountContext, record: ExchangeRecord): Promise<OrderWithStatus | null> {
  const { gateway, venue, trader } = account;
  const { history, protections } = gateway.store.facade;
  const { slug } = venue.definition;
  const ids = record.legs.flatMap(({ orderId }) => orderId ?? []);
  if (ids.length > 0) {
    const orders = await history.ordersOf(slug, trader, ids);
    return recordStatus(account, record, orders, await fillsOf(account, orders));
  }
  // Read before the current levels: a level that reaches the chain in between is found in at least one of the two.
  const isAwaited = (await gateway.store.exchange.awaited(slug, trader)).some(({ oid }) => oid === record.oid);
  const place = record.parentOrder == null ? null : await childPlace(gateway, venue, trader, record);
  const guards = await protections.everOf(slug, trader, record.oid);
  const level = guards.length === 0 ? null : ((await levelStatuses(account, [{ guards, record, isAwaited }]))[0] ?? null);
  if (level?.status === 'open') return level;
  if (place !== null)
    return level ?? childStatus(account, record, { isOpen: isAwaited || place.kind === 'waiting', parent: parentOf(place) });
  // The position already had this level by an order of its own, whose id the bot was given.
  const seen = await history.order(slug, trader, record.oid);
  if (seen === null) return level ?? setAgain(account, record, isAwaited);
  const shown = (await endsOfLevels(account, [seen]))(withStatus(account, seen, await fillsOf(account, [seen])), seen);
  return shown && { ...shown, order: { ...shown.order, cloid: record.cloid } };
}

const parentOf = (place: ChildPlace): Order | null => ('parent' in place ? (place.parent?.order ?? null) : null);

/** A child that no trade and no resting order ever had: its parent is pending or failed. */
function childStatus(
  { universe }: AccountContext,
  record: ExchangeRecord,
  { isOpen, parent }: { readonly isOpen: boolean; readonly parent: Order | null },
): OrderWithStatus | null {
  const asset = universe.assets[record.pairIndex];
  const left = record.legs.reduce((sum, { sizeBase }) => sum + sizeBase, 0n);
  const statusTimestamp = isOpen ? record.createdAt : (parent?.updatedAt ?? record.createdAt);
  return asset ? { order: showRecord(asset, record, { left }), status: isOpen ? 'open' : 'canceled', statusTimestamp } : null;
}

/** The level was or will be set again under another id. */
function setAgain({ universe }: AccountContext, record: ExchangeRecord, isAwaited: boolean): OrderWithStatus | null {
  const asset = universe.assets[record.pairIndex];
  const left = record.legs.reduce((sum, { sizeBase }) => sum + sizeBase, 0n);
  const status = isAwaited ? 'open' : 'canceled';
  return asset ? { order: showRecord(asset, record, { left }), status, statusTimestamp: record.createdAt } : null;
}
