import type { Connection } from './connection.js';
import type { Cancel } from '../types.js';

export interface OutboxLimits {
  /** While more than this is handed to the network and not yet taken, messages wait in the queue. */
  readonly inFlight: number;
  /** Maximum queue length before the connection is closed as too slow. */
  readonly queued: number;
}

/** Characters, which for our messages are bytes. */
export const OUTBOX_LIMITS: OutboxLimits = { inFlight: 64 * 1024, queued: 1024 * 1024 };

/** A message whose text is built only when it can be sent, so that waiting costs no memory. */
export interface Offer {
  /** Null when there is nothing to send any more. */
  take(): string | null;
}

export interface Outbox {
  /** Sent in order and never dropped: a connection whose queue exceeds the limit is closed. */
  push(text: string): void;
  /** Calls `take` as soon as the message can be sent; offered again before that, it keeps its place and is taken once. */
  offer(offer: Offer): void;
  withdraw(offer: Offer): void;
  /** Resolves when the queue is empty or the outbox has ended. */
  whenEmpty(): Promise<void>;
  /** Drops the queue and ignores further messages. */
  end(): void;
}

export interface OutboxEvents {
  /** The queue exceeded its limit; nothing more is sent. */
  readonly onSlow: () => void;
  /** An offer's `take` threw; it is skipped. */
  readonly onFault: (error: unknown) => void;
}

/** Back-pressure of one connection: its queue is bounded whatever it subscribes to and however slowly the client reads. */
export function createOutbox(line: Pick<Connection, 'send'>, limits: OutboxLimits, { onSlow, onFault }: OutboxEvents): Outbox {
  let queue: string[] = [];
  let queued = 0;
  let inFlight = 0;
  let isPumping = false;
  let isEnded = false;
  let waiting: (() => void)[] = [];
  const offers = new Set<Offer>();

  const textOf = (offer: Offer): string | null => {
    try {
      return offer.take();
    } catch (error) {
      onFault(error);
      return null;
    }
  };

  const nextText = (): string | null => {
    const next = queue.shift();
    if (next !== undefined) {
      queued -= next.length;
      return next;
    }
    for (const offer of offers) {
      offers.delete(offer);
      const text = textOf(offer);
      if (text !== null) return text;
    }
    return null;
  };

  const transmit = (text: string): void => {
    inFlight += text.length;
    line.send(text, () => {
      inFlight -= text.length;
      pump();
    });
  };

  const pump = (): void => {
    if (isPumping || isEnded) return;
    isPumping = true;
    while (inFlight < limits.inFlight) {
      const text = nextText();
      if (text === null) {
        wake();
        break;
      }
      transmit(text);
    }
    isPumping = false;
  };

  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };

  const end = (): void => {
    isEnded = true;
    queue = [];
    queued = 0;
    offers.clear();
    wake();
  };

  return {
    end,
    push(text) {
      if (isEnded) return;
      queue.push(text);
      queued += text.length;
      pump();
      if (queued <= limits.queued) return;
      end();
      onSlow();
    },
    offer(offer) {
      if (isEnded) return;
      offers.add(offer);
      pump();
    },
    withdraw: (offer) => void offers.delete(offer),
    whenEmpty: () =>
      isEnded || (queue.length === 0 && offers.size === 0) ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  };
}

interface Conflated<Change> {
  readonly publish: (change: Change) => void;
  readonly stop: Cancel;
}

/** Conflates changes of which only the merged result matters: a change that cannot be sent yet is merged with later ones and sent as one message. */
export function createConflated<Change>(
  outbox: Outbox,
  merge: (waiting: Change, next: Change) => Change,
  format: (change: Change) => string,
): Conflated<Change> {
  let waiting: { readonly change: Change } | null = null;
  const offer = {
    take(): string | null {
      if (waiting === null) return null;
      const { change } = waiting;
      waiting = null;
      return format(change);
    },
  };
  return {
    publish(change) {
      waiting = { change: waiting === null ? change : merge(waiting.change, change) };
      outbox.offer(offer);
    },
    stop() {
      waiting = null;
      outbox.withdraw(offer);
    },
  };
}

/** The last item per key wins; items keep the order of first appearance. */
export const mergeBy =
  <Item>(keyOf: (item: Item) => string | number) =>
  (earlier: readonly Item[], later: readonly Item[]): readonly Item[] => [
    ...new Map([...earlier, ...later].map((item) => [keyOf(item), item])).values(),
  ];

interface KeyedOutbox {
  /** A later frame of the same key replaces one that was not sent yet. */
  put(key: string, text: string): void;
  readonly stop: Cancel;
}

/** For frames of which only the newest per key matters: a slow connection gets fewer of them, and holds at most one of each. */
export function createKeyedOutbox(outbox: Outbox): KeyedOutbox {
  const waiting = new Map<string, string>();
  const offer = {
    take(): string | null {
      const [next] = waiting;
      if (next === undefined) return null;
      const [key, text] = next;
      waiting.delete(key);
      if (waiting.size > 0) outbox.offer(offer);
      return text;
    },
  };
  return {
    put(key, text) {
      waiting.set(key, text);
      outbox.offer(offer);
    },
    stop() {
      waiting.clear();
      outbox.withdraw(offer);
    },
  };
}
