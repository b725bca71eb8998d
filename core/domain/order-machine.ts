import { newlyPrepared, reduces, type Order, type OrderFill, type OrderReason, type OrderStatus, type OrderType } from './order.js';
import {
  type ChainEvent,
  type Executed,
  type Guarded,
  type Replaced,
  type Requested,
  type Rested,
  LEVELS,
  type Level,
  type LevelEvent,
  type LevelKey,
  type OrderKey,
} from './chain-event.js';

type Hex = `0x${string}`;

/** The size of a request on chain; the requested size may have been rounded. */
type Sized = Pick<Order, 'leverage' | 'collateralAmount' | 'sizeCollateral' | 'sizeToken'>;
/** A resting order as stored on chain, with its stop loss clamped. */
type Resting = Sized & Pick<Order, 'price' | 'tp' | 'sl' | 'slippageP'>;

/** An event of an order. */
export type OrderEvent = { readonly at: number } & (
  | { readonly kind: 'requested'; readonly txHash: Hex | null; readonly block: bigint; readonly asked: Sized }
  | { readonly kind: 'rested' | 'replaced'; readonly txHash: Hex | null; readonly block: bigint; readonly asked: Resting }
  | { readonly kind: 'moved'; readonly asked: Resting }
  | { readonly kind: 'amended'; readonly price: bigint; readonly tp: bigint; readonly sl: bigint; readonly slippageP: bigint }
  | { readonly kind: 'filled'; readonly fill: OrderFill }
  | { readonly kind: 'refused'; readonly reason: OrderReason }
  | { readonly kind: 'unexplained'; readonly txHash: Hex | null }
  | { readonly kind: 'reverted'; readonly reason: OrderReason; readonly txHash: Hex | null }
  | { readonly kind: 'sent'; readonly txHash: Hex }
  | { readonly kind: 'renewed'; readonly order: Order }
  | { readonly kind: 'timedOut' | 'withdrawn' | 'expired' }
);

type Row = Readonly<Partial<Record<OrderEvent['kind'], OrderStatus>>>;

/** All status transitions. An event that is not listed for a status is ignored. */
export const NEXT: Readonly<Record<OrderStatus, Row>> = {
  prepared: { requested: 'pending', rested: 'open', reverted: 'rejected', expired: 'expired', sent: 'prepared' },
  pending: { filled: 'filled', refused: 'rejected', unexplained: 'pending', timedOut: 'timed_out', withdrawn: 'canceled' },
  open: { amended: 'open', moved: 'open', replaced: 'open', filled: 'filled', unexplained: 'pending', withdrawn: 'canceled' },
  timed_out: { filled: 'filled', refused: 'rejected', unexplained: 'pending', withdrawn: 'canceled' },
  expired: { requested: 'pending', rested: 'open', renewed: 'prepared', sent: 'expired' },
  filled: {},
  rejected: {},
  canceled: {},
};

/** The only writer of `status`. Returns the same object if the event is ignored; then nothing is saved or published. */
export function step(order: Order, event: OrderEvent): Order {
  const status = NEXT[order.status][event.kind];
  // The request is closed on chain, so that there is nothing left to time out.
  if (!status || (event.kind === 'timedOut' && order.unexplained !== undefined)) return order;
  // Block timestamps are whole seconds and may be equal or earlier than the previous change; `updatedAt` still rises with every change.
  const moved = { ...withoutDoubt(order), status, updatedAt: Math.max(order.updatedAt + 1, event.at) };
  switch (event.kind) {
    case 'requested':
      return { ...moved, ...event.asked, sizeToken: event.asked.sizeToken ?? order.sizeToken, ...onChain(event) };
    case 'rested':
    case 'replaced':
      return { ...moved, ...event.asked, ...onChain(event) };
    case 'moved':
      return { ...moved, ...event.asked };
    case 'amended':
      return { ...sizedAt(moved, event.price), price: event.price, tp: event.tp, sl: event.sl, slippageP: event.slippageP };
    case 'filled':
      return { ...moved, fill: event.fill };
    case 'refused':
      return { ...moved, reason: event.reason };
    case 'unexplained':
      return event.txHash === null ? order : { ...moved, unexplained: event.txHash };
    case 'reverted':
      return { ...moved, reason: event.reason, txHash: event.txHash, expiresAt: null };
    case 'sent':
      return { ...moved, txHash: event.txHash };
    case 'renewed':
      return { ...event.order, status, createdAt: order.createdAt, updatedAt: moved.updatedAt };
    default:
      return moved;
  }
}

function withoutDoubt(order: Order): Order {
  const { unexplained, ...rest } = order;
  return unexplained === undefined ? order : rest;
}

const onChain = ({ txHash, block }: { readonly txHash: Hex | null; readonly block: bigint }) => ({
  txHash,
  requestedBlock: block,
  expiresAt: null,
});

/** The collateral is kept when the price changes, so the requested size no longer applies and is dropped. */
export function sizedAt(order: Order, price: bigint): Order {
  const { asked, ...rest } = order;
  return price === order.price && asked ? { ...rest, asked } : rest;
}

/** An order is the fold of its events. null = no event has created it, or a reorganisation reverted it. */
export function foldOrder(order: Order | null, event: ChainEvent): Order | null {
  const known = order ?? initialOrder(event);
  const happened = orderEventOf(event);
  return known === null || happened === null ? known : step(known, happened);
}

/** An order not prepared here begins with its first event; one whose beginning was not read is derived from its execution. */
function initialOrder(event: ChainEvent): Order | null {
  switch (event.kind) {
    case 'prepared':
      return event.order;
    case 'requested':
      return draft(event, { type: 'market', action: event.action });
    case 'rested':
      return draft(event, { type: event.type, action: 'open' });
    case 'guarded':
      return draft(event, { type: TYPE_OF_LEVEL[event.level], action: 'close' });
    case 'executed':
      return orderFromExecution(event);
    default:
      return null;
  }
}

function orderFromExecution(event: Executed): Order | null {
  if (event.orderKey === null) return null;
  const isResting = event.orderKey.startsWith('resting:');
  const action = ORDER_ACTION[event.action];
  const order = draft(
    { ...event, slippageP: 0n, terms: { ...event.terms, collateralAmount: event.collateral } },
    { type: isResting ? 'limit' : 'market', action },
  );
  const { at, blockNumber } = event.place;
  const { leverage, collateralAmount, sizeCollateral, sizeToken, price, tp, sl, slippageP } = order;
  const asked = { leverage, collateralAmount, sizeCollateral, sizeToken, price, tp, sl, slippageP };
  return step(order, { kind: isResting ? 'rested' : 'requested', at, txHash: null, block: blockNumber, asked });
}

const ORDER_ACTION = {
  open: 'open',
  close: 'close',
  increase: 'increase',
  decrease: 'decrease',
  leverage: 'leverage',
  withdraw: 'withdraw',
  tp: 'close',
  sl: 'close',
  liquidation: 'close',
} as const satisfies Record<Executed['action'], Order['action']>;

type Beginning = Pick<
  Requested | Rested | Guarded,
  'trader' | 'tradeIndex' | 'terms' | 'sizeCollateral' | 'sizeToken' | 'slippageP' | 'place'
>;

function draft(event: Beginning, kind: Pick<Order, 'type' | 'action'>): Order {
  const { terms } = event;
  const reduceOnly = reduces(kind.action);
  return {
    ...kind,
    trader: event.trader,
    pairIndex: terms.pairIndex,
    collateralIndex: terms.collateralIndex,
    long: reduceOnly ? !terms.long : terms.long,
    reduceOnly,
    leverage: terms.leverage,
    collateralAmount: terms.collateralAmount,
    sizeCollateral: event.sizeCollateral,
    sizeToken: event.sizeToken,
    price: terms.openPrice,
    tp: terms.tp,
    sl: terms.sl,
    slippageP: event.slippageP,
    tradeIndex: kind.action === 'open' ? null : event.tradeIndex,
    clientId: null,
    ...newlyPrepared(event.place.at, null),
  };
}

function orderEventOf(event: ChainEvent): OrderEvent | null {
  const { at, txHash, blockNumber } = event.place;
  switch (event.kind) {
    case 'requested':
      return { kind: 'requested', at, txHash, block: event.createdBlock ?? blockNumber, asked: sizeOf(event) };
    case 'rested':
    case 'replaced':
      return { kind: event.kind, at, txHash, block: blockNumber, asked: { ...sizeOf(event), ...termsOf(event) } };
    case 'guarded':
      return { kind: 'rested', at, txHash, block: blockNumber, asked: { ...sizeOf(event), ...termsOf(event) } };
    case 'guardMoved':
      return { kind: 'moved', at, asked: { ...sizeOf(event), ...termsOf(event) } };
    case 'guardHit':
      return { kind: 'filled', at, fill: event.fill };
    case 'guardGone':
      return { kind: 'withdrawn', at };
    case 'amended':
      return { kind: 'amended', at, price: event.openPrice, tp: event.tp, sl: event.sl, slippageP: event.slippageP };
    case 'executed':
      return event.orderKey === null ? null : { kind: 'filled', at, fill: fillOf(event) };
    case 'refused':
      return { kind: 'refused', at, reason: reasonOf(event.reason) };
    case 'unexplained':
    case 'guardUnexplained':
      return { kind: 'unexplained', at, txHash };
    case 'settled':
      return event.fill === null
        ? { kind: 'refused', at: event.settledAt, reason: 'OTHER' }
        : { kind: 'filled', at: event.settledAt, fill: event.fill };
    case 'withdrawn':
    case 'timedOut':
    case 'expired':
      return { kind: event.kind, at };
    case 'reverted':
      return { kind: 'reverted', at, reason: event.reason, txHash };
    case 'sent':
      return { kind: 'sent', at, txHash: event.hash };
    case 'renewed':
      return { kind: 'renewed', at, order: event.order };
    default:
      return null;
  }
}

const sizeOf = ({ terms, sizeCollateral, sizeToken }: Requested | Rested | Replaced | Guarded) => ({
  leverage: terms.leverage,
  collateralAmount: terms.collateralAmount,
  sizeCollateral,
  sizeToken,
});

const termsOf = ({ terms, slippageP }: Rested | Replaced | Guarded) => ({ price: terms.openPrice, tp: terms.tp, sl: terms.sl, slippageP });

/** Reasons without an API name, including future ones, are OTHER. */
const reasonOf = (reason: Extract<ChainEvent, { kind: 'refused' }>['reason']): OrderReason =>
  reason === 'COUNTER_TRADE_CANCELED' ? 'OTHER' : reason;

export const fillOf = (event: Executed): OrderFill => ({
  price: event.price,
  sizeToken: event.sizeToken ?? 0n,
  collateralPriceUsd: event.collateralPriceUsd,
  collateral: event.collateral,
  fee: event.fee,
  txHash: event.place.txHash,
  at: event.place.at,
  tradeIndex: event.tradeIndex,
});

/** A resting reduce-only order is the TP or SL of its position: a limit the take profit, a stop the stop loss. */

export const LEVEL_OF_TYPE = { market: null, limit: 'tp', stop: 'sl' } as const satisfies Record<OrderType, Level | null>;
export const TYPE_OF_LEVEL = { tp: 'limit', sl: 'stop' } as const satisfies Record<Level, OrderType>;

/** null for an order that is not a TP/SL. */
export const levelOf = ({ action, type }: Pick<Order, 'action' | 'type'>): Level | null =>
  action === 'close' ? LEVEL_OF_TYPE[type] : null;

export const levelKey = (level: Level, tradeIndex: number): LevelKey => `${level}:${tradeIndex}`;

export const isLevelKey = (key: OrderKey | null): boolean => LEVELS.some((level) => key?.startsWith(`${level}:`));

/**
 * A position has one TP and one SL, so an order that is no longer open loses its key to the next one. One whose outcome is not known keeps it:
 * its position is gone, and a release that can read the outcome finds it by the key.
 */
export const placeAfter = (order: Pick<Order, 'status' | 'unexplained'> | null, key: OrderKey | null): OrderKey | null =>
  isLevelKey(key) && order?.status !== 'open' && order?.unexplained === undefined ? null : key;

export const isLevelEvent = (event: ChainEvent): event is LevelEvent => LEVEL_KINDS.has(event.kind);

const LEVEL_KINDS: ReadonlySet<ChainEvent['kind']> = new Set(['guarded', 'guardMoved', 'guardHit', 'guardGone', 'guardUnexplained']);

/**
 * A key that an order and the event that begins it on chain have in common. It distinguishes several orders in one transaction; identical
 * orders have the same key, and either may be linked.
 */
export function shapeOf(order: Order): string {
  const level = levelOf(order);
  if (level !== null && order.tradeIndex !== null) return levelKey(level, order.tradeIndex);
  if (order.action === 'open') return opening(order.type, { ...order, amount: order.collateralAmount });
  return `${order.action} ${order.tradeIndex ?? ''}`;
}

export function shapeOfEvent(event: Requested | Rested): string {
  if (event.kind === 'requested' && event.action !== 'open') return `${event.action} ${event.tradeIndex ?? ''}`;
  return opening(event.kind === 'rested' ? event.type : 'market', { ...event.terms, amount: event.terms.collateralAmount });
}

interface Opening extends Pick<Order, 'pairIndex' | 'collateralIndex' | 'long' | 'leverage'> {
  readonly amount: bigint;
}

const opening = (type: Order['type'], { pairIndex, collateralIndex, long, leverage, amount }: Opening): string =>
  `open ${type} ${pairIndex} ${collateralIndex} ${long ? 'long' : 'short'} ${leverage} ${amount}`;
