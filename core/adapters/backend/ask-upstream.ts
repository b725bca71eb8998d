import { GatewayError } from '../../errors.js';
import type { Clock } from '../../ports/clock.js';
import { createFairQueue } from './fair-queue.js';
import { HttpFault, isAboutQuestion, type Http } from './http.js';
import { ShapeError } from './problems.js';

export type UpstreamName = 'charts' | 'history';

/** Upstream understood the question and will not answer it; asking again would not help. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

export interface Upstream {
  /** One question at a time, lines in turns, with one more try. Rejects with Refused, or with UPSTREAM_UNAVAILABLE. */
  ask<Answer>(url: string, read: (body: unknown) => Answer, line?: string): Promise<Answer>;
}

export interface UpstreamOptions {
  readonly name: UpstreamName;
  readonly http: Http;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** 0 to 1: many replicas must not come back in one wave. */
  readonly random: () => number;
}

const RETRY_MS = 250;
/** A client is not kept waiting for longer than this because upstream asks for patience. */
const LONGEST_RETRY_MS = 2_000;
/** After a failure nobody is sent there for a moment: everybody in the queue would wait for the same time-out. */
const COOLDOWN_MS = 2_000;
const LONGEST_COOLDOWN_MS = 60_000;
const MOST_WAITING = { perLine: 32, total: 256 } as const;

/** For questions a client waits for: they fail quickly, and never pile up before a host that does not answer. */
export function createUpstream({ name, http, clock, signal, random }: UpstreamOptions): Upstream {
  const queue = createFairQueue(MOST_WAITING);
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
      const patience = patienceOf(error);
      if (patience === null || patience > LONGEST_RETRY_MS) throw error;
      await clock.sleep(Math.max(RETRY_MS * (0.5 + random() / 2), patience), signal);
      return once(url, read);
    }
  };

  const attempt = async <Answer>(url: string, read: (body: unknown) => Answer): Promise<Answer> => {
    try {
      return await twice(url, read);
    } catch (error) {
      const patience = patienceOf(error);
      if (patience === null) throw error;
      closedUntil = clock.now() + Math.min(Math.max(COOLDOWN_MS, patience), LONGEST_COOLDOWN_MS);
      throw unavailable(error);
    }
  };

  return {
    ask: (url, read, line = '') => queue.take(line, () => attempt(url, read)) ?? Promise.reject(unavailable()),
  };
}

/** How long the failure asks for patience, or null when it is not one that passes. */
function patienceOf(error: unknown): number | null {
  if (error instanceof HttpFault) return error.retryAfterMs;
  return error instanceof ShapeError ? 0 : null;
}
