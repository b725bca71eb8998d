import { isSettled, type Order, type OrderStatus } from '../../../core/domain/order.js';
import { onVenue, type Gateway, type Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';

export interface OrderWatch {
  /** The last published state of the order since the watch began; null if there was none. */
  state(id: bigint): Order | null;
  /** Resolves when all are executed, refused, resting or timed out, or the time is up. */
  settled(ids: readonly bigint[], ms: number): Promise<void>;
  /** Resolves when all are final, or the time is up. */
  over(ids: readonly bigint[], ms: number): Promise<void>;
  /** How many journal entries of the trader have come. */
  entries(): number;
  /** Resolves once more journal entries of the trader have come than these, or when the time is up. */
  changed(since: number, ms: number): Promise<void>;
  /** Aborts when the service is stopping: no reply is delayed any longer. */
  readonly ending: AbortSignal;
  stop(): void;
}

const isOver = (status: OrderStatus): boolean =>
  status === 'filled' || status === 'rejected' || status === 'canceled' || status === 'expired';

/** Listens to the trader's journal from now on, so that nothing is missed between sending and waiting; needs no database connection. */
export function watchOrders(gateway: Gateway, venue: Venue, trader: Address): OrderWatch {
  const { stopping } = gateway;
  const states = new Map<bigint, Order | null>();
  let entriesSeen = 0;
  const waiting = new Set<() => void>();
  const cancel = onVenue(gateway, venue, 'journal', ({ entries }) => {
    for (const { fact, trader: whose } of entries) {
      if (whose === trader) entriesSeen += 1;
      const about = fact.kind === 'correction' ? fact.of : fact;
      if (whose === trader && about.kind === 'order') states.set(about.id, about.order);
    }
    for (const look of [...waiting]) look();
  });

  const wait = (ms: number, holds: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (holds()) finish();
      };
      const stopTimer = venue.clock.after(ms, () => finish());
      const finish = (): void => {
        stopTimer();
        stopping.removeEventListener('abort', finish);
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      stopping.addEventListener('abort', finish);
      if (stopping.aborted) finish();
      else look();
    });

  const areAll = (ids: readonly bigint[], holds: (status: OrderStatus) => boolean) => (): boolean =>
    ids.every((id) => {
      const order = states.get(id);
      return order !== undefined && (order === null || holds(order.status));
    });

  return {
    state: (id) => states.get(id) ?? null,
    settled: (ids, ms) => wait(ms, areAll(ids, isSettled)),
    over: (ids, ms) => wait(ms, areAll(ids, isOver)),
    entries: () => entriesSeen,
    changed: (since, ms) => wait(ms, () => entriesSeen > since),
    ending: stopping,
    stop: cancel,
  };
}

/** Resolves when all are done, the time is up or the service stops. */
export async function soonest({ clock }: Venue, { ending }: OrderWatch, all: readonly Promise<unknown>[], ms: number): Promise<void> {
  const done = Promise.all(all);
  done.catch(() => undefined); // not awaited after the time is up, so a late failure must not be unhandled
  const over = new AbortController();
  const end = (): void => over.abort('over'); // a given reason saves creating an error with a stack
  ending.addEventListener('abort', end);
  try {
    if (!ending.aborted) await Promise.race([done, clock.sleep(ms, over.signal)]);
  } finally {
    ending.removeEventListener('abort', end);
    end();
  }
}
