import type { Gateway, Venue } from '../../core/gateway.js';
import type { ResponseCache } from '../../http/response-cache.js';
import type { SocketRoute } from '../../core/stream/connection.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import type { TradeHandlers } from '../actions/trade-handlers.js';
import { createExchange } from '../exchange.js';
import { createInfoContexts, createInfoHandler } from '../info/info-handler.js';
import { SESSION_LIMITS, openSession, type SessionLimits } from './session.js';
import { createVenueFeeds, type VenueFeeds } from './venue-feeds.js';

export interface FacadeSocketParts {
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
