import { createBus } from '../bus.js';
import type { Logger } from '../ports/log.js';
import type { Cancel } from '../types.js';

/** Something that changes, and those who want to know. A listener that fails harms no other. */
export interface Topic<Item> {
  readonly listen: (listener: (item: Item) => void) => Cancel;
  readonly tell: (item: Item) => void;
}

export function createTopic<Item>(name: string, log: Logger): Topic<Item> {
  const bus = createBus<{ item: Item }>((_kind, error) => log.error('stream.listener-failed', { name, error }));
  return { listen: (listener) => bus.on('item', listener), tell: (item) => bus.emit('item', item) };
}

export interface CrowdTopic<Item> {
  readonly listen: (listener: (item: Item) => void) => Cancel;
  /** Resolves when everybody knows who listened when it was told and still does; the next item waits for that. */
  readonly tell: (item: Item) => Promise<void>;
}

/** So many lines take a few milliseconds; then it is somebody else's turn. */
export const AT_ONCE = 200;

/** For those who may be thousands: they are told in turns, and whatever else the process has to do is done between them. */
export function createCrowdTopic<Item>(name: string, log: Logger): CrowdTopic<Item> {
  const listeners = new Set<(item: Item) => void>();

  const tellSome = (some: readonly ((item: Item) => void)[], item: Item): void => {
    for (const listener of some) {
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
    async tell(item) {
      const all = [...listeners];
      for (let from = 0; from < all.length; from += AT_ONCE) {
        tellSome(all.slice(from, from + AT_ONCE), item);
        if (all.length > AT_ONCE) await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
