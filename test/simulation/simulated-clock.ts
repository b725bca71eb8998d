import type { Clock } from '../../core/ports/clock.js';
import type { Owner, Scheduler } from './scheduler.js';

/** Where the time of a run begins unless its plan says otherwise: a Monday within the hours of every market. */
export const EPOCH = Date.UTC(2026, 0, 5, 15, 0, 0);

export interface SimulatedClock extends Clock {
  /** Steps the wall clock; durations do not see it. */
  step(ms: number): void;
}

/** The clock of one owner: its timers are events of the scheduler. */
export function createSimulatedClock(scheduler: Scheduler, owner: Owner): SimulatedClock {
  const timers = scheduler.lane(owner, `${owner}/timers`);
  let offset = 0;
  /** What a sleep leaves at its signal. Node keeps every combined signal that is listened to, and with it all that the owner made. */
  const asleep = new Set<() => void>();
  let isDead = false;
  scheduler.onDeath(owner, () => {
    isDead = true;
    asleep.forEach((forget) => forget());
  });
  const wait = (ms: number): number => Math.max(0, Math.ceil(ms));
  const clock: SimulatedClock = {
    now: () => scheduler.epoch + offset + scheduler.now(),
    monotonic: () => scheduler.now(),
    after: (ms, task) => timers.schedule(wait(ms), 'timer', task),
    every(ms, task) {
      let cancel = (): void => undefined;
      const again = (): void => {
        cancel = timers.schedule(Math.max(1, wait(ms)), 'interval', () => {
          again();
          task();
        });
      };
      again();
      return () => cancel();
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        if (isDead) return;
        const done = (): void => {
          cancel();
          forget();
          resolve();
        };
        const forget = (): void => {
          asleep.delete(forget);
          signal?.removeEventListener('abort', done);
        };
        const cancel = timers.schedule(wait(ms), 'sleep', done);
        asleep.add(forget);
        signal?.addEventListener('abort', done);
      }),
    step: (ms) => void (offset += ms),
  };
  return clock;
}
