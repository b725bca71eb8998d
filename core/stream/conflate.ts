import type { Cancel } from '../types.js';
import type { Outbox } from './outbox.js';

export interface Conflated<Change> {
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
