import type { Caller } from '../access/caller.js';
import type { Order } from '../account/describe-order.js';
import { getOrder } from '../account/list-orders.js';
import { createOnce } from '../caching/shared-reads.js';
import { isSettled } from '../domain/order.js';
import type { Gateway, Venue } from '../gateway.js';
import type { JournalFact } from '../ports/stores/journal.js';
import type { Cancel } from '../types.js';

/** How long a client waits for the order to settle. */
export interface Wait {
  /** At most `MAX_WAIT_SECONDS`. */
  readonly seconds: number;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Called when the wait is accepted; not called when too many requests wait already. */
  readonly onApplied?: () => void;
}

export const MAX_WAIT_SECONDS = 8;
const MAX_WAITING = { perCaller: 16, inAll: 4_000 } as const;

/**
 * Returns the order as soon as it is final, rests or timed out, or its current state when the time is up. Uses journal events, so it works on
 * every replica and holds no database connection while waiting.
 */
export async function waitForOrder(gateway: Gateway, venue: Venue, caller: Caller, id: string, wait: Wait): Promise<Order> {
  const waiters = waitersOf(gateway);
  const leave = waiters.enter(callerKey(venue, caller));
  if (leave === null) return getOrder(gateway, venue, caller, id);
  // Listening starts before the first read, so that no change in between is missed.
  const change = waiters.listenFor(`${venue.definition.slug}/${id}`);
  try {
    const order = await getOrder(gateway, venue, caller, id);
    wait.onApplied?.();
    if (isSettled(order.status) || wait.seconds === 0) return order;
    await soonest(gateway, venue, change.came, wait);
    return wait.signal.aborted ? order : await getOrder(gateway, venue, caller, id);
  } finally {
    change.stop();
    leave();
  }
}

/** Resolves on the change, the timeout, the client's disconnect or the service's shutdown. */
async function soonest({ stopping }: Gateway, { clock }: Venue, came: Promise<void>, { seconds, signal }: Wait): Promise<void> {
  const over = new AbortController();
  const end = (): void => over.abort();
  for (const ending of [signal, stopping]) ending.addEventListener('abort', end);
  try {
    if (!signal.aborted && !stopping.aborted) await Promise.race([came, clock.sleep(seconds * 1_000, over.signal)]);
  } finally {
    for (const ending of [signal, stopping]) ending.removeEventListener('abort', end);
    end();
  }
}

/** All API keys of one trader share one count, because a trader may create any number of keys. */
const callerKey = ({ definition }: Venue, caller: Caller): string =>
  `${definition.slug}/${caller.via === 'agent' ? caller.agent : `keys of ${caller.trader}`}`;

interface Waiters {
  /** null when the limit is reached. */
  enter(caller: string): Cancel | null;
  listenFor(order: string): { readonly came: Promise<void>; readonly stop: Cancel };
}

const waitersOf = createOnce(createWaiters);

function createWaiters({ bus }: Gateway): Waiters {
  const counts = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();
  let all = 0;

  bus.on('journal', ({ entries }) => {
    if (waiting.size === 0) return;
    for (const { chain, fact } of entries) {
      const id = settledBy(fact);
      if (id !== null) for (const wake of waiting.get(`${chain}/${id}`) ?? []) wake();
    }
  });

  return {
    enter(caller) {
      const own = counts.get(caller) ?? 0;
      if (own >= MAX_WAITING.perCaller || all >= MAX_WAITING.inAll) return null;
      counts.set(caller, own + 1);
      all += 1;
      return () => {
        const left = (counts.get(caller) ?? 1) - 1;
        if (left === 0) counts.delete(caller);
        else counts.set(caller, left);
        all -= 1;
      };
    },
    listenFor(order) {
      let wake: () => void = () => undefined;
      const came = new Promise<void>((resolve) => (wake = resolve));
      const others = waiting.get(order) ?? new Set();
      waiting.set(order, others.add(wake));
      const stop = (): void => {
        others.delete(wake);
        if (others.size === 0 && waiting.get(order) === others) waiting.delete(order);
      };
      return { came, stop };
    },
  };
}

/** The id of the order that has settled by this fact, or null. */
function settledBy(fact: JournalFact): bigint | null {
  const subject = fact.kind === 'correction' ? fact.of : fact;
  return subject.kind === 'order' && subject.order !== null && isSettled(subject.order.status) ? subject.id : null;
}
