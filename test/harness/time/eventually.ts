import { inspect } from 'node:util';
import type { ShiftedClock } from './shifted-clock.js';

/** What is read runs in this process, so every read takes time from what it waits for: reading takes at most a quarter of the time. */
const PAUSE_PER_READ = 3;
/** The longer a condition has not held, the more seldom it is read. */
const SHARE_OF_WAIT = 1 / 20;
const SHORTEST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 100;

/** One bound for all: a test must not fail because the machine is busy with something else. */
const AT_MOST_MS = 110_000;

/** Polls a condition of the running system until it holds; fails with what it last saw. */
export async function eventually<Value>(read: () => Value | Promise<Value>, holds: (value: Value) => boolean): Promise<Value> {
  const first = performance.now();
  const end = Date.now() + AT_MOST_MS;
  for (;;) {
    const begun = performance.now();
    const value = await read();
    if (holds(value)) return value;
    const pauseMs = Math.min(
      LONGEST_PAUSE_MS,
      Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_READ * (performance.now() - begun), SHARE_OF_WAIT * (begun - first)),
    );
    if (Date.now() > end) throw new Error(`the condition did not come true within ${AT_MOST_MS} ms; last seen: ${describe(value)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

const describe = (value: unknown): string => inspect(value).slice(0, 400);

/** Resolves when the condition is true. */
export const until = async (condition: () => boolean): Promise<void> => {
  await eventually(condition, (value) => value);
};

/** What passes with every read. */
const STEP_MS = 100;

/** For what happens only after a rest or a wait of its own: the time of its clock passes faster while the condition is polled. */
export const eventuallyOn =
  (clock: () => ShiftedClock): typeof eventually =>
  (read, holds) =>
    eventually(() => {
      clock().pass(STEP_MS);
      return read();
    }, holds);
