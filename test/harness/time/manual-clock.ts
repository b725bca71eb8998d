import { sleepWith } from '../../../core/adapters/system/clock.js';
import type { Clock } from '../../../core/ports/clock.js';
import type { Cancel } from '../../../core/types.js';

interface Timer {
  dueAt: number;
  readonly everyMs: number | null;
  readonly task: () => void;
}

export interface ManualClock extends Clock {
  /** Moves time, running what falls due in the order in which it falls due. */
  advance(ms: number): void;
  /** The same in steps, letting sockets and promises have their turn in between. */
  pass(ms: number, stepMs?: number): Promise<void>;
  readonly pending: number;
  /** When the last of the pending timers falls due; the current time if none is pending. */
  readonly lastDueAt: number;
}

/** Time that stands still until a test moves it. */
export function createManualClock(start = Date.UTC(2026, 0, 6, 15)): ManualClock {
  const timers = new Set<Timer>();
  let now = start;

  const add = (ms: number, everyMs: number | null, task: () => void): Cancel => {
    const timer: Timer = { dueAt: now + ms, everyMs, task };
    timers.add(timer);
    return () => void timers.delete(timer);
  };

  const nextDue = (until: number): Timer | undefined =>
    [...timers].filter(({ dueAt }) => dueAt <= until).sort((a, b) => a.dueAt - b.dueAt)[0];

  const advance = (ms: number): void => {
    const until = now + ms;
    for (let timer = nextDue(until); timer; timer = nextDue(until)) {
      now = Math.max(now, timer.dueAt);
      if (timer.everyMs === null) timers.delete(timer);
      else timer.dueAt += timer.everyMs;
      timer.task();
    }
    now = until;
  };

  return {
    now: () => now,
    monotonic: () => now,
    after: (ms, task) => add(ms, null, task),
    every: (ms, task) => add(ms, ms, task),
    sleep: sleepWith((ms, task) => add(ms, null, task)),
    advance,
    async pass(ms, stepMs = 100) {
      for (let left = ms; left > 0; left -= stepMs) {
        advance(Math.min(stepMs, left));
        await new Promise(setImmediate);
      }
    },
    get pending() {
      return timers.size;
    },
    get lastDueAt() {
      return Math.max(now, ...[...timers].map(({ dueAt }) => dueAt));
    },
  };
}
