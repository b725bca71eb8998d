import { z } from 'zod';
import { CHAIN_SLUGS } from '../../core/chains/chains.js';
import { CANDLE_INTERVALS } from '../../core/domain/candle.js';
import { EpochMs } from './codec.js';
import { Account, FillHistoryEntry, Order, Position } from './account.js';
import { Candle, MarketParams, MarketSymbol, MarketTrade, OrderBook, Price } from './markets.js';

/** Client messages. */

export const OPS = ['subscribe', 'unsubscribe', 'auth', 'ping', 'pong'] as const;
export const PUBLIC_CHANNELS = ['prices', 'book', 'trades', 'candles'] as const;
export const PRIVATE_CHANNELS = ['orders', 'fills', 'positions', 'account'] as const;
export const CHANNELS = [...PUBLIC_CHANNELS, ...PRIVATE_CHANNELS] as const;
export type Channel = (typeof CHANNELS)[number];
export type PrivateChannel = (typeof PRIVATE_CHANNELS)[number];

export const isPrivate = (channel: Channel): channel is PrivateChannel => PRIVATE_CHANNELS.some((name) => name === channel);

/** Read first: these two decide which of the schemas below applies. */
export const Spoken = z.looseObject({ op: z.enum(OPS) });
export const Addressed = z.looseObject({ channel: z.enum(CHANNELS) });

const Text = z.string().max(512);
export const ByKey = z.strictObject({ op: z.literal('auth'), apiKey: Text });
/** Numbers travel as strings: a nonce does not fit a JSON number. */
export const BySignature = z.strictObject({ op: z.literal('auth'), agent: Text, timestamp: Text, nonce: Text, signature: Text });

/** The reply to a heartbeat may repeat its time. */
export const Beat = z.strictObject({ op: z.enum(['ping', 'pong']), timestamp: EpochMs.optional() });

const op = { op: z.enum(['subscribe', 'unsubscribe']) };
const market = { market: MarketParams.shape.symbol };
const interval = { interval: z.enum(CANDLE_INTERVALS) };
const after = { after: z.int().nonnegative().optional() };
const own = (channel: PrivateChannel) => z.strictObject({ ...op, channel: z.literal(channel), ...after });

export const SUBSCRIPTIONS = {
  prices: z.strictObject({ ...op, channel: z.literal('prices') }),
  book: z.strictObject({ ...op, channel: z.literal('book'), ...market }),
  trades: z.strictObject({ ...op, channel: z.literal('trades'), ...market }),
  candles: z.strictObject({ ...op, channel: z.literal('candles'), ...market, ...interval }),
  orders: own('orders'),
  fills: own('fills'),
  positions: own('positions'),
  account: own('account'),
} as const satisfies Record<Channel, z.ZodType>;

export type Subscription = z.output<(typeof SUBSCRIPTIONS)[Channel]>;

/** Server messages. */

const Said = { market: MarketSymbol.optional(), interval: z.enum(CANDLE_INTERVALS).optional() };
const answer = <Op extends string, Fields extends z.ZodRawShape>(name: Op, fields: Fields) => z.object({ op: z.literal(name), ...fields });
const confirmed = { channel: z.enum(CHANNELS), ...Said, duplicate: z.literal(true).optional() };
const moment = { timestamp: EpochMs };

export const ANSWERS = {
  hello: answer('hello', { chain: z.enum(CHAIN_SLUGS), heartbeatMs: z.int().positive() }),
  subscribed: answer('subscribed', confirmed),
  unsubscribed: answer('unsubscribed', confirmed),
  authenticated: answer('authenticated', { trader: z.string(), via: z.enum(['agent', 'apiKey']) }),
  ping: answer('ping', moment),
  pong: answer('pong', moment),
  error: answer('error', {
    code: z.string(),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
    channel: z.enum(CHANNELS).optional(),
    ...Said,
  }),
} as const;

const message = <Name extends Channel, Fields extends z.ZodRawShape>(channel: Name, fields: Fields) =>
  z.object({ channel: z.literal(channel), snapshot: z.boolean(), seq: z.int().positive(), ...fields });
const cursor = { cursor: z.int().nonnegative() };
/** A reorganisation removed what was published for `id`: `data` is the new state, null if nothing is left. */
const correction = { correction: z.literal(true).optional() };

export const MESSAGES = {
  prices: message('prices', { data: z.array(Price) }),
  book: message('book', { market: MarketSymbol, data: OrderBook }),
  trades: message('trades', { market: MarketSymbol, data: z.array(MarketTrade) }),
  candles: message('candles', { market: MarketSymbol, ...interval, data: z.array(Candle) }),
  orders: message('orders', { ...cursor, ...correction, id: z.string().optional(), data: z.union([Order, z.array(Order), z.null()]) }),
  fills: message('fills', {
    ...cursor,
    ...correction,
    id: z.int().optional(),
    data: z.union([FillHistoryEntry, z.array(FillHistoryEntry), z.null()]),
  }),
  positions: message('positions', { ...cursor, data: z.array(Position) }),
  account: message('account', { ...cursor, data: Account }),
} as const satisfies Record<Channel, z.ZodType>;
