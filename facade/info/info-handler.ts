import { traderBehind } from '../../core/access/resolve-trader.js';
import { retryAfterSeconds, type GatewayError } from '../../core/errors.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { ResponseCache } from '../../core/caching/response-cache.js';
import { parseJson } from '../../http/strict-json.js';
import { JSON_TYPE, TEXT_TYPE, type Answer, type Endpoint } from '../endpoint.js';
import { createUniverses } from '../universe.js';
import { createAccountReader } from './account-state.js';
import { dayFiguresOf } from '../../core/markets/day-figures.js';
import { createScale } from './info-weights.js';
import type { InfoContext, InfoType } from './info-type.js';
import { ACCOUNT_TYPES } from './account-types.js';
import { CONSTANT_TYPES } from './constant-types.js';
import { FILL_TYPES, ORDER_TYPES } from './order-types.js';
import { MARKET_TYPES } from './market-types.js';

/** Hyperliquid's reply to a body that fits no request type. */
const UNFITTING: Answer = { status: 422, type: TEXT_TYPE, body: 'Failed to deserialize the JSON body into the target type' };
const UNREADABLE: Answer = { status: 400, type: TEXT_TYPE, body: 'Failed to parse the request body as JSON' };

/** Longer requests are answered but not cached. */
const LONGEST_HOT = 256;

export interface InfoHandler extends Endpoint {
  /** Answers a parsed request of the WebSocket's `post`; null if no request type fits. */
  readonly ask: (venue: Venue, request: unknown, address: string) => Promise<{ readonly type: string; readonly data: unknown } | null>;
}

/** All reads of the facade: one table of types; public replies are cached as bytes. */
export function createInfoHandler(gateway: Gateway, responses: ResponseCache): InfoHandler {
  const contextOf = createInfoContexts(gateway);
  /** The request type of cached bytes. */
  const typeOf = new WeakMap<Buffer, string>();

  const scale = createScale(gateway);

  const answerWith = async (venue: Venue, { row, fields }: Fitting, address: string): Promise<unknown> => {
    const answer = await row.answer(await contextOf(venue), fields);
    scale.charge(address, row.type, answer);
    return answer;
  };

  const answerRow = async (venue: Venue, fitting: Fitting, key: string | null, address: string): Promise<Answer> => {
    const { row } = fitting;
    const common = { type: JSON_TYPE, operation: row.type, windows: [scale.weigh(address, row.type)] };
    const make = async () => ({ status: 200, body: JSON.stringify(await answerWith(venue, fitting, address)) });
    const isStored = row.cached === true && key !== null;
    if (!isStored) return { ...common, ...(await make()) };
    const stored = await responses.answer(venue, key, make);
    typeOf.set(stored.body, row.type);
    return { ...common, ...stored };
  };

  const answerStored = (body: Buffer, address: string): Answer => {
    const operation = typeOf.get(body) ?? 'info';
    return { status: 200, type: JSON_TYPE, operation, body, windows: [scale.weigh(address, operation)] };
  };

  return {
    refuse,
    answer({ venue, bytes, client: { address } }) {
      const key = bytes.length > LONGEST_HOT ? null : `${venue.definition.slug} ${bytes.toString('latin1')}`;
      const stored = key === null ? null : responses.find(key);
      if (stored !== null) return answerStored(stored, address);
      scale.weighLength(address, bytes.length);
      const parsed = parseJson(bytes.toString('utf8'));
      if ('fault' in parsed) return parsed.fault === 'not-json' ? UNREADABLE : UNFITTING;
      const fitting = fit(parsed.value);
      return fitting === null ? UNFITTING : answerRow(venue, fitting, key, address);
    },
    async ask(venue, request, address) {
      const fitting = fit(request);
      if (fitting === null) return null;
      scale.weigh(address, fitting.row.type);
      return { type: fitting.row.type, data: await answerWith(venue, fitting, address) };
    },
  };
}

/** Builds the context that every read of a venue needs. */
export function createInfoContexts(gateway: Gateway): (venue: Venue) => Promise<InfoContext> {
  const universes = createUniverses(gateway);
  const day = dayFiguresOf(gateway);
  const accounts = createAccountReader(gateway);
  return async (venue) => ({
    gateway,
    venue,
    day,
    accounts,
    universe: await universes.of(venue),
    traderOf: (user) => traderBehind(gateway, venue, user),
  });
}

interface Fitting {
  readonly row: InfoType;
  readonly fields: unknown;
}

function fit(request: unknown): Fitting | null {
  const type = typeof request === 'object' && request !== null && 'type' in request ? request.type : null;
  const row = typeof type === 'string' ? INFO_TYPES.get(type) : undefined;
  const fields = row?.fields.safeParse(request);
  return row && fields?.success ? { row, fields: fields.data } : null;
}

/** Errors are plain text, never the error object of the native API, which clients would misread. */
function refuse(error: GatewayError): Answer {
  const wait = retryAfterSeconds(error);
  const headers = wait === null ? {} : { headers: { 'Retry-After': String(wait) } };
  if (error.code === 'RATE_LIMITED') return { status: 429, type: JSON_TYPE, body: 'null', ...headers };
  if (error.code === 'VALIDATION_ERROR') return UNFITTING;
  return { status: error.status, type: TEXT_TYPE, body: error.message, ...headers };
}

/** All supported info requests. */
export const INFO_TYPES: ReadonlyMap<string, InfoType> = new Map(
  [...MARKET_TYPES, ...ACCOUNT_TYPES, ...ORDER_TYPES, ...FILL_TYPES, ...CONSTANT_TYPES].map((row) => [row.type, row]),
);
