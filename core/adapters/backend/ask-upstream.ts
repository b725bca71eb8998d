import { GatewayError } from '../../errors.js';
import type { Clock } from '../../ports/clock.js';
import { HttpFault, isAboutQuestion, type Http } from './http.js';
import { ShapeError } from './wire.js';

export type UpstreamName = 'charts' | 'history';

/** Upstream rejected the request itself; retrying would not help. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

export interface Upstream {
  /** One request at a time, round-robin over queues, with one retry. Rejects with Refused, or with UPSTREAM_UNAVAILABLE. */
  ask<Answer>(url: string, read: (body: unknown) => Answer, line?: string): Promise<Answer>;
}

export interface UpstreamOptions {
  readonly name: UpstreamName;
  readonly http: Http;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** 0 to 1: jitter, so that replicas do not retry simultaneously. */
  readonly random: () => number;
}

const RETRY_MS = 250;
/** Longest retry-after that a client is kept waiting for. */
const LONGEST_RETRY_MS = 2_000;
/** After a failure requests are rejected for a moment, because all queued ones would wait for the same timeout. */
const COOLDOWN_MS = 2_000;
const LONGEST_COOLDOWN_MS = 60_000;
const MAX_WAITING = { perLine: 32, total: 256 } as const;

/** For requests a client waits for: they fail quickly, and never pile up before an unresponsive host. */
export function createUpstream({ name, http, clock, signal, random }: UpstreamOptions): Upstream {
  const queue = createFairQueue(MAX_WAITING);
  let closedUntil = 0;

  const unavailable = (cause?: unknown): GatewayError => new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: name }, { cause });

  const once = async <Answer>(url: string, read: (body: unknown) => Answer): Promise<Answer> => {
    try {
      return read(await http.getJson(url, signal));
    } catch (error) {
      if (error instanceof HttpFault && isAboutQuestion(error.status)) throw new Refused(error.message, { cause: error });
      throw error;
    }
  };

  const twice = async <Answer>(url: string, read: (body: unknown) => Answer): Promise<Answer> => {
    if (signal.aborted || clock.now() < closedUntil) throw unavailable();
    try {
      return await once(url, read);
    } catch (error) {
      const waitMs = retryAfterOf(error);
      if (waitMs === null || waitMs > LONGEST_RETRY_MS) throw error;
      await clock.sleep(Math.max(RETRY_MS * (0.5 + random() / 2), waitMs), signal);
      return once(url, read);
    }
  };

  const attempt = async <Answer>(url: string, read: (body: unknown) => Answer): Promise<Answer> => {
    try {
      return await twice(url, read);
    } catch (error) {
      const waitMs = retryAfterOf(error);
      if (waitMs === null) throw error;
      closedUntil = clock.now() + Math.min(Math.max(COOLDOWN_MS, waitMs), LONGEST_COOLDOWN_MS);
      throw unavailable(error);
    }
  };

  return {
    ask: (url, read, line = '') => queue.take(line, () => attempt(url, read)) ?? Promise.reject(unavailable()),
  };
}

/** The retry-after of a transient failure; null for a permanent one. */
function retryAfterOf(error: unknown): number | null {
  if (error instanceof HttpFault) return error.retryAfterMs;
  return error instanceof ShapeError ? 0 : null;
}

interface FairQueue {
  /** Runs when its queue has its turn; null when the queue or the total is full. */
  take<Result>(line: string, work: () => Promise<Result>): Promise<Result> | null;
}

interface QueueLimits {
  readonly perLine: number;
  readonly total: number;
}

/** Runs one task at a time, round-robin over named queues, so that a long queue delays only its own tasks. */
export function createFairQueue({ perLine, total }: QueueLimits): FairQueue {
  const lines = new Map<string, (() => Promise<unknown>)[]>();
  let waiting = 0;
  let isBusy = false;

  /** A queue that had its turn moves to the end. */
  const next = (): (() => Promise<unknown>) | undefined => {
    for (const [line, works] of lines) {
      const work = works.shift();
      lines.delete(line);
      if (works.length > 0) lines.set(line, works);
      if (work !== undefined) return work;
    }
    return undefined;
  };

  const run = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    for (let work = next(); work !== undefined; work = next()) {
      await work();
      waiting -= 1;
    }
    isBusy = false;
  };

  return {
    take(line, work) {
      const works = lines.get(line) ?? [];
      if (waiting >= total || works.length >= perLine) return null;
      waiting += 1;
      return new Promise((resolve, reject) => {
        // Never rejects: a failure concerns its caller only, not the next task.
        works.push(() => work().then(resolve, reject));
        lines.set(line, works);
        void run();
      });
    },
  };
}
