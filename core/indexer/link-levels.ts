import {
  comparePlaces,
  LEVELS,
  type ChainEvent,
  type Executed,
  type Guarded,
  type GuardGone,
  type Level,
  type LevelEvent,
  type OrderKey,
  type PositionEdited,
  type PositionFound,
  type TradeFigures,
} from '../domain/chain-event.js';
import { fillOf, isLevelEvent, levelKey } from '../domain/order-machine.js';
import type { Order } from '../domain/order.js';
import { positionSizeCollateral } from '../domain/pricing/size.js';
import { DEFAULT_CLOSING_SLIPPAGE_P } from '../domain/pricing/execution-price.js';
import { isUnplaced, type Book } from './link-book.js';
import { tradeRefKey, type OrderRef, type StoredOrder, type TrackingUnit, type TradeRef } from '../ports/stores/tracking.js';
import { tagsIn } from '../trading/encode-intent.js';
import type { Hex } from '../types.js';

/** TP/SL orders of a position have no logs of their own: their events are derived from the position's events. */

export interface LevelChanges {
  readonly event: LevelEvent;
  readonly row: StoredOrder;
}

type LevelSet = PositionEdited & { readonly field: Level };

export const setsLevel = (event: ChainEvent): event is LevelSet => event.kind === 'edited' && event.field !== 'slippageP';

/** Order keys of the TP/SL orders an event may affect, and the first key of an order that its transaction repeats. */
export function levelRefs(event: ChainEvent): OrderRef[] {
  const { trader, place } = event;
  if (event.kind !== 'edited' && event.kind !== 'executed' && !isGone(event)) return [];
  if (!setsLevel(event)) return LEVELS.map((level) => ({ trader, orderKey: levelKey(level, event.tradeIndex) }));
  const orderKey = levelKey(event.field, event.tradeIndex);
  return [{ trader, orderKey }, ...(place.txHash ? [{ trader, orderKey: firstKeyOf(event) ?? orderKey }] : [])];
}

const firstKeyOf = ({ field, tradeIndex, place }: LevelSet): OrderKey | null =>
  place.txHash === null ? null : `${levelKey(field, tradeIndex)}/${place.txHash}`;

export function levelChanges(book: Book, event: ChainEvent): LevelChanges[] {
  if (setsLevel(event)) return afterSet(book, event);
  if (event.kind !== 'edited' && event.kind !== 'executed' && !isGone(event)) return [];
  return LEVELS.flatMap((level) => {
    const row = book.holderAt({ trader: event.trader, orderKey: levelKey(level, event.tradeIndex) });
    const order = row?.order;
    if (!row || !order) return [];
    const derived = derivedFrom(event, level, order);
    return derived === null ? [] : [{ event: derived, row }];
  });
}

/** A position that is not there any more after a transaction which cannot be read: which of its orders was executed is not known. */
const isGone = (event: ChainEvent): event is PositionFound => event.kind === 'found' && event.isReread === true && !event.isOpen;

function derivedFrom(event: Executed | PositionEdited | PositionFound, level: Level, order: Order): LevelEvent | null {
  if (event.kind === 'found') return afterGone(event, level);
  return event.kind === 'executed' ? afterExecution(event, level, order) : afterSlippage(event, level, order);
}

function afterGone(event: PositionFound, level: Level): LevelEvent {
  const { ended, goneIn } = event;
  if (ended?.by === level && ended.fill !== null) return { kind: 'guardHit', ...aboutOf(event, level), fill: ended.fill };
  if (goneIn === undefined) return goneBy(event, level, 'closed');
  const about = aboutOf(event, level);
  return { kind: 'guardUnexplained', ...about, place: { ...about.place, txHash: goneIn } };
}

/** A new TP/SL value ends the order that held the trigger and places the order that set it; the same value again changes nothing. */
function afterSet(book: Book, event: LevelSet): LevelChanges[] {
  const holder = book.holderAt({ trader: event.trader, orderKey: levelKey(event.field, event.tradeIndex) });
  const setter = event.value === 0n ? null : setterOf(book, event, holder);
  if (holder?.order && setter?.row.id === holder.id)
    return event.value === holder.order.price ? [] : [{ row: holder, event: guarded(event, 'guardMoved', holder.order) }];
  const gone = holder ? [{ row: holder, event: goneBy(event, event.field, event.value === 0n ? 'removed' : 'replaced') }] : [];
  return setter === null ? gone : [...gone, { row: setter.row, event: guarded(event, 'guarded', setter.like) }];
}

interface Setter {
  readonly row: StoredOrder;
  /** The order whose terms it takes. */
  readonly like: Order;
}

/** The order whose transaction set the trigger; the current holder when the value is unchanged; null when no order of the gateway set it. */
function setterOf(book: Book, event: LevelSet, holder: StoredOrder | undefined): Setter | null {
  const shape = levelKey(event.field, event.tradeIndex);
  const placing = book.tagsOf(event, 'place').filter(({ tag }) => tag.shape === shape);
  const first = placing.find(({ row }) => isUnplaced(row))?.row;
  if (first?.order) {
    book.carriedBy(event, first);
    return { row: first, like: first.order };
  }
  const holds = holder?.order ? { row: holder, like: holder.order } : null;
  const isMove = book.tagsOf(event, 'replace').some(({ tag, row }) => tag.shape === shape && row.id === holder?.id);
  const again = placing[0]?.row;
  const isUnchanged = holds?.like.price === event.value && (again === undefined || again.id === holder?.id);
  if (isMove || isUnchanged) return holds;
  const repeated = again && book.newcomer(event, firstKeyOf(event), again.id);
  return repeated && again.order ? { row: repeated, like: again.order } : null;
}

function afterExecution(event: Executed, level: Level, order: Order): LevelEvent | null {
  if (event.action === 'withdraw') return null;
  if (event.after !== null) return afterResize(event, event.after, level, order);
  const about = { ...aboutOf(event, level), place: event.place };
  return event.action === level ? { kind: 'guardHit', ...about, fill: fillOf(event) } : goneBy(event, level, 'closed');
}

/** A TP/SL order closes the whole position, so its size follows the position; lower leverage may move the stop loss closer. */
function afterResize(event: Executed, after: TradeFigures, level: Level, order: Order): LevelEvent | null {
  const price = after[level];
  if (price === 0n) return goneBy(event, level, 'removed');
  const moved = movedTo(event, level, { trade: after, price, slippageP: order.slippageP });
  const { terms, sizeToken } = moved;
  const isSame =
    price === order.price &&
    terms.leverage === order.leverage &&
    terms.collateralAmount === order.collateralAmount &&
    sizeToken === order.sizeToken;
  return isSame ? null : moved;
}

function afterSlippage(event: PositionEdited, level: Level, order: Order): LevelEvent | null {
  const slippageP = event.value || DEFAULT_CLOSING_SLIPPAGE_P;
  return slippageP === order.slippageP ? null : movedTo(event, level, { trade: tradeOf(order), price: order.price, slippageP });
}

const goneBy = (event: Executed | PositionEdited | PositionFound, level: Level, because: GuardGone['because']): GuardGone => ({
  kind: 'guardGone',
  ...aboutOf(event, level),
  because,
});

const aboutOf = ({ trader, tradeIndex, place }: Executed | PositionEdited | PositionFound, level: Level) => ({
  trader,
  tradeIndex,
  place,
  level,
  orderKey: levelKey(level, tradeIndex),
});

function guarded(event: LevelSet, kind: Guarded['kind'], order: Order): Guarded {
  const { trade, slippageP } = event.held ?? { trade: tradeOf(order), slippageP: order.slippageP };
  const now = { trade, price: event.value, slippageP: slippageP || DEFAULT_CLOSING_SLIPPAGE_P };
  return { ...movedTo(event, event.field, now), kind };
}

interface Now {
  readonly trade: TradeFigures;
  readonly price: bigint;
  readonly slippageP: bigint;
}

function movedTo(event: Executed | PositionEdited, level: Level, { trade, price, slippageP }: Now): Guarded {
  const { pairIndex, collateralIndex, long, leverage, collateralAmount, sizeToken } = trade;
  const terms = { pairIndex, collateralIndex, long, leverage, collateralAmount, openPrice: price, tp: 0n, sl: 0n };
  return { kind: 'guardMoved', ...aboutOf(event, level), terms, slippageP, sizeCollateral: positionSizeCollateral(terms), sizeToken };
}

/** The position reconstructed from its TP/SL order, which has the opposite side. */
const tradeOf = (order: Order): TradeFigures => ({
  pairIndex: order.pairIndex,
  collateralIndex: order.collateralIndex,
  long: !order.long,
  leverage: order.leverage,
  collateralAmount: order.collateralAmount,
  openPrice: 0n,
  tp: 0n,
  sl: 0n,
  sizeToken: order.sizeToken ?? 0n,
  isCounterTrade: false,
});

/**
 * The block of the first missed event of a position with TP/SL orders that has later events. Which order those later events belong to can
 * only be determined by ingesting again from that block. null = no such event.
 */
export async function overlookedLevel(
  unit: TrackingUnit,
  events: readonly ChainEvent[],
  inputs: ReadonlyMap<Hex, Hex>,
): Promise<bigint | null> {
  const late = (await unit.unknown(events.filter((event) => levelRefs(event).length > 0))).flatMap((event) => refOf(event));
  if (late.length === 0) return null;
  const eventsByTrade = await unit.eventsOfTrades(late.map(({ ref }) => ref));
  const overtaken = late.filter(({ event, ref }) => {
    const tradeEvents = eventsByTrade.get(tradeRefKey(ref)) ?? [];
    const isOurs = tradeEvents.some(isLevelEvent) || tagsIn(inputs.get(event.place.txHash ?? '0x') ?? '0x').length > 0;
    return isOurs && tradeEvents.some(({ place }) => place.logIndex !== null && comparePlaces(place, event.place) > 0);
  });
  const [first] = overtaken.map(({ event }) => event.place.blockNumber).sort((a, b) => (a < b ? -1 : 1));
  return first ?? null;
}

const refOf = (event: ChainEvent): { readonly event: ChainEvent; readonly ref: TradeRef }[] =>
  event.tradeIndex === null ? [] : [{ event, ref: { trader: event.trader, tradeIndex: event.tradeIndex } }];
