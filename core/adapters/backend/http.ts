import type { Clock } from '../../ports/clock.js';
import { field } from './wire.js';

const TIMEOUT_MS = 8_000;
export const BODY_CAP = 16 * 1024 * 1024;
/** Limits parsed memory: empty containers take far more memory parsed than as text; a real snapshot of 1.25 MB has some 30 000. */
const MAX_CONTAINERS = 1_000_000;
const MAX_RETRY_AFTER_MS = 300_000;

/** Describes a failure without the URL, which may be an operator's private one. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault';
  readonly retryAfterMs: number;
  /** Null without a readable answer. */
  readonly status: number | null;

  constructor(message: string, retryAfterMs = 0, status: number | null = null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
    this.status = status;
  }
}

export interface Http {
  /** One request in flight per host; others are queued. Requests during a host's retry-after fail at once. Rejects with HttpFault. */
  getJson(url: string, signal: AbortSignal): Promise<unknown>;
}

/** 408 and 429 are transient; other 4xx concern this request only. */
export const isAboutQuestion = (status: number | null): boolean =>
  status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;

/** Feeds of several chains share the pricing host, so they may share one instance. */
export function createHttp(clock: Clock): Http {
  const lanes = new Map<string, Promise<unknown>>();
  const rests = new Map<string, { readonly until: number; readonly status: number | null }>();

  /** Retry-after applies to the client, so every request to the host waits. */
  const ask = async (host: string, url: string, signal: AbortSignal): Promise<unknown> => {
    const rest = rests.get(host);
    const left = (rest?.until ?? 0) - clock.now();
    if (rest && left > 0) throw new HttpFault(`HTTP ${rest.status}`, left, rest.status);
    rests.delete(host);
    try {
      return await get(clock, url, signal);
    } catch (error) {
      if (error instanceof HttpFault && error.retryAfterMs > 0 && !isAboutQuestion(error.status))
        rests.set(host, { until: clock.now() + error.retryAfterMs, status: error.status });
      throw error;
    }
  };

  return {
    getJson(url, signal) {
      const { host } = new URL(url);
      const turn = (lanes.get(host) ?? Promise.resolve()).then(() => ask(host, url, signal));
      const settled = turn.catch(() => undefined);
      lanes.set(host, settled);
      void settled.then(() => {
        if (lanes.get(host) === settled) lanes.delete(host);
      });
      return turn;
    },
  };
}

async function get(clock: Clock, url: string, signal: AbortSignal): Promise<unknown> {
  const limit = new AbortController();
  const abort = (): void => limit.abort(new HttpFault('stopped'));
  const cancel = clock.after(TIMEOUT_MS, () => limit.abort(new HttpFault(`no answer within ${TIMEOUT_MS} ms`)));
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    const response = await fetch(url, { signal: limit.signal, redirect: 'error', headers: { accept: 'application/json' } });
    if (!response.ok) throw await refusal(response, clock.now());
    return parse(await readBody(response));
  } catch (error) {
    throw asFault(limit.signal.aborted ? limit.signal.reason : error);
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
    limit.abort();
  }
}

function asFault(error: unknown): HttpFault {
  if (error instanceof HttpFault) return error;
  const code = field(field(error, 'cause'), 'code') ?? field(error, 'code');
  return new HttpFault(typeof code === 'string' ? code : 'connection failed');
}

async function refusal(response: Response, now: number): Promise<HttpFault> {
  await response.body?.cancel();
  return new HttpFault(`HTTP ${response.status}`, retryAfter(response.headers.get('retry-after'), now), response.status);
}

export function retryAfter(header: string | null | undefined, now: number): number {
  if (header === null || header === undefined) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : 0;
}

/** Counts decompressed bytes, so that a small body cannot expand without limit. */
async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (response.body === null) throw new HttpFault('empty body');
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > BODY_CAP) throw new HttpFault('body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function parse(body: Buffer): unknown {
  let containers = 0;
  for (const byte of body) if (byte === 0x7b || byte === 0x5b) containers += 1;
  if (containers > MAX_CONTAINERS) throw new HttpFault('body has too many parts');
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new HttpFault('body is not JSON');
  }
}

/** URLs of the protocol's backends. Paths are kept, so that one host may serve several chains under prefixes. */
export interface Endpoints {
  /** Chain host, REST. */
  readonly backendUrl: string;
  /** Chain host, event stream. */
  readonly eventsUrl: string;
  /** Pricing host, REST. */
  readonly pricingUrl: string;
  /** Pricing host, stream with mark and index apart. */
  readonly pricingWsUrl: string;
  /** Host of all chains, REST: history. */
  readonly globalUrl: string;
}

const trimmed = (url: string): string => url.replace(/\/+$/, '');
const socketUrl = (url: string): string => trimmed(url).replace(/^http/, 'ws');

export function endpointsOf(hosts: { readonly backendUrl: string; readonly pricingUrl: string; readonly globalUrl: string }): Endpoints {
  return {
    backendUrl: trimmed(hosts.backendUrl),
    eventsUrl: socketUrl(hosts.backendUrl),
    pricingUrl: trimmed(hosts.pricingUrl),
    pricingWsUrl: `${socketUrl(hosts.pricingUrl)}/v4`,
    globalUrl: trimmed(hosts.globalUrl),
  };
}

export const productionEndpoints = (backendNetwork: string): Endpoints =>
  endpointsOf({
    backendUrl: `https://backend-${backendNetwork}.gains.trade`,
    pricingUrl: 'https://backend-pricing.eu.gains.trade',
    globalUrl: 'https://backend-global.gains.trade',
  });
