import {
  type ChainEvent,
  type Executed,
  type OrderKey,
  type PositionEdited,
  type TradeFigures,
  LEVELS,
  type GuardGone,
  type Guarded,
  type Level,
  type LevelEvent,
} from '../domain/chain-event.js';
import { fillOf } from '../domain/fold-order.js';
import { levelKey } from '../domain/level.js';
import type { Order } from '../domain/order.js';
import { positionSizeCollateral } from '../domain/pricing/size.js';
import { DEFAULT_CLOSING_SLIPPAGE_P } from '../domain/pricing/slippage.js';
import { isUnplaced, type Book } from './link-book.js';
import type { OrderRef, StoredOrder } from '../ports/stores/tracking.js';

/** Orders that are a level of a position have no logs of their own: what happens to them follows from what happens to the position. */

export interface LevelNews {
  readonly event: LevelEvent;
  readonly row: StoredOrder;
}

type LevelSet = PositionEdited & { readonly field: Level };

export const setsLevel = (event: ChainEvent): event is LevelSet => event.kind === 'edited' && event.field !== 'slippageP';

/** Where an order that is touched by it may stand; and where one is at home that its transaction made once more. */
export function levelRefs(event: ChainEvent): OrderRef[] {
  const { trader, place } = event;
  if (event.kind !== 'edited' && event.kind !== 'executed') return [];
  if (!setsLevel(event)) return LEVELS.map((level) => ({ trader, orderKey: levelKey(level, event.tradeIndex) }));
  const orderKey = levelKey(event.field, event.tradeIndex);
  return [{ trader, orderKey }, ...(place.txHash ? [{ trader, orderKey: homeOf(event) ?? orderKey }] : [])];
}

const homeOf = ({ field, tradeIndex, place }: LevelSet): OrderKey | null =>
  place.txHash === null ? null : `${levelKey(field, tradeIndex)}/${place.txHash}`;

export function levelNews(book: Book, event: ChainEvent): LevelNews[] {
  if (setsLevel(event)) return afterSet(book, event);
  if (event.kind !== 'edited' && event.kind !== 'executed') return [];
  return LEVELS.flatMap((level) => {
    const row = book.holderAt({ trader: event.trader, orderKey: levelKey(level, event.tradeIndex) });
    const order = row?.order;
    if (!row || !order) return [];
    const told = event.kind === 'executed' ? afterExecution(event, level, order) : afterSlippage(event, level, order);
    return told === null ? [] : [{ event: told, row }];
  });
}

/** One that is set passes from whoever held it to whoever set it, and stays where it is set to what it was. */
function afterSet(book: Book, event: LevelSet): LevelNews[] {
  const holder = book.holderAt({ trader: event.trader, orderKey: levelKey(event.field, event.tradeIndex) });
  const setter = event.value === 0n ? null : setterOf(book, event, holder);
  if (holder?.order && setter?.row.id === holder.id)
    return event.value === holder.order.price ? [] : [{ row: holder, event: guarded(event, 'guardMoved', holder.order) }];
  const gone = holder ? [{ row: holder, event: goneBy(event, event.field, event.value === 0n ? 'removed' : 'replaced') }] : [];
  return setter === null ? gone : [...gone, { row: setter.row, event: guarded(event, 'guarded', setter.like) }];
}

interface Setter {
  readonly row: StoredOrder;
  /** What it was asked as. */
  readonly like: Order;
}

/** The order that set it by its transaction; the one that holds it, where it is only said again; null = nobody's. */
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
  const repeated = again && book.newcomer(event, homeOf(event), again.id);
  return repeated && again.order ? { row: repeated, like: again.order } : null;
}

function afterExecution(event: Executed, level: Level, order: Order): LevelEvent | null {
  if (event.action === 'withdraw') return null;
  if (event.after !== null) return afterResize(event, event.after, level, order);
  const about = { ...aboutOf(event, level), place: event.place };
  return event.action === level ? { kind: 'guardHit', ...about, fill: fillOf(event) } : goneBy(event, level, 'closed');
}

/** It closes all of the position, whatever that is by now; less leverage may bring its stop loss nearer. */
function afterResize(event: Executed, after: TradeFigures, level: Level, order: Order): LevelEvent | null {
  const price = after[level];
  if (price === 0n) return goneBy(event, level, 'removed');
  const told = movedTo(event, level, { trade: after, price, slippageP: order.slippageP });
  const { terms, sizeToken } = told;
  const isSame =
    price === order.price &&
    terms.leverage === order.leverage &&
    terms.collateralAmount === order.collateralAmount &&
    sizeToken === order.sizeToken;
  return isSame ? null : told;
}

function afterSlippage(event: PositionEdited, level: Level, order: Order): LevelEvent | null {
  const slippageP = event.value || DEFAULT_CLOSING_SLIPPAGE_P;
  return slippageP === order.slippageP ? null : movedTo(event, level, { trade: tradeOf(order), price: order.price, slippageP });
}

const goneBy = (event: Executed | PositionEdited, level: Level, because: GuardGone['because']): GuardGone => ({
  kind: 'guardGone',
  ...aboutOf(event, level),
  because,
});

const aboutOf = ({ trader, tradeIndex, place }: Executed | PositionEdited, level: Level) => ({
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

/** The position as the order remembers it: the order has the other side. */
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
