import type { Order, OrderFill, OrderReason, OrderStatus } from './order.js';

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
  | { readonly kind: 'reverted'; readonly reason: OrderReason; readonly txHash: Hex | null }
  | { readonly kind: 'sent'; readonly txHash: Hex }
  | { readonly kind: 'renewed'; readonly order: Order }
  | { readonly kind: 'timedOut' | 'withdrawn' | 'lapsed' }
);

type Row = Readonly<Partial<Record<OrderEvent['kind'], OrderStatus>>>;

/** All status transitions. An event that is not listed for a status is ignored. */
export const NEXT: Readonly<Record<OrderStatus, Row>> = {
  prepared: { requested: 'pending', rested: 'open', reverted: 'rejected', lapsed: 'expired', sent: 'prepared' },
  pending: { filled: 'filled', refused: 'rejected', timedOut: 'timed_out', withdrawn: 'canceled' },
  open: { amended: 'open', moved: 'open', replaced: 'open', filled: 'filled', withdrawn: 'canceled' },
  timed_out: { filled: 'filled', refused: 'rejected', withdrawn: 'canceled' },
  expired: { requested: 'pending', rested: 'open', renewed: 'prepared', sent: 'expired' },
  filled: {},
  rejected: {},
  canceled: {},
};

/** The only writer of `status`. Returns the same object if the event is ignored; then nothing is saved or published. */
export function step(order: Order, event: OrderEvent): Order {
  const status = NEXT[order.status][event.kind];
  if (!status) return order;
  // Block timestamps are whole seconds and may be equal or earlier than the previous change; `updatedAt` still rises with every change.
  const moved = { ...order, status, updatedAt: Math.max(order.updatedAt + 1, event.at) };
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
