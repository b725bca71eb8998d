import { sleepWith, systemClock } from '../../../core/adapters/system/clock.js';
import type { Clock } from '../../../core/ports/clock.js';

export interface ShiftedClock extends Clock {
  /** From now on it is this much later, without a timer having noticed. */
  move(ms: number): void;
  /** It is this much later, and what was to happen in this time happens now, each timer once. What is under way may run into its time limit. */
  pass(ms: number): void;
}

interface Timer {
  dueAt: number;
  /** Runs its task now, in place of the time it was set for. */
  readonly run: () => void;
}

/** The time of the machine, plus what a test says. */
export function createShiftedClock(): ShiftedClock {
  const timers = new Set<Timer>();
  let offset = 0;
  const now = (): number => systemClock.now() + offset;

  const after: Clock['after'] = (ms, task) => {
    const run = (): void => {
      stop();
      task();
    };
    const cancel = systemClock.after(ms, run);
    const timer = { dueAt: now() + ms, run };
    const stop = (): void => {
      cancel();
      timers.delete(timer);
    };
    timers.add(timer);
    return stop;
  };

  const every: Clock['every'] = (ms, task) => {
    const run = (): void => {
      timer.dueAt = now() + ms;
      task();
    };
    const timer: Timer = { dueAt: now() + ms, run };
    const cancel = systemClock.every(ms, run);
    timers.add(timer);
    return () => {
      cancel();
      timers.delete(timer);
    };
  };

  return {
    ...systemClock,
    now,
    after,
    every,
    sleep: sleepWith(after),
    move: (ms) => void (offset += ms),
    pass(ms) {
      const until = now() + ms;
      const due = [...timers].filter(({ dueAt }) => dueAt <= until).sort((a, b) => a.dueAt - b.dueAt);
      offset += ms;
      for (const timer of due) if (timers.has(timer)) timer.run();
    },
  };
}
