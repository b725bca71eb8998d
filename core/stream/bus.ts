import type { Cancel } from '../types.js';
import type { Logger } from '../ports/log.js';

type Listener<Event> = (event: Event) => void;

export interface Bus<Events extends object> {
  on<Kind extends keyof Events>(kind: Kind, listener: Listener<Events[Kind]>): Cancel;
  emit<Kind extends keyof Events>(kind: Kind, event: Events[Kind]): void;
}

/** Synchronous and typed. A listener that throws is reported and never stops the publisher or the other listeners. */
export function createBus<Events extends object>(onFault: (kind: keyof Events, error: unknown) => void): Bus<Events> {
  const listeners: { [Kind in keyof Events]?: Set<Listener<Events[Kind]>> } = {};

  return {
    on(kind, listener) {
      const set = (listeners[kind] ??= new Set());
      set.add(listener);
      return () => void set.delete(listener);
    },
    emit(kind, event) {
      for (const listener of [...(listeners[kind] ?? [])]) {
        try {
          listener(event);
        } catch (error) {
          onFault(kind, error);
        }
      }
    },
  };
}

/** Publishes items to listeners. A listener that throws does not affect the others. */
interface Topic<Item> {
  readonly listen: (listener: (item: Item) => void) => Cancel;
  readonly publish: (item: Item) => void;
}

export function createTopic<Item>(name: string, log: Logger): Topic<Item> {
  const bus = createBus<{ item: Item }>((_kind, error) => log.error('stream.listener-failed', { name, error }));
  return { listen: (listener) => bus.on('item', listener), publish: (item) => bus.emit('item', item) };
}

interface CrowdTopic<Item> {
  readonly listen: (listener: (item: Item) => void) => Cancel;
  /** Resolves when every listener that was subscribed at the call and still is has been called. */
  readonly publish: (item: Item) => Promise<void>;
}

/** Listeners called per turn of the event loop; this many take a few milliseconds. */
export const AT_ONCE = 200;

/** For thousands of listeners: they are called in batches, and the event loop runs in between. */
export function createCrowdTopic<Item>(name: string, log: Logger): CrowdTopic<Item> {
  const listeners = new Set<(item: Item) => void>();

  const callAll = (batch: readonly ((item: Item) => void)[], item: Item): void => {
    for (const listener of batch) {
      if (!listeners.has(listener)) continue;
      try {
        listener(item);
      } catch (error) {
        log.error('stream.listener-failed', { name, error });
      }
    }
  };

  return {
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async publish(item) {
      const all = [...listeners];
      for (let from = 0; from < all.length; from += AT_ONCE) {
        callAll(all.slice(from, from + AT_ONCE), item);
        if (all.length > AT_ONCE) await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
