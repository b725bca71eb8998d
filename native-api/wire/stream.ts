import { z } from 'zod';
import { CANDLE_INTERVALS } from '../../core/domain/candle.js';
import { EpochMs } from '../../core/schema.js';
import { MarketParams } from './markets.js';

/** What a client says on the socket. */

export const OPS = ['subscribe', 'unsubscribe', 'auth', 'ping', 'pong'] as const;
export const PUBLIC_CHANNELS = ['prices', 'book', 'trades', 'candles'] as const;
export const PRIVATE_CHANNELS = ['orders', 'fills', 'positions', 'account'] as const;
export const CHANNELS = [...PUBLIC_CHANNELS, ...PRIVATE_CHANNELS] as const;
export type Channel = (typeof CHANNELS)[number];
export type PrivateChannel = (typeof PRIVATE_CHANNELS)[number];

export const isPrivate = (channel: Channel): channel is PrivateChannel => PRIVATE_CHANNELS.some((name) => name === channel);

/** Read first: which of the shapes below has to fit is told by these two. */
export const Spoken = z.looseObject({ op: z.enum(OPS) });
export const Addressed = z.looseObject({ channel: z.enum(CHANNELS) });

const Text = z.string().max(512);
export const ByKey = z.strictObject({ op: z.literal('auth'), apiKey: Text });
/** Numbers travel as strings: a nonce does not fit a JSON number. */
export const BySignature = z.strictObject({ op: z.literal('auth'), agent: Text, timestamp: Text, nonce: Text, signature: Text });

/** A heartbeat's answer may quote its time. */
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
