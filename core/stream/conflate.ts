import type { Cancel } from '../types.js';
import type { Outbox } from './outbox.js';

export interface Conflated<Change> {
  readonly tell: (change: Change) => void;
  readonly stop: Cancel;
}

/** Changes of which only the sum matters: what cannot be sent at once is merged with what comes, and said in one piece later. */
export function createConflated<Change>(
  outbox: Outbox,
  merge: (waiting: Change, next: Change) => Change,
  say: (change: Change) => string,
): Conflated<Change> {
  let waiting: { readonly change: Change } | null = null;
  const offer = {
    take(): string | null {
      if (waiting === null) return null;
      const { change } = waiting;
      waiting = null;
      return say(change);
    },
  };
  return {
    tell(change) {
      waiting = { change: waiting === null ? change : merge(waiting.change, change) };
      outbox.offer(offer);
    },
    stop() {
      waiting = null;
      outbox.withdraw(offer);
    },
  };
}

/** The later one of a kind wins; the order is that of first appearance. */
export const mergeBy =
  <Item>(keyOf: (item: Item) => string | number) =>
  (earlier: readonly Item[], later: readonly Item[]): readonly Item[] => [
    ...new Map([...earlier, ...later].map((item) => [keyOf(item), item])).values(),
  ];
