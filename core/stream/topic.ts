import { createBus } from '../bus.js';
import type { Cancel, Logger } from '../ports.js';

/** Something that changes, and those who want to know. A listener that fails harms no other. */
export interface Topic<Item> {
  readonly listen: (listener: (item: Item) => void) => Cancel;
  readonly tell: (item: Item) => void;
}

export function createTopic<Item>(name: string, log: Logger): Topic<Item> {
  const bus = createBus<{ item: Item }>((_kind, error) => log.error('stream.listener-failed', { name, error }));
  return { listen: (listener) => bus.on('item', listener), tell: (item) => bus.emit('item', item) };
}
