import { GatewayError, type LimitScope } from '../errors.js';
import type { AdmissionStore } from '../ports/stores/access.js';
import type { Logger } from '../ports/log.js';
import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';
import { addressBucket } from './client-address.js';

/** Fixed windows of one minute, aligned to the clock, so that they are the same on every replica. */
export const WINDOW_MS = 60_000;

/** Requests per window. */
export type LimitNumbers = Readonly<Record<LimitScope, number>>;

export const LAUNCH_LIMITS: LimitNumbers = { ip: 600, agent: 300, 'agent-writes': 60 };

/** Orders and changes per facade trader and window at the launch limit of 60 writes; scaled with that limit. */
const LAUNCH_ITEMS = 400;
export const itemLimit = (limits: LimitNumbers): number =>
  Math.floor((limits['agent-writes'] * LAUNCH_ITEMS) / LAUNCH_LIMITS['agent-writes']);

/** The state of a rate limit after counting a request. */
export interface Window {
  readonly scope: LimitScope;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the window ends, 1 to 60. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** Epoch ms at which the window began. */
export const windowStart = (now: number): number => now - (now % WINDOW_MS);

/** `used` includes the request itself: the request that reaches the limit is still allowed. */
export const measureWindow = (scope: LimitScope, limit: number, used: number, now: number): Window => ({
  scope,
  limit,
  remaining: Math.max(0, limit - used),
  resetSeconds: Math.ceil((windowStart(now) + WINDOW_MS - now) / 1000),
  isExceeded: used > limit,
});

/** The most restrictive window: an exceeded one, then the one with the least remaining, then the smaller limit. */
export function tightestWindow(windows: readonly Window[]): Window | null {
  const tighter = (a: Window, b: Window): Window => {
    if (a.isExceeded !== b.isExceeded) return a.isExceeded ? a : b;
    if (a.remaining !== b.remaining) return a.remaining < b.remaining ? a : b;
    return a.limit <= b.limit ? a : b;
  };
  return windows.length === 0 ? null : windows.reduce(tighter);
}

export function refuseExceeded(windows: readonly Window[]): void {
  for (const { isExceeded, scope, resetSeconds } of windows)
    if (isExceeded) throw new GatewayError('RATE_LIMITED', { scope, retryAfterSeconds: resetSeconds });
}

export interface IpLimits {
  /** Counts a request of an address, or its weight, and returns its window. In memory only. */
  count(bucket: string, weight?: number): Window;
  /** Adds weight for a request that is already answered; it counts against the following ones. */
  charge(bucket: string, weight: number): void;
  /** Stops merging. */
  stop(): void;
}

export interface IpLimitsOptions {
  readonly limit: number;
  /** Name of the counter in the database; default: requests per IP. */
  readonly subject?: string;
  readonly store: Pick<AdmissionStore, 'addCounts'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Counter {
  /** Allowed by this replica. */
  local: number;
  /** Of these, already added to the database. */
  reported: number;
  /** Allowed by other replicas, as of the last merge. */
  elsewhere: number;
}

export const MERGE_MS = 100;

/**
 * Counts in memory and merges with the other replicas in the background, all addresses in one statement, at most every MERGE_MS, so that public
 * reads never wait for the database. No replica allows more than the limit; together they exceed it by at most what the others allow between
 * two merges, and while the database is down by at most one limit per other replica.
 */
export function createIpLimits({ limit, subject = 'ip', store, clock, log }: IpLimitsOptions): IpLimits {
  let window = 0;
  let counters = new Map<string, Counter>();
  let unreported = new Set<string>();
  let isMerging = false;
  let isBroken = false;
  let isStopped = false;
  let cancel: Cancel = () => undefined;

  const enter = (current: number): void => {
    if (current === window) return;
    window = current;
    counters = new Map();
    unreported = new Set();
  };

  const counterOf = (bucket: string): Counter => {
    const known = counters.get(bucket);
    if (known !== undefined) return known;
    const made = { local: 0, reported: 0, elsewhere: 0 };
    counters.set(bucket, made);
    return made;
  };

  const schedule = (): void => {
    if (isMerging || isStopped) return;
    isMerging = true;
    cancel = clock.after(MERGE_MS, () => void merge());
  };

  const merge = async (): Promise<void> => {
    const merged = [...unreported].map((bucket) => {
      const counter = counterOf(bucket);
      return { counter, bucket, local: counter.local, requests: counter.local - counter.reported };
    });
    const isOver = windowStart(clock.now()) !== window;
    unreported = new Set();
    if (!isOver) await report(window, merged);
    isMerging = false;
    if (unreported.size > 0) schedule();
  };

  const report = async (
    start: number,
    merged: readonly { counter: Counter; bucket: string; local: number; requests: number }[],
  ): Promise<void> => {
    try {
      const totals = await store.addCounts(
        start,
        merged.map(({ bucket, requests }) => ({ subject: `${subject}:${bucket}`, requests })),
      );
      merged.forEach(({ counter, local }, index) => {
        counter.reported = local;
        counter.elsewhere = Math.max(0, (totals[index] ?? local) - local);
      });
      if (isBroken) log.info('limits.merged-again');
      isBroken = false;
    } catch (error) {
      // The database may have counted these; they are reported again, so that an address is counted too high rather than too low.
      if (start === window) for (const { bucket } of merged) unreported.add(bucket);
      if (!isBroken) log.warn('limits.not-merged', { error });
      isBroken = true;
    }
  };

  const add = (bucket: string, counter: Counter, weight: number): void => {
    counter.local += weight;
    unreported.add(bucket);
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

export interface ExpensiveRequests {
  /** Runs the work after earlier work of the same address. Throws RATE_LIMITED when too many requests of the address are waiting. */
  take<Result>(address: string, work: () => Promise<Result>): Promise<Result>;
}

/** Waiting requests per address. */
const MAX_WAITING = 20;

interface Lane {
  last: Promise<void>;
  waiting: number;
}

/** Serialises CPU-intensive requests per address, so that one client does not delay the requests of others. */
export function createExpensiveRequests(): ExpensiveRequests {
  const lanes = new Map<string, Lane>();
  return {
    async take(address, work) {
      const bucket = addressBucket(address);
      const lane = lanes.get(bucket) ?? { last: Promise.resolve(), waiting: 0 };
      if (lane.waiting > MAX_WAITING) {
        const reason = 'Too many long requests of this ip wait for their answers';
        throw new GatewayError('RATE_LIMITED', { scope: 'ip', retryAfterSeconds: 1, reason });
      }
      lanes.set(bucket, lane);
      lane.waiting += 1;
      const before = lane.last;
      let done = (): void => undefined;
      lane.last = new Promise((resolve) => (done = resolve));
      try {
        await before;
        return await work();
      } finally {
        lane.waiting -= 1;
        if (lane.waiting === 0) lanes.delete(bucket);
        // The next one starts in a later turn of the event loop, after other pending requests.
        setImmediate(done);
      }
    },
  };
}
