import { requireDelegate } from '../../core/access/agent-status.js';
import { relayOrders } from './send/relay-orders.js';
import type { ExchangeItem, ItemOutcome } from './plan/plan-items.js';
import { ordersOf, type TradeActionOf, type WireOrder } from '../actions/trade.js';
import { refused, statuses, type ExchangeReply, type ItemStatus } from '../reply.js';
import { itemError, readOutcomes, statusOf, throwIfAll } from './item-status.js';
import { ITEM_TEXTS } from './item-texts.js';
import { CLOID_TAKEN } from '../../core/trading/place-order.js';
import { readOrder, type ReadOrder } from './read-order.js';
import type { TradeWork } from './trade-work.js';
import type { ExchangeOrder } from '../../core/domain/relay/exchange-order.js';
import { MAX_SLIPPAGE_P, wantedClosingSlippage } from '../../core/domain/relay/translate-order.js';

type OrderAction = TradeActionOf<'order'>;

/** `order`: a batch, or a parent with its take profit and stop loss, or those of the position. */
export async function placeOrders(work: TradeWork, action: OrderAction): Promise<ExchangeReply> {
  const { grouping } = action;
  const orders = ordersOf(action);
  const grouped = typeof grouping === 'string' ? grouping : 'na';
  const read = orders.map((wire, at) => readOrder(work.universe.assets[wire.a], wire, at, grouped));
  if (grouping === 'normalTpsl') return withChildren(work, orders, read);
  const isProtection = grouping === 'positionTpsl';
  if (isProtection && (orders.length === 0 || !orders.every(isTrigger))) return withoutTrigger(work);
  const placed = (await place(work, orders, read)).map(({ status }) => status);
  return statuses('order', isProtection ? placed.map((status) => (isError(status) ? status : 'waitingForTrigger')) : placed);
}

async function withoutTrigger({ venue, caller }: TradeWork): Promise<ExchangeReply> {
  await requireDelegate(venue, caller);
  return refused('Unexpected number of trigger orders');
}

const isTrigger = ({ t }: WireOrder): boolean => 'trigger' in t;
const isError = (status: ItemStatus): boolean => typeof status === 'object' && 'error' in status;

interface Placed {
  readonly status: ItemStatus;
  /** Whether it opened, or may still open, a position. */
  readonly opens: boolean;
}

const without = (text: string, asset: number): Placed => ({ status: itemError(text, asset), opens: false });
const NOTHING = without(ITEM_TEXTS.invalidAsset, 0);

/** Relays valid orders and returns a text for invalid ones. One status per order, in order. */
async function place(work: TradeWork, wires: readonly WireOrder[], read: readonly ReadOrder[]): Promise<Placed[]> {
  const { gateway, venue, caller, action, facts, universe, holdMs } = work;
  const items = named(read, await takenCloids(work, read)).flatMap((each) => (each.kind === 'order' ? [each.item] : []));
  const outcomes = await relayOrders(gateway, venue, caller, action, { items, holdMs, facts });
  throwIfAll(outcomes);
  // Simulated orders were simulated as the delegate. If none was, a missing delegation is reported before other faults.
  if (!outcomes.some(isSent)) await requireDelegate(venue, caller);
  const fills = await readOutcomes(work, outcomes);
  return read.map((each, at): Placed => {
    const asset = wires[at]?.a ?? 0;
    if (each.kind === 'error') return without(each.text, asset);
    const outcome = outcomes[items.indexOf(each.item)];
    const row = universe.assets[asset];
    if (!outcome || !row) return without(CLOID_TAKEN, asset);
    return { status: statusOf(venue, row, outcome, each.item.cloid, fills), opens: opensBy(outcome) };
  });
}

function opensBy(outcome: ItemOutcome): boolean {
  if (outcome.kind === 'filled') return outcome.orders.some(({ action }) => action === 'open');
  return outcome.kind === 'resting' && outcome.mayOpen;
}

const isSent = ({ kind }: ItemOutcome): boolean => kind === 'filled' || kind === 'resting' || kind === 'rejected';

/** A bot that repeats an order after a time-out must not get it twice: a cloid of a live order is taken. */
async function takenCloids({ gateway, venue, caller }: TradeWork, read: readonly ReadOrder[]): Promise<ReadonlySet<string>> {
  const asked = read.flatMap((each) => (each.kind === 'order' && each.item.cloid !== null ? [each.item.cloid] : []));
  return asked.length === 0 ? new Set() : gateway.store.exchange.liveCloids(venue.definition.slug, caller.trader, asked);
}

/** The first order is the parent; the triggers after it become the TP/SL of what it opens. */
async function withChildren(work: TradeWork, wires: readonly WireOrder[], read: readonly ReadOrder[]): Promise<ExchangeReply> {
  const [wire, ...wiresBehind] = wires;
  const [parent, ...readBehind] = read;
  if (!wire || !parent || !wiresBehind.some(isTrigger)) return withoutTrigger(work);
  const [, ...children] = named([parent, ...asChildren(readBehind, wire)], await takenCloids(work, read));
  const levels = attachedLevels(children.flatMap((child) => (child.kind === 'order' ? [child.item.order] : [])));
  const [{ status, opens } = NOTHING] = await place(work, [wire], [guardedBy(levels, parent, wires, children)]);
  const waiting = (asset: number): ItemStatus => {
    if (isError(status)) return status;
    if (!opens) return itemError(ITEM_TEXTS.childOfClose, asset);
    return typeof status === 'object' && 'filled' in status ? 'waitingForTrigger' : 'waitingForFill';
  };
  const ofChild = (child: ReadOrder, at: number): ItemStatus => {
    const asset = wiresBehind[at]?.a ?? 0;
    return child.kind === 'error' ? itemError(child.text, asset) : waiting(asset);
  };
  return statuses('order', [status, ...children.map(ofChild)]);
}

/** An opening with a stop loss is placed together with it, or not at all. */
function guardedBy(
  levels: AttachedLevels,
  parent: ReadOrder,
  [wire, ...behind]: readonly WireOrder[],
  readBehind: readonly ReadOrder[],
): ReadOrder {
  if (parent.kind === 'error' || wire?.r) return parent;
  const asksForStop = behind.some(({ t }) => 'trigger' in t && t.trigger.tpsl === 'sl');
  const isGuarded = levels.sl !== 0n || (!asksForStop && levels.tp !== 0n);
  const children = readBehind.flatMap((child) => (child.kind === 'order' ? [child.item] : []));
  return isGuarded ? { kind: 'order', item: { ...parent.item, ...levels, children } } : { kind: 'error', text: ITEM_TEXTS.unguarded };
}

/** Refuses an order, or a child, whose cloid is that of a live order or of an earlier one of the same action. */
function named(read: readonly ReadOrder[], taken: ReadonlySet<string>): ReadOrder[] {
  const names = new Set(taken);
  return read.map((each) => {
    if (each.kind === 'error' || each.item.cloid === null) return each;
    if (names.has(each.item.cloid)) return { kind: 'error', text: CLOID_TAKEN };
    names.add(each.item.cloid);
    return each;
  });
}

/** The contract has one TP and one SL per trade: a child that cannot be one of them is refused, never dropped. */
function asChildren(children: readonly ReadOrder[], parent: WireOrder): ReadOrder[] {
  const given = new Set<'tp' | 'sl'>();
  return children.map((child) => {
    if (child.kind === 'error') return child;
    const text = whyNoChild(child.item, parent, given);
    if (text !== null) return { kind: 'error', text };
    if (child.item.order.style.kind === 'trigger') given.add(child.item.order.style.tpsl);
    return child;
  });
}

/** A level must be in its parent's market, on the opposite side, and for the whole size. */
function whyNoChild({ pairIndex, order: { isBuy, style }, wire }: ExchangeItem, parent: WireOrder, given: ReadonlySet<'tp' | 'sl'>) {
  if (pairIndex !== parent.a) return ITEM_TEXTS.invalidAsset;
  if (isBuy === parent.b) return ITEM_TEXTS.reduceOnly;
  if (style.kind !== 'trigger') return ITEM_TEXTS.childNoTrigger;
  if (parent.r) return ITEM_TEXTS.childOfClose;
  if (wire.sz !== '0' && wire.sz !== parent.s) return ITEM_TEXTS.childSize;
  return given.has(style.tpsl) ? ITEM_TEXTS.childTwice : null;
}

interface AttachedLevels {
  /** 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  /** Closing slippage of both, 1e3 percent, as the contract has one value for both; 0 = none. */
  readonly closingSlippageP: bigint;
}

/** The first take profit and the first stop loss among the children of a parent order. */
function attachedLevels(children: readonly ExchangeOrder[]): AttachedLevels {
  const first = (tpsl: 'tp' | 'sl') => children.find(({ style }) => style.kind === 'trigger' && style.tpsl === tpsl);
  const [tp, sl] = [first('tp'), first('sl')];
  const closingSlippages = [tp, sl].map((level) => (level === undefined ? 0n : wantedClosingSlippage(level, MAX_SLIPPAGE_P)));
  return {
    tp: triggerOf(tp),
    sl: triggerOf(sl),
    closingSlippageP: closingSlippages.reduce((most, slippageP) => (slippageP > most ? slippageP : most), 0n),
  };
}

const triggerOf = (level: ExchangeOrder | undefined): bigint => (level?.style.kind === 'trigger' ? level.style.trigger : 0n);
