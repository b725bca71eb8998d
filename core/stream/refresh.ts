import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

export interface Refresh {
  /** Runs at once; during a run or within `gapMs` after it, requests are merged into one further run. */
  ask(): void;
  readonly stop: Cancel;
}

export function createRefresh(clock: Clock, gapMs: number, run: () => Promise<void>): Refresh {
  let isAsked = false;
  let isBusy = false;
  let isStopped = false;
  let cancel: Cancel = () => undefined;

  const begin = (): void => {
    isBusy = true;
    isAsked = false;
    void run().finally(() => {
      if (!isStopped) cancel = clock.after(gapMs, rest);
    });
  };

  const rest = (): void => {
    isBusy = false;
    if (isAsked) begin();
  };

  return {
    ask() {
      isAsked = true;
      if (!isBusy && !isStopped) begin();
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}

export interface PollRing {
  /** Calls `poll` repeatedly, first after one interval. */
  add(poll: () => void): Cancel;
  readonly size: () => number;
}

export interface PollRingOptions {
  /** The interval per entry while the shared rate allows it. */
  readonly everyMs: number;
  /** Polls of all entries together; with many entries the interval of each grows. */
  readonly perSecond: number;
}

interface Entry {
  readonly poll: () => void;
  dueAt: number;
}

/** Polls all entries round-robin at one shared rate, so that the load on the node does not grow with the number of entries. */
export function createPollRing(clock: Clock, { everyMs, perSecond }: PollRingOptions): PollRing {
  /** Ordered by due time, because all have the same interval. */
  const entries = new Set<Entry>();
  let stopTicking: Cancel | null = null;

  /** An entry due later than one interval from now means the clock was set back; it counts as due. */
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
