import type { Gateway, Venue } from '../../core/gateway.js';
import { refuseExceeded } from '../../core/access/limits.js';
import {
  CLOSE_CODES,
  createFrameWeight,
  createMessageRate,
  type Connection,
  type ConnectionListener,
  type Peer,
  type RateNumbers,
  type SocketRoute,
} from '../../core/stream/connection.js';
import { onNewLoss } from '../../core/stream/journal-stream.js';
import { createOutbox, type OutboxLimits } from '../../core/stream/outbox.js';
import { createScale } from '../info/info-weights.js';
import { errorText, PONG, readFrame, type ClientFrame } from './frames.js';
import { createPosts, type PostHandlers } from './posts.js';
import { createSubscriptions, type SubscriptionLimits } from './subscriptions.js';
import { createVenueFeeds, type VenueFeeds } from './venue-feeds.js';
import type { ResponseCache } from '../../core/caching/response-cache.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import type { TradeHandlers } from '../actions/trade.js';
import { createExchange } from '../exchange.js';
import { createInfoContexts, createInfoHandler } from '../info/info-handler.js';

export interface SessionLimits extends SubscriptionLimits {
  readonly messages: RateNumbers;
  /** A connection with more refused messages than this is closed. */
  readonly refusals: RateNumbers;
  readonly pendingPosts: number;
  /** A connection without messages for this long is closed. */
  readonly idleMs: number;
  readonly outbox: OutboxLimits;
}

export const SESSION_LIMITS: SessionLimits = {
  subscriptions: 1_000,
  users: 10,
  messages: { burst: 2_000, perSecond: 2_000 / 60 },
  refusals: { burst: 20, perSecond: 1 },
  pendingPosts: 100,
  idleMs: 60_000,
  // History snapshots are large, and a connection may request several at once.
  outbox: { inFlight: 64 * 1024, queued: 8 * 1024 * 1024 },
};

export interface SessionOptions extends PostHandlers {
  readonly gateway: Gateway;
  readonly feeds: VenueFeeds;
  readonly line: Connection;
  readonly peer: Peer;
  readonly limits: SessionLimits;
}

/** One connection: answers requests and serves subscriptions; nothing outlives the connection. */
function openSession({ gateway, feeds, line, peer, limits, info, exchange }: SessionOptions): ConnectionListener {
  const { venue } = feeds;
  const { clock } = gateway;
  let isOver = false;
  let lastSaid = clock.now();

  const hangUp = (code: keyof typeof CLOSE_CODES, reason: string): void => {
    if (isOver) return;
    venue.log.info('facade.line-ended', { requestId: peer.requestId, reason });
    end();
    line.close(CLOSE_CODES[code], reason);
  };
  const measured: Pick<Connection, 'send'> = {
    send(text, sent) {
      lastSaid = clock.now();
      line.send(text, sent);
    },
  };
  const outbox = createOutbox(measured, limits.outbox, {
    onSlow: () => hangUp('slow', 'slow consumer'),
    onFault: (error) => venue.log.error('facade.frame-not-made', { requestId: peer.requestId, error }),
  });
  const say = (text: string): void => outbox.push(text);
  const mayPass = createMessageRate(clock, limits.messages);
  const mayRead = createFrameWeight(gateway, peer.address);
  const mayErr = createMessageRate(clock, limits.refusals);
  const scale = createScale(gateway);
  const subscriptions = createSubscriptions({
    feeds,
    outbox,
    limits,
    share: peer.share,
    shareLimits: gateway.access.sockets.limits,
    weigh(question) {
      refuseExceeded([gateway.access.countAddress(peer.address)]);
      scale.weigh(peer.address, question);
    },
    charge: (question, answer) => scale.charge(peer.address, question, answer),
    onCount: (change) => gateway.metrics.subscriptions('facade', change),
    onFault: (error) => venue.log.error('facade.internal-error', { requestId: peer.requestId, error }),
    fail: (error) => line.fail(error),
    lose: (reason) => hangUp('away', reason),
  });
  const posts = createPosts({ gateway, venue, peer, info, exchange, most: limits.pendingPosts, say, fail: (error) => line.fail(error) });

  /** A peer that neither sends nor reads is gone, even if TCP does not report it. */
  const stopWatching = clock.every(limits.idleMs / 4, () => {
    if (clock.now() - lastSaid >= limits.idleMs) hangUp('away', 'Inactive');
  });

  const obey = (frame: ClientFrame, bytes: Uint8Array): void => {
    if (frame.method === 'ping') return say(PONG);
    if (frame.method === 'post') return posts.answer(frame, bytes);
    subscriptions.change(frame.method, frame.subscription);
  };

  const refuse = (): void => {
    if (!mayErr()) return hangUp('policy', 'too many messages');
    say(errorText('Too many websocket messages.'));
  };

  /** What it was sent of an account may never have happened: clients connect again, and get snapshots. */
  const stopLosses = onNewLoss(gateway, () => {
    if (subscriptions.hasAccount()) hangUp('lost', 'The service lost commits of its database');
  });

  function end(): void {
    isOver = true;
    stopLosses();
    stopWatching();
    subscriptions.clear();
    outbox.end();
  }

  return {
    alive: () => void (lastSaid = clock.now()),
    settled: () => posts.settled(),
    message(bytes, isBinary) {
      if (isOver) return;
      if (!mayPass() || !mayRead(bytes.byteLength)) return refuse();
      const frame = readFrame(bytes, isBinary);
      if ('refusal' in frame) return say(frame.refusal);
      obey(frame, bytes);
    },
    closed() {
      if (!isOver) end();
    },
  };
}

interface FacadeSocketParts {
  readonly streamOf: (venue: Venue) => VenueStream;
  readonly responses: ResponseCache;
  /** Null without a relayer: posts can only read then. */
  readonly trade: TradeHandlers | null;
}

/** `WS /hl/{chain}/ws`. */
export function facadeSocket(
  gateway: Gateway,
  { streamOf, responses, trade }: FacadeSocketParts,
  limits: SessionLimits = SESSION_LIMITS,
): SocketRoute {
  const contextOf = createInfoContexts(gateway);
  const handlers = { info: createInfoHandler(gateway, responses), exchange: createExchange(gateway, trade) };
  const feeds = new Map<Venue, VenueFeeds>(
    [...gateway.venues.values()].map((venue) => [venue, createVenueFeeds(gateway, streamOf(venue), contextOf)]),
  );

  return {
    prefix: '/hl',
    takesSpareSlashes: true,
    open(venue, line, peer) {
      const own = feeds.get(venue);
      if (own === undefined) throw new RangeError(`${venue.definition.slug} is not one of this gateway's venues`);
      return openSession({ ...handlers, gateway, feeds: own, line, peer, limits });
    },
  };
}
