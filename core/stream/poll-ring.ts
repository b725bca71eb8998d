import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

export interface PollRing {
  /** Polls it again and again, first one interval from now. */
  add(poll: () => void): Cancel;
  readonly size: () => number;
}

export interface PollRingOptions {
  /** The interval of each while there are few. */
  readonly everyMs: number;
  /** Polls of all of them together; with more entries than this allows for, each waits longer for its turn. */
  readonly perSecond: number;
}

interface Entry {
  readonly poll: () => void;
  dueAt: number;
}

/** Polls whatever is watched at one shared rate, in turn: the number of watchers never adds to what a node is asked. */
export function createPollRing(clock: Clock, { everyMs, perSecond }: PollRingOptions): PollRing {
  /** In the order in which they fall due, because all have the same interval. */
  const entries = new Set<Entry>();
  let stopTicking: Cancel | null = null;

  /** A clock that was set back would leave all of them far ahead; none is ever further ahead than its interval. */
  const isDue = ({ dueAt }: Entry): boolean => dueAt <= clock.now() || dueAt > clock.now() + everyMs;

  const turn = (): void => {
    const [next] = entries;
    if (next === undefined || !isDue(next)) return;
    entries.delete(next);
    next.dueAt = clock.now() + everyMs;
    entries.add(next);
    next.poll();
  };

  return {
    size: () => entries.size,
    add(poll) {
      const entry = { poll, dueAt: clock.now() + everyMs };
      entries.add(entry);
      stopTicking ??= clock.every(1_000 / perSecond, turn);
      return () => {
        entries.delete(entry);
        if (entries.size > 0) return;
        stopTicking?.();
        stopTicking = null;
      };
    },
  };
}
