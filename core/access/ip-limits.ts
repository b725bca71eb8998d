import type { AdmissionStore } from './admission.js';
import { measureWindow, windowStart, type Window } from './limits.js';
import type { Logger } from '../ports/log.js';
import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

export interface IpLimits {
  /** Counts a request of an address, or what it weighs, and measures its window. No database, no waiting. */
  count(bucket: string, weight?: number): Window;
  /** Adds what a request turned out to weigh besides: it is answered already, those after it pay. */
  charge(bucket: string, weight: number): void;
  /** Merges no more. */
  stop(): void;
}

export interface IpLimitsOptions {
  readonly limit: number;
  /** What is counted, for the database; requests unless it says otherwise. */
  readonly subject?: string;
  readonly store: Pick<AdmissionStore, 'addCounts'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Counter {
  /** Let through by this replica. */
  local: number;
  /** Of these, told to the database. */
  told: number;
  /** Let through by the other replicas, as of the last merge. */
  elsewhere: number;
}

export const MERGE_MS = 100;

/**
 * Counts in memory and merges with the other replicas in the background, all addresses in one statement, at most every MERGE_MS: hot public
 * reads never wait for the database. No replica lets more than the limit through; together they overshoot it by at most what the others
 * let through between two merges, and while the database is down by at most one limit for each other replica.
 */
export function createIpLimits({ limit, subject = 'ip', store, clock, log }: IpLimitsOptions): IpLimits {
  let window = 0;
  let counters = new Map<string, Counter>();
  let untold = new Set<string>();
  let isMerging = false;
  let isBroken = false;
  let isStopped = false;
  let cancel: Cancel = () => undefined;

  const enter = (current: number): void => {
    if (current === window) return;
    window = current;
    counters = new Map();
    untold = new Set();
  };

  const counterOf = (bucket: string): Counter => {
    const known = counters.get(bucket);
    if (known !== undefined) return known;
    const made = { local: 0, told: 0, elsewhere: 0 };
    counters.set(bucket, made);
    return made;
  };

  const schedule = (): void => {
    if (isMerging || isStopped) return;
    isMerging = true;
    cancel = clock.after(MERGE_MS, () => void merge());
  };

  const merge = async (): Promise<void> => {
    const merged = [...untold].map((bucket) => {
      const counter = counterOf(bucket);
      return { counter, bucket, local: counter.local, requests: counter.local - counter.told };
    });
    const isOver = windowStart(clock.now()) !== window;
    untold = new Set();
    if (!isOver) await tell(window, merged);
    isMerging = false;
    if (untold.size > 0) schedule();
  };

  const tell = async (
    start: number,
    merged: readonly { counter: Counter; bucket: string; local: number; requests: number }[],
  ): Promise<void> => {
    try {
      const totals = await store.addCounts(
        start,
        merged.map(({ bucket, requests }) => ({ subject: `${subject}:${bucket}`, requests })),
      );
      merged.forEach(({ counter, local }, index) => {
        counter.told = local;
        counter.elsewhere = Math.max(0, (totals[index] ?? local) - local);
      });
      if (isBroken) log.info('limits.merged-again');
      isBroken = false;
    } catch (error) {
      // What the database may have counted is told again: for the rest of the minute an address is counted too high rather than too low.
      if (start === window) for (const { bucket } of merged) untold.add(bucket);
      if (!isBroken) log.warn('limits.not-merged', { error });
      isBroken = true;
    }
  };

  const add = (bucket: string, counter: Counter, weight: number): void => {
    counter.local += weight;
    untold.add(bucket);
    schedule();
  };

  return {
    count(bucket, weight = 1) {
      const now = clock.now();
      enter(windowStart(now));
      const counter = counterOf(bucket);
      const measured = measureWindow('ip', limit, counter.local + counter.elsewhere + weight, now);
      if (!measured.isExceeded) add(bucket, counter, weight);
      return measured;
    },
    charge(bucket, weight) {
      enter(windowStart(clock.now()));
      add(bucket, counterOf(bucket), weight);
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
