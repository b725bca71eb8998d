import { GatewayError } from '../../core/errors.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { refuseExceeded } from '../../core/access/limits.js';
import { pairOf } from '../../core/domain/market.js';
import {
  CLOSE_CODES,
  createFrameWeight,
  createHeartbeat,
  createMessageRate,
  type Connection,
  type ConnectionListener,
  type Peer,
  type RateNumbers,
  type SocketRoute,
} from '../../core/stream/connection.js';
import { createOutbox, OUTBOX_LIMITS, type OutboxLimits } from '../../core/stream/outbox.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import { onNewLoss } from '../../core/stream/journal-stream.js';
import { isPrivate, type Channel, type Subscription } from '../wire/stream.js';
import { answerText, createFramer, errorText, keyOf, readMessage, topicOf, type ClientMessage, type Topic } from './messages.js';
import { openLogin } from './login.js';
import { createPace, type OpenChannel } from './channel.js';
import type { Cancel } from '../../core/types.js';
import type { Share } from '../../core/stream/address-shares.js';
import { privateChannels } from './private-channels.js';
import { publicChannels } from './public-channels.js';

export interface SessionLimits {
  readonly subscriptions: number;
  readonly heartbeatMs: number;
  readonly misses: number;
  readonly messages: RateNumbers;
  /** A connection with more refused messages than this is closed. */
  readonly refusals: RateNumbers;
  readonly outbox: OutboxLimits;
}

export const SESSION_LIMITS: SessionLimits = {
  subscriptions: 200,
  heartbeatMs: 15_000,
  misses: 2,
  // Enough to subscribe to everything a connection may hold, at once and twice.
  messages: { burst: 400, perSecond: 50 },
  refusals: { burst: 100, perSecond: 10 },
  outbox: OUTBOX_LIMITS,
};

export interface SessionOptions {
  readonly gateway: Gateway;
  readonly stream: VenueStream;
  readonly line: Connection;
  readonly peer: Peer;
  readonly limits: SessionLimits;
}

/** One connection: answers messages in order and serves subscriptions; nothing outlives the connection. */
function openSession({ gateway, stream, line, peer, limits }: SessionOptions): ConnectionListener {
  const { venue } = stream;
  const { requestId } = peer;
  const { clock } = gateway;
  const chain = venue.definition.slug;
  const subscriptions = createSubscriptions(limits.subscriptions, peer.share, (change) => gateway.metrics.subscriptions('native', change));
  const outbox = createOutbox(line, limits.outbox, {
    onSlow: () => hangUp('slow', 'slow consumer'),
    onFault: (error) => complain(error),
  });
  const mayPass = createMessageRate(clock, limits.messages);
  const mayRead = createFrameWeight(gateway, peer.address);
  const mayErr = createMessageRate(clock, limits.refusals);
  const numbers = new Map<string, number>();
  const ordersPace = createPace();
  let isOver = false;

  const hangUp = (code: keyof typeof CLOSE_CODES, reason: string): void => {
    venue.log.info('socket.hung-up', { requestId, reason });
    end();
    line.close(CLOSE_CODES[code], reason);
  };

  const say = (op: string, fields: object = {}): void => outbox.push(answerText(op, fields));

  const complain = (error: unknown, topic: Topic | null = null): void => {
    const known = knownError(error);
    if (known === null) venue.log.error('socket.internal-error', { requestId, error });
    outbox.push(errorText(known ?? new GatewayError('INTERNAL', { requestId }), topic));
  };

  const endPrivate = (reason: GatewayError): void => {
    complain(reason);
    for (const topic of subscriptions.removePrivate()) say('unsubscribed', topic);
  };

  const login = openLogin({
    gateway,
    stream,
    address: peer.address,
    onEntered: ({ trader, via }) => say('authenticated', { trader, via }),
    onRefused: complain,
    onLost: endPrivate,
    fail: (error) => line.fail(error),
  });

  const subscribe = (asked: Subscription): void => {
    const topic = topicOf(asked);
    if (isPrivate(topic.channel) && login.caller() === null) throw new GatewayError('UNAUTHENTICATED', {});
    if (topic.market !== undefined) pairOf(venue.feed.config(), topic.market);
    if (subscriptions.has(topic)) return say('subscribed', { ...topic, duplicate: true });
    subscriptions.refuseFull();
    // A subscription costs as much as a request, and counts as one.
    refuseExceeded([gateway.access.countAddress(peer.address)]);
    const fail = (error: unknown): void => {
      if (!subscriptions.remove(topic)) return;
      complain(error, topic);
      say('unsubscribed', topic);
    };
    const trader = isPrivate(topic.channel) ? (login.caller()?.trader ?? null) : null;
    const after = 'after' in asked && asked.after !== undefined ? BigInt(asked.after) : null;
    const { begin, stop } = CHANNEL_ROWS[topic.channel]({
      gateway,
      stream,
      outbox,
      topic,
      trader,
      after,
      frame: createFramer(topic, numbers),
      ordersPace,
      fail,
    });
    subscriptions.add(topic, stop);
    say('subscribed', topic);
    begin();
  };

  const unsubscribe = (topic: Topic): void =>
    say('unsubscribed', { ...topic, ...(subscriptions.remove(topic) ? {} : { duplicate: true }) });

  const obey = (message: ClientMessage): void => {
    if (message.op === 'ping') return say('pong', { timestamp: clock.now() });
    if (message.op === 'subscribe' || message.op === 'unsubscribe') return talk(message.op, message.asked);
    if (message.op === 'auth') login.enter(message);
  };

  const talk = (op: 'subscribe' | 'unsubscribe', asked: Subscription): void => {
    try {
      if (op === 'subscribe') subscribe(asked);
      else unsubscribe(topicOf(asked));
    } catch (error) {
      complain(error, topicOf(asked));
    }
  };

  const onMessage = (bytes: Uint8Array, isBinary: boolean): void => {
    try {
      obey(readMessage(bytes, isBinary));
    } catch (error) {
      complain(error);
    }
  };

  const refuse = (): void => {
    if (!mayErr()) return hangUp('policy', 'too many messages');
    complain(new GatewayError('RATE_LIMITED', { scope: 'ip', retryAfterSeconds: 1, reason: 'Too many messages on this connection' }));
  };

  const heartbeat = createHeartbeat({
    clock,
    everyMs: limits.heartbeatMs,
    misses: limits.misses,
    ask: () => say('ping', { timestamp: clock.now() }),
    onLost: () => hangUp('away', 'no answer to two heartbeats'),
  });

  /** What its subscriptions said may never have happened: a new connection begins with what is. */
  const stopLosses = onNewLoss(gateway, () => {
    if (subscriptions.hasJournal()) hangUp('lost', 'cursor lost');
  });

  function end(): void {
    isOver = true;
    stopLosses();
    heartbeat.stop();
    login.leave();
    subscriptions.clear();
    outbox.end();
  }

  say('hello', { chain, heartbeatMs: limits.heartbeatMs });
  return {
    alive: () => heartbeat.alive(),
    message(bytes, isBinary) {
      if (isOver) return;
      heartbeat.alive();
      if (!mayPass() || !mayRead(bytes.byteLength)) return refuse();
      login.whenSettled(() => onMessage(bytes, isBinary));
    },
    closed: end,
  };
}

const knownError = (error: unknown): GatewayError | null => (error instanceof GatewayError ? error : null);

/** The subscriptions of one connection. */
interface Subscriptions {
  has(topic: Topic): boolean;
  /** Whether one of them follows the journal. */
  hasJournal(): boolean;
  /** Throws if the connection's limit is reached. */
  refuseFull(): void;
  /** Stops it again and throws if the address's limit is reached. */
  add(topic: Topic, stop: Cancel): void;
  /** False if there was none. */
  remove(topic: Topic): boolean;
  /** Ends those of the account and returns them. */
  removePrivate(): readonly Topic[];
  clear(): void;
}

function createSubscriptions(most: number, share: Share, onCount: (change: 1 | -1) => void): Subscriptions {
  const held = new Map<string, { readonly topic: Topic; readonly stop: Cancel }>();
  const remove = (topic: Topic): boolean => {
    const known = held.get(keyOf(topic));
    if (held.delete(keyOf(topic))) {
      onCount(-1);
      share.giveBack(null);
    }
    known?.stop();
    return known !== undefined;
  };
  return {
    has: (topic) => held.has(keyOf(topic)),
    hasJournal: () => [...held.values()].some(({ topic: { channel } }) => channel === 'orders' || channel === 'fills'),
    refuseFull() {
      if (held.size >= most) throw full(`A connection holds at most ${most} subscriptions`);
    },
    add(topic, stop) {
      // The connection's account is authenticated, so it does not count as a watched user.
      if (share.take(null) !== null) {
        stop();
        throw full('The connections of this address hold as many subscriptions as they may');
      }
      held.set(keyOf(topic), { topic, stop });
      onCount(1);
    },
    remove,
    removePrivate() {
      const topics = [...held.values()].map(({ topic }) => topic).filter(({ channel }) => isPrivate(channel));
      topics.forEach(remove);
      return topics;
    },
    clear: () => [...held.values()].forEach(({ topic }) => remove(topic)),
  };
}

const full = (reason: string): GatewayError =>
  new GatewayError('RATE_LIMITED', { scope: 'ip', retryAfterSeconds: 1, reason: `${reason}; end some of them` });

/** All channels. */
const CHANNEL_ROWS: Readonly<Record<Channel, OpenChannel>> = {
  ...publicChannels,
  ...privateChannels,
};

/** `WS /v1/{chain}/ws`. */
export const nativeSocket = (
  gateway: Gateway,
  streamOf: (venue: Venue) => VenueStream,
  limits: SessionLimits = SESSION_LIMITS,
): SocketRoute => ({
  prefix: '/v1',
  open: (venue, line, peer) => openSession({ gateway, stream: streamOf(venue), line, peer, limits }),
});
