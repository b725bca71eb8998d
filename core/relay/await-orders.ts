import type { Order, OrderStatus } from '../domain/order.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../ports.js';

/** Nothing more happens by itself, or nothing but a trigger that may take days. */
const isSettled = (status: OrderStatus): boolean => status !== 'prepared' && status !== 'pending';

export interface OrderWatch {
  /** What is known of the order now; null for one that was never told of. */
  state(id: bigint): Order | null;
  /** The orders as soon as all of them are settled, or what is known when the time is up. */
  settled(ids: readonly bigint[], ms: number): Promise<void>;
  stop(): void;
}

/** Listens to the journal from now on, so that nothing is missed between sending and waiting. It holds nothing of the database meanwhile. */
export function watchOrders({ bus }: Gateway, venue: Venue, trader: Address): OrderWatch {
  const states = new Map<bigint, Order | null>();
  let heard: () => void = () => undefined;
  const cancel = bus.on('journal', (told) => {
    if (told.venue !== venue) return;
    for (const { fact, trader: whose } of told.entries) {
      if (whose !== trader) continue;
      const about = fact.kind === 'correction' ? fact.of : fact;
      if (about.kind === 'order') states.set(about.id, about.order);
    }
    heard();
  });
  const isDone = (id: bigint): boolean => {
    const order = states.get(id);
    return order !== undefined && (order === null || isSettled(order.status));
  };
  return {
    state: (id) => states.get(id) ?? null,
    settled: (ids, ms) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (ids.every(isDone)) finish();
        };
        const stopTimer = venue.clock.after(ms, () => finish());
        const finish = (): void => {
          stopTimer();
          heard = () => undefined;
          resolve();
        };
        heard = look;
        look();
      }),
    stop: cancel,
  };
}
