import { levelOf } from '../../core/domain/order-machine.js';
import type { Order, OrderStatus } from '../../core/domain/order.js';
import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { Trigger } from '../../core/ports/stores/triggers.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { recordStatus, withCancelWords } from './bot-order-status.js';
import { endOf, triggerStatuses } from './trigger-status.js';
import { fillsOf, findExcess, sizeOfFills, withExcess, type OrderFills } from './order-fills.js';
import { openOrders } from './open-orders.js';
import { isTrade, showOrder, statusOf, type OrderWithStatus, type AccountContext } from './order-shapes.js';

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
  const triggers = await triggerHistory(account, limit, new Set(seen.map(({ id }) => id)));
  const newestFirst = [...shown, ...triggers].sort((a, b) => b.order.oid - a.order.oid).slice(0, limit);
  return withExcess(await withCancelWords(account, newestFirst), fills.excess).slice(0, limit);
}

/** Triggers that are no orders of ours: those of bots, and those that were set on chain. */
async function triggerHistory(account: AccountContext, limit: number, ofOrders: ReadonlySet<bigint>): Promise<OrderWithStatus[]> {
  const { gateway, venue, trader } = account;
  const { exchange, facade } = gateway.store;
  const { slug } = venue.definition;
  const byOwner = new Map<bigint, Trigger[]>();
  for (const trigger of await facade.triggers.newest(slug, trader, limit))
    if (!ofOrders.has(trigger.owner)) byOwner.set(trigger.owner, [...(byOwner.get(trigger.owner) ?? []), trigger]);
  const records = await exchange.ofOids(slug, trader, [...byOwner.keys()]);
  const own = [...byOwner].filter(([oid, triggers]) => isListed(triggers, records.get(oid) ?? null));
  const shown = await triggerStatuses(
    account,
    own.map(([oid, triggers]) => ({ triggers, record: records.get(oid) ?? null })),
  );
  return shown.filter((each) => each !== null);
}

/** A native order, and one that also opens, is listed as an order; what set a trigger elsewhere and never stood is nothing. */
const isListed = (triggers: readonly Trigger[], record: ExchangeRecord | null): boolean =>
  record === null ? triggers.some(({ origin, phase }) => origin === 'other' && phase !== 'failed') : record.manner === 'protection';

/** By id, or by the client's own id; null if the trader has no such order. */
export async function findOrder(account: AccountContext, oid: number | string): Promise<OrderWithStatus | null> {
  const { gateway, venue, trader } = account;
  const { exchange, facade } = gateway.store;
  const { slug } = venue.definition;
  const record =
    typeof oid === 'string' ? ((await exchange.ofCloid(slug, trader, oid, 1))[0] ?? null) : await exchange.find(slug, trader, BigInt(oid));
  if (record !== null) return withCancelStatus(account, await findRecorded(account, record));
  if (typeof oid === 'string') return null;
  const seen = await facade.history.order(slug, trader, BigInt(oid));
  if (seen !== null) return (await endsOfLevels(account, [seen]))(withStatus(account, seen, await fillsOf(account, [seen])), seen);
  const triggers = await facade.triggers.ofOwners(slug, trader, [BigInt(oid)]);
  if (triggers.length === 0) return findExcess(account, BigInt(oid));
  return (await triggerStatuses(account, [{ triggers, record: null }]))[0] ?? null;
}

type Ending = (shown: OrderWithStatus | null, seen: SeenOrder) => OrderWithStatus | null;

/**
 * A level set by an order of its own that stood until its position ended gets the same final status as any level. One that a bot's order
 * set again ended then.
 */
async function endsOfLevels({ gateway, venue, trader }: AccountContext, seen: readonly SeenOrder[]): Promise<Ending> {
  const trades = seen.flatMap(({ order }) => (isTakenLevel(order) && order.tradeIndex !== null ? [order.tradeIndex] : []));
  const levels = seen.filter(({ order }) => levelOf(order) !== null && HAS_LEVEL.has(order.status)).map(({ id }) => id);
  const { history } = gateway.store.facade;
  const [last, successors] = await Promise.all([
    history.lastExecutions(venue.definition.slug, trader, [...new Set(trades)]),
    takenOver({ gateway, venue, trader }, levels),
  ]);
  return (shown, { id, order }) => {
    const successor = successors.get(id);
    if (shown !== null && successor !== undefined)
      return { order: { ...shown.order, sz: shown.order.origSz }, status: 'canceled', statusTimestamp: successor };
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
  const { history, triggers } = gateway.store.facade;
  const { slug } = venue.definition;
  const ids = record.legs.flatMap(({ orderId }) => orderId ?? []);
  if (ids.length === 0) {
    const own = await triggers.ofOwners(slug, trader, [record.oid]);
    return (await triggerStatuses(account, [{ triggers: own, record }]))[0] ?? null;
  }
  const orders = await history.ordersOf(slug, trader, ids);
  const shown = recordStatus(account, record, orders, await fillsOf(account, orders));
  // A limit order that closes trades and opens is open as long as one of its take profits stands, whatever became of the opening.
  const mayStand = shown?.status !== 'open' && record.legs.some(({ role }) => role === 'protect');
  const standing = mayStand ? (await openOrders(account)).find(({ oid }) => oid === Number(record.oid)) : undefined;
  return standing ? { order: standing, status: 'open', statusTimestamp: record.createdAt } : shown;
}

/** Of native orders that are triggers those that a bot's order replaced at the same price, with the time at which it did: their own events do not say so. */
export async function takenOver(
  { gateway, venue, trader }: Pick<AccountContext, 'gateway' | 'venue' | 'trader'>,
  ids: readonly bigint[],
): Promise<ReadonlyMap<bigint, number>> {
  const own = await gateway.store.facade.triggers.ofOwners(venue.definition.slug, trader, ids);
  return new Map(
    own.flatMap(({ owner, origin, end }) => (origin === 'native' && end?.cause === 'replaced' ? [[owner, end.at] as const] : [])),
  );
}
