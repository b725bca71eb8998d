import { requireDelegate } from '../../core/access/agent-status.js';
import { relayOrders } from '../../core/relay/relay-orders.js';
import type { ExchangeItem, ItemOutcome } from '../../core/relay/plan-items.js';
import type { TradeActionOf, WireOrder } from '../actions/trade.js';
import { refused, statuses, type ExchangeReply, type ItemStatus } from '../reply.js';
import { attachedLevels } from './attached-levels.js';
import { itemError, statusOf, throwIfAll } from './item-status.js';
import { ITEM_TEXTS } from './item-texts.js';
import { readOrder, type ReadOrder } from './read-order.js';
import type { TradeWork } from './trade-handlers.js';

type OrderAction = TradeActionOf<'order'>;

/** `order`: a batch, or a parent with its take profit and stop loss, or those of the position. */
export async function placeOrders(work: TradeWork, action: OrderAction): Promise<ExchangeReply> {
  const { orders, grouping } = action;
  const read = orders.map((wire, at) => readOrder(work.universe.assets[wire.a], wire, at));
  if (grouping === 'normalTpsl') return withChildren(work, orders, read);
  if (grouping === 'positionTpsl' && !orders.some(isTrigger)) return withoutTrigger(work);
  const placed = await place(work, orders, read);
  const isProtection = grouping === 'positionTpsl';
  return statuses('order', isProtection ? placed.map((status) => (isError(status) ? status : 'waitingForTrigger')) : placed);
}

async function withoutTrigger({ venue, caller }: TradeWork): Promise<ExchangeReply> {
  await requireDelegate(venue, caller);
  return refused('Unexpected number of trigger orders');
}

const isTrigger = ({ t }: WireOrder): boolean => 'trigger' in t;
const isError = (status: ItemStatus): boolean => typeof status === 'object' && 'error' in status;

/** What can be read is relayed; what cannot has its sentence. One status per order, in order. */
async function place(work: TradeWork, wires: readonly WireOrder[], read: readonly ReadOrder[]): Promise<ItemStatus[]> {
  const { gateway, venue, caller, action, facts, universe, holdMs } = work;
  const taken = await takenCloids(work, read);
  const isFree = ({ cloid }: ExchangeItem): boolean => cloid === null || !taken.has(cloid);
  const items = read.flatMap((each) => (each.kind === 'order' && isFree(each.item) ? [each.item] : []));
  const outcomes = await relayOrders(gateway, venue, caller, action, { items, holdMs, facts });
  throwIfAll(outcomes);
  // What was tried on the chain was tried as the delegate. Where nothing was, that none of it can be sent is told before what else is wrong.
  if (!outcomes.some(isSent)) await requireDelegate(venue, caller);
  return read.map((each, at): ItemStatus => {
    const asset = wires[at]?.a ?? 0;
    if (each.kind === 'error') return itemError(each.text, asset);
    const outcome = outcomes[items.indexOf(each.item)];
    const row = universe.assets[asset];
    if (!outcome || !row) return itemError(ITEM_TEXTS.cloidTaken, asset);
    return statusOf(venue, row, outcome, each.item.cloid);
  });
}

const isSent = ({ kind }: ItemOutcome): boolean => kind === 'filled' || kind === 'resting' || kind === 'rejected';

/** A bot that repeats an order after a time-out must not get it twice: a name of something that still lives is taken. */
async function takenCloids({ gateway, venue, caller }: TradeWork, read: readonly ReadOrder[]): Promise<ReadonlySet<string>> {
  const asked = read.flatMap((each) => (each.kind === 'order' && each.item.cloid !== null ? [each.item.cloid] : []));
  const twice = asked.filter((cloid, at) => asked.indexOf(cloid) !== at);
  if (asked.length === 0) return new Set();
  return new Set([...(await gateway.store.exchange.liveCloids(venue.definition.slug, caller.trader, asked)), ...twice]);
}

/** The first order is the parent; the triggers after it become take profit and stop loss of what it opens. */
async function withChildren(work: TradeWork, wires: readonly WireOrder[], read: readonly ReadOrder[]): Promise<ExchangeReply> {
  const [parent, ...others] = read;
  const children = others.map((child) => asChild(child, wires[0]));
  const triggers = children.flatMap((child) => (child.kind === 'order' && child.item.order.style.kind === 'trigger' ? [child.item] : []));
  if (!parent || triggers.length === 0) return withoutTrigger(work);
  const levels = attachedLevels(triggers.map(({ order }) => order));
  const guarded: ReadOrder = parent.kind === 'error' ? parent : { kind: 'order', item: { ...parent.item, ...levels } };
  const [status = itemError(ITEM_TEXTS.invalidAsset, 0)] = await place(work, wires.slice(0, 1), [guarded]);
  const waiting: ItemStatus = isError(status)
    ? status
    : typeof status === 'object' && 'filled' in status
      ? 'waitingForTrigger'
      : 'waitingForFill';
  const ofChild = (child: ReadOrder, at: number): ItemStatus =>
    child.kind === 'error' ? itemError(child.text, wires[at + 1]?.a ?? 0) : waiting;
  return statuses('order', [status, ...children.map(ofChild)]);
}

/** A level guards what its parent opens: in the same market, on the other side. */
function asChild(child: ReadOrder, parent: WireOrder | undefined): ReadOrder {
  if (child.kind === 'error') return child;
  const { pairIndex, order } = child.item;
  if (pairIndex !== parent?.a) return { kind: 'error', text: ITEM_TEXTS.invalidAsset };
  return order.isBuy === parent.b ? { kind: 'error', text: ITEM_TEXTS.reduceOnly } : child;
}
