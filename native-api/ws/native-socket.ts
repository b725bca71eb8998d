import type { Gateway, Venue } from '../../core/gateway.js';
import type { SocketRoute } from '../../core/stream/connection.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import { openSession, SESSION_LIMITS, type SessionLimits } from './session.js';

/** `WS /v1/{chain}/ws`. */
export const nativeSocket = (
  gateway: Gateway,
  streamOf: (venue: Venue) => VenueStream,
  limits: SessionLimits = SESSION_LIMITS,
): SocketRoute => ({
  prefix: '/v1',
  open: (venue, line, peer) => openSession({ gateway, stream: streamOf(venue), line, peer, limits }),
});
