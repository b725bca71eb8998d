import type { Order, OrderFill, OrderReason, OrderStatus } from './order.js';

type Hex = `0x${string}`;

/** Something that happened to an order. */
export type OrderEvent = { readonly at: number } & (
  | { readonly kind: 'requested' | 'rested'; readonly txHash: Hex | null; readonly block: bigint }
  | { readonly kind: 'amended'; readonly price: bigint; readonly tp: bigint; readonly sl: bigint; readonly slippageP: bigint }
  | { readonly kind: 'filled'; readonly fill: OrderFill }
  | { readonly kind: 'refused'; readonly reason: OrderReason }
  | { readonly kind: 'timedOut' | 'withdrawn' | 'lapsed' }
);

type Row = Readonly<Partial<Record<OrderEvent['kind'], OrderStatus>>>;

/** The one place to change an arrow. What is not here does not move the order. */
export const NEXT: Readonly<Record<OrderStatus, Row>> = {
  prepared: { requested: 'pending', rested: 'open', refused: 'rejected', lapsed: 'expired' },
  pending: { filled: 'filled', refused: 'rejected', timedOut: 'timed_out', withdrawn: 'canceled' },
  open: { amended: 'open', filled: 'filled', refused: 'rejected', withdrawn: 'canceled' },
  timed_out: { filled: 'filled', refused: 'rejected', withdrawn: 'canceled' },
  expired: { requested: 'pending', rested: 'open' },
  filled: {},
  rejected: {},
  canceled: {},
};

/** The only writer of `status`. The same object back = nothing happened = nothing saved, nothing published. */
export function step(order: Order, event: OrderEvent): Order {
  const status = NEXT[order.status][event.kind];
  if (!status) return order;
  const moved = { ...order, status, updatedAt: event.at };
  switch (event.kind) {
    case 'requested':
    case 'rested':
      return { ...moved, txHash: event.txHash, requestedBlock: event.block, expiresAt: null };
    case 'amended':
      return { ...moved, price: event.price, tp: event.tp, sl: event.sl, slippageP: event.slippageP };
    case 'filled':
      return { ...moved, fill: event.fill };
    case 'refused':
      return { ...moved, reason: event.reason };
    default:
      return moved;
  }
}
