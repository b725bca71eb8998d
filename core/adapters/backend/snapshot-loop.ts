import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import { createBackoff } from './backoff.js';
import { HttpFault } from './http.js';
import { ShapeError } from './problems.js';

const REFETCH_MS = 60_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 30_000;
/** Hints may come with every trade; they trigger snapshots at most this often. */
const HINT_INTERVAL_MS = 5_000;

export interface SnapshotLoop {
  /** Resolves after the first attempt, successful or not. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Requests an early snapshot, but not before upstream's retry-after. */
  hint(): void;
  fault(): string | null;
}

export interface SnapshotLoopOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
  /** Fetches and stores one snapshot; throws HttpFault or ShapeError on failure. */
  readonly take: (signal: AbortSignal) => Promise<void>;
}

export function createSnapshotLoop({ clock, log, random, take }: SnapshotLoopOptions): SnapshotLoop {
  const backoff = createBackoff(FIRST_RETRY_MS, LAST_RETRY_MS, random);
  const stopping = new AbortController();
  let wake = new AbortController();
  let fault: string | null = null;
  let isHinted = false;
  let takenAt = 0;
  let loop: Promise<void> = Promise.resolve();

  /** Returns the delay until the next attempt. No upstream failure may end the loop. */
  const attempt = async (): Promise<number> => {
    takenAt = clock.now();
    isHinted = false;
    try {
      await take(stopping.signal);
      fault = null;
      backoff.reset();
      return REFETCH_MS;
    } catch (error) {
      const isExpected = error instanceof HttpFault || error instanceof ShapeError;
      fault = isExpected ? error.message : 'the snapshot could not be handled';
      if (!stopping.signal.aborted)
        log[isExpected ? 'warn' : 'error']('feed.snapshot-refused', { reason: fault, ...(!isExpected && { error }) });
      return backoff.next(error instanceof HttpFault ? error.retryAfterMs : 0);
    }
  };

  const run = async (firstDelay: number): Promise<void> => {
    let dueAt = clock.now() + firstDelay;
    while (!stopping.signal.aborted) {
      const due = isHinted && fault === null ? Math.min(dueAt, takenAt + HINT_INTERVAL_MS) : dueAt;
      if (due <= clock.now()) dueAt = clock.now() + (await attempt());
      else {
        wake = new AbortController();
        await clock.sleep(due - clock.now(), wake.signal);
      }
    }
  };

  return {
    async start() {
      loop = run(await attempt());
    },
    async stop() {
      stopping.abort();
      wake.abort();
      await loop;
    },
    hint() {
      isHinted = true;
      wake.abort();
    },
    fault: () => fault,
  };
}
