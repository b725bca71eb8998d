import type { Caller } from '../access/caller.js';
import type { Order } from '../account/describe-order.js';
import { getOrder } from '../account/list-orders.js';
import type { OrderStatus } from '../domain/order.js';
import type { Gateway, Venue } from '../gateway.js';
import type { JournalFact } from '../ports/stores/journal.js';
import type { Cancel } from '../types.js';

/** How long a client would wait for an answer that is worth having. */
export interface Wait {
  /** At most `MAX_WAIT_SECONDS`. */
  readonly seconds: number;
  /** Aborts when nobody is there any more to hear the answer. */
  readonly signal: AbortSignal;
  /** The wish is granted; not called where too many wait already. */
  readonly onApplied?: () => void;
}

export const MAX_WAIT_SECONDS = 8;
const MAX_WAITING = { perCaller: 16, inAll: 4_000 } as const;

/** Nothing more happens by itself, or nothing but a trigger that may take days. */
const isSettled = (status: OrderStatus): boolean => status !== 'prepared' && status !== 'pending';

/**
 * The order as soon as it is final, rests or timed out; otherwise what is known of it when the time is up. Lives from the journal, so it
 * works on every replica, and holds nothing of the database meanwhile.
 */
export async function waitForOrder(gateway: Gateway, venue: Venue, caller: Caller, id: string, wait: Wait): Promise<Order> {
  const room = roomOf(gateway);
  const leave = room.enter(callerKey(venue, caller));
  if (leave === null) return getOrder(gateway, venue, caller, id);
  // Listening begins before the first look: what happens in between is heard.
  const news = room.listenFor(`${venue.definition.slug}/${id}`);
  try {
    const order = await getOrder(gateway, venue, caller, id);
    wait.onApplied?.();
    if (isSettled(order.status) || wait.seconds === 0) return order;
    await soonest(gateway, venue, news.came, wait);
    return wait.signal.aborted ? order : await getOrder(gateway, venue, caller, id);
  } finally {
    news.stop();
    leave();
  }
}

/** The news, the end of the time, of the client or of the service. */
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

/** Keys of one trader share a number: anybody may have as many keys as they like. */
const callerKey = ({ definition }: Venue, caller: Caller): string =>
  `${definition.slug}/${caller.via === 'agent' ? caller.agent : `keys of ${caller.trader}`}`;

interface Room {
  /** null when it is full. */
  enter(caller: string): Cancel | null;
  listenFor(order: string): { readonly came: Promise<void>; readonly stop: Cancel };
}

const rooms = new WeakMap<Gateway, Room>();

function roomOf(gateway: Gateway): Room {
  const known = rooms.get(gateway);
  if (known) return known;
  const made = createRoom(gateway);
  rooms.set(gateway, made);
  return made;
}

function createRoom({ bus }: Gateway): Room {
  const inside = new Map<string, number>();
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
      const here = inside.get(caller) ?? 0;
      if (here >= MAX_WAITING.perCaller || all >= MAX_WAITING.inAll) return null;
      inside.set(caller, here + 1);
      all += 1;
      return () => {
        const left = (inside.get(caller) ?? 1) - 1;
        if (left === 0) inside.delete(caller);
        else inside.set(caller, left);
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

/** The order that has reached a state worth telling. */
function settledBy(fact: JournalFact): bigint | null {
  const told = fact.kind === 'correction' ? fact.of : fact;
  return told.kind === 'order' && told.order !== null && isSettled(told.order.status) ? told.id : null;
}
