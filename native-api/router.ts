import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { authenticate } from '../core/access/authenticate.js';
import type { Caller } from '../core/access/caller.js';
import { GatewayError } from '../core/errors.js';
import { venueOf, type Gateway, type Venue } from '../core/gateway.js';
import { MAX_WAIT_SECONDS, type Wait } from '../core/trading/wait-for-order.js';
import { addressOf, bodyOf } from '../http/request.js';
import { decodeInput, textOf } from './wire/codec.js';
import { isOwnAccount, type Operation } from './operation.js';
import type { ResponseCache } from '../core/caching/response-cache.js';
import { addWindows, JSON_TYPE, sendBytes, unknownPathText } from '../http/respond.js';

const VERB = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;

export function nativeRouter(gateway: Gateway, operations: readonly Operation[], responses: ResponseCache): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  for (const operation of operations) router[VERB[operation.method]](routeOf(operation), serve(gateway, operation, responses));
  for (const [path, methods] of methodsByPath(operations)) router.all(path, refuseMethod(gateway, methods));
  router.use('/v1/:chain', refusePath(gateway));
  return router;
}

const routeOf = ({ scope, path }: Operation): string => (scope === 'venue' ? `/v1/:chain${path === '/' ? '' : path}` : path);

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** The order of work: authentication (over the raw bytes), rate limits, then decoding and the handler. */
function serve(gateway: Gateway, operation: Operation, responses: ResponseCache): RequestHandler {
  const replyText = textOf(operation.reply);
  const answerIt = async (request: Request, response: Response): Promise<void> => {
    const venue = operation.scope === 'venue' ? venueOf(gateway, String(request.params['chain'])) : null;
    const caller = venue === null ? null : await identify(gateway, venue, operation, request, response);
    const wait = operation.waits === true ? waitOf(request, response) : null;
    const input = { caller, wait, from: addressOf(request), ...decodeInput(operation, request) };
    requireOwner(operation, caller, request);
    const answer = async (): Promise<Answer> => {
      if (operation.write !== undefined) return { status: 200, body: await writeOf(gateway, venue, operation, input) };
      const said = await handle(gateway, venue, operation, input);
      return { status: operation.status?.(said) ?? 200, body: replyText(said) };
    };
    // Cached replies are served to anyone who requests the URL.
    const isHot = operation.cached === true && operation.auth === 'none' && venue !== null;
    const { status, body } = isHot ? await responses.answer(venue, request.originalUrl, answer) : await answer();
    sendBytes(response, status, JSON_TYPE, body);
  };
  return (request, response) =>
    operation.expensive === true || bodyOf(request).length > LONG_BODY_BYTES
      ? gateway.access.expensive.take(addressOf(request), () => answerIt(request, response))
      : answerIt(request, response);
}

/** Reading and hashing a longer body takes longer than most replies. */
const LONG_BODY_BYTES = 16 * 1024;

/** The path is authenticated exactly as sent; the windows are reported even if the request is refused after it was counted. */
async function identify(
  gateway: Gateway,
  venue: Venue,
  operation: Operation,
  request: Request,
  response: Response,
): Promise<Caller | null> {
  const { caller } = await authenticate(gateway, venue, {
    operationId: operation.id,
    auth: operation.auth,
    method: request.method,
    isWrite: operation.method !== 'GET',
    ...(operation.simulates === true ? { simulates: true } : {}),
    path: request.originalUrl,
    body: bodyOf(request),
    header: (name) => headerOf(request, name),
    onCounted: (windows) => addWindows(response, windows),
  });
  return caller;
}

function headerOf({ headers }: Request, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** An account is read and changed only by its owner. */
function requireOwner(operation: Operation, caller: Caller | null, request: Request): void {
  if (!isOwnAccount(operation)) return;
  const address = String(request.params['address']);
  if (caller?.trader !== address.toLowerCase()) throw new GatewayError('TRADER_MISMATCH', { address });
}

interface Input {
  readonly caller: Caller | null;
  readonly wait: Wait | null;
  readonly from: string;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** The cast is safe, because the row's `auth` determines the caller. */
function handle(gateway: Gateway, venue: Venue | null, operation: Operation, input: Input): unknown {
  if (operation.scope === 'gateway') return operation.handle({ gateway, ...(input as Input & { caller: null }) });
  if (venue === null) throw new TypeError(`${operation.id} needs a venue.`);
  return operation.handle({ gateway, venue, ...(input as Input & { caller: null }) });
}

/** The same for rows that serialise their reply themselves. */
function writeOf(gateway: Gateway, venue: Venue | null, operation: Operation, input: Input): Promise<string> {
  if (operation.scope !== 'venue' || operation.write === undefined || venue === null) throw new TypeError(`${operation.id} needs a venue.`);
  return operation.write({ gateway, venue, ...(input as Input & { params: undefined; query: undefined }) });
}

function methodsByPath(operations: readonly Operation[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const operation of operations)
    methods.set(routeOf(operation), [
      ...(methods.get(routeOf(operation)) ?? []),
      ...(operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method]),
    ]);
  return methods;
}

const refuseMethod =
  (gateway: Gateway, methods: readonly string[]): RequestHandler =>
  (request, response) => {
    if (request.params['chain'] !== undefined) venueOf(gateway, String(request.params['chain']));
    response.set('Allow', methods.join(', '));
    throw new GatewayError('UNSUPPORTED', { reason: `${request.method} is not offered here; allowed: ${methods.join(', ')}.` });
  };

/** The set of codes is closed, so an unknown path below a known chain is UNSUPPORTED; an unknown chain is reported first. */
const refusePath =
  (gateway: Gateway): RequestHandler =>
  (request) => {
    venueOf(gateway, String(request.params['chain']));
    const reason = unknownPathText(request.originalUrl, [...gateway.venues.keys()], 'There is no such operation on this chain.');
    throw new GatewayError('UNSUPPORTED', { reason });
  };

/** One preference (RFC 7240): a name, perhaps a value, perhaps parameters. Commas and semicolons inside quotes belong to the value. */
const PREFERENCE =
  /(?:^|,)[ \t]*([!#$%&'*+.^_`|~\w-]+)[ \t]*(?:=[ \t]*("(?:[^"\\]|\\.)*"|[^\s,;"]*))?((?:[ \t]*;(?:[^,"]|"(?:[^"\\]|\\.)*")*)?)[ \t]*(?=,|$)/g;
const MAX_LENGTH = 1_024;

/** Seconds of the first `wait`, as in the RFC; null if there is none that can be parsed. Never an error: a preference is not a requirement. */
export function preferredWait(header: string | undefined): number | null {
  if (header === undefined || header.length > MAX_LENGTH) return null;
  const wishes = [...header.matchAll(PREFERENCE)];
  if (wishes.reduce((length, [text]) => length + text.length, 0) !== header.length) return null;
  const wish = wishes.find(([, name]) => name?.toLowerCase() === 'wait');
  const seconds = wish?.[2]?.replaceAll('"', '') ?? '';
  return /^\d{1,9}$/.test(seconds) ? Math.min(Number(seconds), MAX_WAIT_SECONDS) : null;
}

/** How long the client would wait for this reply; the header is set when the operation grants it. */
function waitOf(request: Request, response: Response): Wait | null {
  const { prefer } = request.headers;
  const seconds = preferredWait(Array.isArray(prefer) ? prefer.join(', ') : prefer);
  if (seconds === null) return null;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return { seconds, signal: gone.signal, onApplied: () => response.setHeader('Preference-Applied', `wait=${seconds}`) };
}
