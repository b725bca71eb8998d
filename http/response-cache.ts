import type { RequestListener } from 'node:http';
import type { Gateway, Venue } from '../core/gateway.js';
import type { Cancel } from '../core/types.js';
import { GatewayError } from '../core/errors.js';
import { setClientHeaders, type ReadClient } from './request.js';
import { addWindows, announcesBody, CORS_HEADERS, JSON_TYPE, sendError, setCorsHeaders, windowHeaders } from './respond.js';

/** Trading sessions and rates change with time alone, so no reply is cached for longer. */
const MAX_AGE_MS = 1_000;
/** Clients can spell one query in many ways (`?&`, `?&&`), each with an entry of its own: a full cache is emptied instead of growing. */
const MAX_ENTRIES = 4_096;
const MAX_BYTES = 32 * 1024 * 1024;

/** Counts changes of a venue's data; the same value before and after means that nothing changed in between. */
interface Generation {
  value: number;
}

interface Entry {
  readonly bytes: Buffer;
  readonly of: Generation;
  readonly made: number;
  readonly until: number;
}

interface Answer<Body = string> {
  readonly status: number;
  readonly body: Body;
}

export interface ResponseCache {
  /** The cached reply to exactly this key (a URL, a body), while it is still current. */
  find(key: string): Buffer | null;
  /** The cached reply, or the result of `make`; the result is not cached if the venue's data changed meanwhile. */
  answer(venue: Venue, key: string, make: () => Promise<Answer>): Promise<Answer<Buffer>>;
  stop(): void;
}

/** Serialises public reads once per change, however many clients ask. */
export function createResponseCache(gateway: Gateway): ResponseCache {
  const entries = new Map<string, Entry>();
  const generations = new Map<Venue, Generation>([...gateway.venues.values()].map((venue) => [venue, { value: 0 }]));
  const cancels = watch(gateway, generations);

  let held = 0;

  const forget = (key: string, { bytes }: Entry): void => {
    entries.delete(key);
    held -= sizeOf(key, bytes);
  };

  const keep = (key: string, entry: Entry): void => {
    const known = entries.get(key);
    if (known !== undefined) forget(key, known);
    const size = sizeOf(key, entry.bytes);
    if (entries.size >= MAX_ENTRIES || held + size > MAX_BYTES) {
      entries.clear();
      held = 0;
    }
    entries.set(key, entry);
    held += size;
  };

  const find = (key: string): Buffer | null => {
    const entry = entries.get(key);
    if (entry === undefined) return null;
    if (entry.of.value === entry.made && gateway.clock.now() < entry.until) return entry.bytes;
    forget(key, entry);
    return null;
  };

  return {
    find,
    async answer(venue, key, make) {
      const known = find(key);
      if (known !== null) return { status: 200, body: known };
      const of = generations.get(venue);
      const made = of?.value ?? 0;
      const until = gateway.clock.now() + MAX_AGE_MS;
      const { status, body } = await make();
      const bytes = Buffer.from(body);
      if (status === 200 && of?.value === made) keep(key, { bytes, of, made, until });
      return { status, body: bytes };
    },
    stop: () => cancels.forEach((cancel) => cancel()),
  };
}

const sizeOf = (key: string, bytes: Buffer): number => key.length + bytes.length;

function watch({ bus, venues }: Gateway, generations: ReadonlyMap<Venue, Generation>): Cancel[] {
  const changed = (venue: Venue): void => {
    const generation = generations.get(venue);
    if (generation) generation.value += 1;
  };
  return [
    bus.on('prices', ({ venue }) => changed(venue)),
    bus.on('config', ({ venue }) => changed(venue)),
    ...[...venues.values()].map((venue) => venue.feed.on('status', () => changed(venue))),
  ];
}

/** Serves cached replies before express: with the same rate limits, the same headers in the same order, and the same bytes. */
export function serveCached({ access }: Gateway, clientOf: ReadClient, responses: ResponseCache, app: RequestListener): RequestListener {
  return (request, response) => {
    const bytes = request.method === 'GET' && !announcesBody(request) ? responses.find(request.url ?? '') : null;
    if (bytes === null) return app(request, response);
    const client = clientOf(request);
    const window = access.countAddress(client.address);
    if (window.isExceeded) {
      setClientHeaders(response, client);
      setCorsHeaders(request, response);
      addWindows(response, [window]);
      return sendError(response, new GatewayError('RATE_LIMITED', { scope: window.scope, retryAfterSeconds: window.resetSeconds }));
    }
    response.writeHead(200, [
      'X-Request-Id',
      client.requestId,
      'cf-ray',
      client.ray,
      ...CORS_HEADERS,
      ...windowHeaders(window),
      'Content-Type',
      JSON_TYPE,
      'Content-Length',
      String(bytes.length),
    ]);
    response.end(bytes);
  };
}
