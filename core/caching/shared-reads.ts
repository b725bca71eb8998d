import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.js';
import type { Clock } from '../ports/clock.js';

/** A question to a node or to the database, and its answer once it is there. */
export interface Read<Answer, About extends readonly unknown[]> {
  /** When the question was sent; its age is counted from here. */
  readonly askedAt: number;
  readonly answer: Promise<Answer>;
  /** What the question contained beyond its key. */
  readonly about: About;
  readonly isDone: boolean;
}

/**
 * The last read of each key. Callers share a read while it is under way, and afterwards until it is too old. A failed read is not kept: the
 * good one before it stays, with its own age.
 */
export interface SharedReads<Key, Answer, About extends readonly unknown[] = []> {
  /** The answer of a read that is young enough, else of a new one. */
  get(key: Key, ask: () => Promise<Answer>, ...about: About): Promise<Answer>;
  /** The last read while it is young enough. */
  recent(key: Key): Read<Answer, About> | undefined;
  /** The last read, however old. */
  last(key: Key): Read<Answer, About> | undefined;
  /** Keeps a read that starts now, in place of the last one. */
  keep(key: Key, answer: Promise<Answer>, ...about: About): Read<Answer, About>;
  forget(key: Key): void;
}

export interface SharedReadsOptions<Answer> {
  readonly maxAgeMs: number;
  /** Keys; beyond this the one that was not asked for longest is dropped. */
  readonly max?: number;
  /** Other answers are given to those who wait for them and then forgotten. */
  readonly isKept?: (answer: Answer) => boolean;
}

const MAX_KEPT = 10_000;

export function createSharedReads<Key extends string | number, Answer, About extends readonly unknown[] = []>(
  clock: Pick<Clock, 'now'>,
  { maxAgeMs, max = MAX_KEPT, isKept = () => true }: SharedReadsOptions<Answer>,
): SharedReads<Key, Answer, About> {
  type Kept = Read<Answer, About> & { isDone: boolean };
  const reads = new LRUCache<Key, Kept>(atMost(max));

  const recent = (key: Key): Kept | undefined => {
    const read = reads.get(key);
    // A clock that was set back must not prolong it.
    return read && Math.abs(clock.now() - read.askedAt) < maxAgeMs ? read : undefined;
  };

  const keep = (key: Key, answer: Promise<Answer>, ...about: About): Kept => {
    const before = reads.get(key);
    const read: Kept = { askedAt: clock.now(), answer, about, isDone: false };
    const replaceBy = (other: Kept | undefined): void => {
      if (reads.get(key) !== read) return;
      if (other) reads.set(key, other);
      else reads.delete(key);
    };
    answer.then(
      (given) => {
        read.isDone = true;
        if (!isKept(given)) replaceBy(undefined);
      },
      () => replaceBy(before?.isDone === true ? before : undefined),
    );
    reads.set(key, read);
    return read;
  };

  return {
    get: (key, ask, ...about) => (recent(key) ?? keep(key, ask(), ...about)).answer,
    recent,
    last: (key) => reads.get(key),
    keep,
    forget: (key) => void reads.delete(key),
  };
}

/** Memoises by object: a message sent on a thousand connections is serialised once, a venue has one of each cache. */
export function createOnce<Item extends object, Made>(make: (item: Item) => Made): (item: Item) => Made {
  const known = new WeakMap<Item, { readonly made: Made }>();
  return (item) => {
    const found = known.get(item);
    if (found) return found.made;
    const made = make(item);
    known.set(item, { made });
    return made;
  };
}
