import { baseSize, collateralOf } from '../../core/account/describe-order.js';
import { toUnits } from '../../core/domain/decimal.js';
import type { Executed } from '../../core/domain/chain-event.js';
import { levelOf } from '../../core/domain/level.js';
import type { Order } from '../../core/domain/order.js';
import { E8 } from '../../core/domain/pricing/units.js';
import type { SeenOrder } from '../../core/facade/history-store.js';
import type { KnownProtection } from '../../core/facade/protection-store.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/ports.js';
import type { ExchangeRecord } from '../../core/relay/exchange-store.js';
import { BASE_SCALE, ZERO_TEXT } from '../format.js';
import type { Universe } from '../universe.js';
import { recordStatus } from './bot-order-status.js';
import { withCancelWords } from './cancel-words.js';
import { firstHit, positionBase } from './open-orders.js';
import { fillsOf, findExcess, sizeOfFills, withExcess, type OrderFills } from './order-fills.js';
import { isTrade, showOrder, showProtection, showRecord, sizeOf, statusOf } from './order-shapes.js';
import type { FrontendOrder, HlStatus, Protected } from './order-shapes.js';

export interface OrderWithStatus {
  readonly order: FrontendOrder;
  readonly status: HlStatus;
  readonly statusTimestamp: number;
}

export interface Whose {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly universe: Universe;
  readonly trader: Address;
}

function withStatus({ venue, universe }: Whose, seen: SeenOrder, fills: OrderFills): OrderWithStatus | null {
  const asset = universe.assets[seen.order.pairIndex];
  if (!asset || !isTrade(seen.order)) return null;
  const filled = sizeOfFills(fills.of(seen.id));
  return {
    order: showOrder(venue.feed.config(), asset, seen, { filled }),
    status: statusOf(seen.order),
    statusTimestamp: seen.order.updatedAt,
  };
}

/** Newest first; orders of ours that are one of the bot's appear as that one. */
export async function orderHistory(whose: Whose, limit: number): Promise<OrderWithStatus[]> {
  const { gateway, venue, trader } = whose;
  const { slug } = venue.definition;
  const seen = await gateway.store.facade.history.orders(slug, trader, limit);
  const relayed = seen.filter(({ isRelayed }) => isRelayed).map(({ id }) => id);
  const records = await gateway.store.exchange.ofOrders(slug, relayed);
  const groups = new Map<bigint, SeenOrder[]>();
  for (const order of seen) {
    const key = records.get(order.id)?.oid ?? order.id;
    groups.set(key, [...(groups.get(key) ?? []), order]);
  }
  const [ends, fills] = await Promise.all([endsOfLevels(whose, seen), fillsOf(whose, seen, true)]);
  const shown = [...groups.values()].flatMap((group) => {
    const record = group[0] && records.get(group[0].id);
    return (
      record ? [recordStatus(whose, record, group, fills)] : group.map((order) => ends(withStatus(whose, order, fills), order))
    ).filter((each) => each !== null);
  });
  return withExcess(await withCancelWords(whose, shown), fills.excess);
}

/** By number, or by the client's own id; null where the trader has no such order. */
export async function findOrder(whose: Whose, oid: number | string): Promise<OrderWithStatus | null> {
  const { gateway, venue, trader } = whose;
  const { exchange, facade } = gateway.store;
  const { slug } = venue.definition;
  const record = typeof oid === 'string' ? await exchange.findByCloid(slug, trader, oid) : await exchange.find(slug, trader, BigInt(oid));
  if (record !== null) return tellCancels(whose, await findRecorded(whose, record));
  if (typeof oid === 'string') return null;
  const seen = await facade.history.order(slug, trader, BigInt(oid));
  if (seen !== null) return (await endsOfLevels(whose, [seen]))(withStatus(whose, seen, await fillsOf(whose, [seen])), seen);
  const guard = await facade.protections.find(slug, trader, BigInt(oid));
  return guard ? protectionStatus(whose, guard, { record: null, isAwaited: false }) : findExcess(whose, BigInt(oid));
}

type Ending = (shown: OrderWithStatus | null, seen: SeenOrder) => OrderWithStatus | null;

/** A level that was set by an order of its own and stood as long as its position ends as any level does. */
async function endsOfLevels({ gateway, venue, trader }: Whose, seen: readonly SeenOrder[]): Promise<Ending> {
  const trades = seen.flatMap(({ order }) => (isTakenLevel(order) && order.tradeIndex !== null ? [order.tradeIndex] : []));
  const last = await gateway.store.facade.history.lastExecutions(venue.definition.slug, trader, [...new Set(trades)]);
  return (shown, { order }) => {
    const kind = levelOf(order);
    const executed = last.get(order.tradeIndex ?? -1);
    if (shown === null || kind === null || !isTakenLevel(order) || executed?.after !== null) return shown;
    // One that went before is just canceled, also where another stood at the same price in the end.
    const stood = executed.terms[kind] === order.price && order.updatedAt >= executed.place.at && executed.action !== kind;
    return stood ? { ...shown, status: endOf(kind, executed.action) } : shown;
  };
}

const isTakenLevel = (order: Order): boolean => levelOf(order) !== null && order.status === 'canceled';

async function tellCancels(whose: Whose, shown: OrderWithStatus | null): Promise<OrderWithStatus | null> {
  return shown && ((await withCancelWords(whose, [shown]))[0] ?? shown);
}

async function findRecorded(whose: Whose, record: ExchangeRecord): Promise<OrderWithStatus | null> {
  const { gateway, venue, trader } = whose;
  const { history, protections } = gateway.store.facade;
  const { slug } = venue.definition;
  const ids = record.legs.flatMap(({ orderId }) => orderId ?? []);
  if (ids.length > 0) {
    const orders = await history.ordersOf(slug, trader, ids);
    return recordStatus(whose, record, orders, await fillsOf(whose, orders));
  }
  // Asked before what stands: a level that comes true in between is found on one side at least.
  const isAwaited = (await gateway.store.exchange.awaited(slug, trader)).some(({ oid }) => oid === record.oid);
  const guard = await protections.find(slug, trader, record.oid);
  if (guard !== null) return protectionStatus(whose, guard, { record, isAwaited });
  // The position had that very level by an order of its own: the bot was given its number.
  const seen = await history.order(slug, trader, record.oid);
  if (seen === null) return setAgain(whose, record, isAwaited);
  const shown = (await endsOfLevels(whose, [seen]))(withStatus(whose, seen, await fillsOf(whose, [seen])), seen);
  return shown && { ...shown, order: { ...shown.order, cloid: record.cloid } };
}

/** What stands there now was set again, or will be, under a number of its own. */
function setAgain({ universe }: Whose, record: ExchangeRecord, isAwaited: boolean): OrderWithStatus | null {
  const asset = universe.assets[record.pairIndex];
  const left = record.legs.reduce((sum, { sizeBase }) => sum + sizeBase, 0n);
  const status = isAwaited ? 'open' : 'canceled';
  return asset ? { order: showRecord(asset, record, { left }), status, statusTimestamp: record.createdAt } : null;
}

interface Standing {
  readonly pairIndex: number;
  readonly held: Protected;
  readonly status: HlStatus;
  readonly at: number;
  /** Where it stands, if that is not where its first trade has it. */
  readonly price?: bigint | undefined;
}

/** A take-profit or stop-loss is open as long as its trade has that very price, or is yet to get it. */
async function protectionStatus(
  whose: Whose,
  guard: KnownProtection,
  { record, isAwaited }: { readonly record: ExchangeRecord | null; readonly isAwaited: boolean },
): Promise<OrderWithStatus | null> {
  const standing =
    (await onPosition(whose, guard, { record, isAwaited })) ?? (await onClosed(whose, guard)) ?? (await onOrder(whose, guard));
  const asset = standing && whose.universe.assets[standing.pairIndex];
  if (!standing || !asset) return null;
  const { held, status, at } = standing;
  const order = record
    ? showRecord(asset, record, { left: held.base, held: isAwaited ? undefined : (standing.price ?? guard.price) })
    : showProtection(asset, guard, held);
  return { order: status === 'filled' ? { ...order, sz: ZERO_TEXT, triggerCondition: 'Triggered' } : order, status, statusTimestamp: at };
}

async function onPosition(
  { gateway, venue, trader }: Whose,
  { tradeIndex, kind, price, seenAt }: KnownProtection,
  { record, isAwaited }: { readonly record: ExchangeRecord | null; readonly isAwaited: boolean },
): Promise<Standing | null> {
  const positions = await gateway.store.account.openPositions(venue.definition.slug, trader);
  const position = positions.find((open) => open.tradeIndex === tradeIndex)?.position;
  if (!position) return null;
  const held = { base: positionBase(venue.feed.config(), position), long: position.long };
  const isOpen = isAwaited || position[kind] === price;
  const others = positions.filter((open) => record?.legs.some((leg) => leg.tradeIndex === open.tradeIndex));
  const levels = others.map((open) => ({ kind, price: open.position[kind] })).filter((level) => level.price > 0n);
  return {
    pairIndex: position.pairIndex,
    held,
    status: isOpen ? 'open' : 'canceled',
    at: seenAt,
    price: record !== null && isOpen ? firstHit(record, levels) : undefined,
  };
}

async function onClosed({ gateway, venue, trader }: Whose, { tradeIndex, kind, price }: KnownProtection): Promise<Standing | null> {
  const last = (await gateway.store.facade.history.lastExecutions(venue.definition.slug, trader, [tradeIndex])).get(tradeIndex);
  if (!last) return null;
  const { terms, action, place, sizeToken, collateralPriceUsd, entryPriceUsd } = last;
  const priceUsd = entryPriceUsd ?? collateralPriceUsd ?? collateralOf(venue.feed.config(), terms.collateralIndex)?.priceUsd ?? E8;
  const held = { base: toUnits(baseSize(sizeToken ?? 0n, priceUsd), BASE_SCALE, 'down'), long: terms.long };
  // One that was moved or taken away before the end is just canceled.
  return { pairIndex: terms.pairIndex, held, status: terms[kind] === price ? endOf(kind, action) : 'canceled', at: place.at };
}

/** What becomes of a level when its position ends. */
function endOf(kind: KnownProtection['kind'], action: Executed['action']): HlStatus {
  if (action === kind) return 'filled';
  if (action === 'tp' || action === 'sl') return 'siblingFilledCanceled';
  return action === 'liquidation' ? 'liquidatedCanceled' : 'reduceOnlyCanceled';
}

async function onOrder({ gateway, venue, trader }: Whose, { tradeIndex, kind, price }: KnownProtection): Promise<Standing | null> {
  const seen = await gateway.store.facade.history.orderAt(venue.definition.slug, trader, `resting:${tradeIndex}`);
  if (seen === null) return null;
  const { order } = seen;
  const isSet = order.status === 'open' && order[kind] === price;
  const held = { base: sizeOf(venue.feed.config(), seen), long: order.long };
  return { pairIndex: order.pairIndex, held, status: isSet ? 'open' : 'canceled', at: order.updatedAt };
}
