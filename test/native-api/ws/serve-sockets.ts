import type { RequestListener } from 'node:http';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { createStreams, type VenueStream } from '../../../core/stream/venue-stream.js';
import { systemRandom } from '../../../core/adapters/system/clock.js';
import { listen } from '../../../http/listen.js';
import { createSockets } from '../../../http/sockets.js';
import { nativeSocket, SESSION_LIMITS, type SessionLimits } from '../../../native-api/ws/session.js';

export interface ServedSockets {
  readonly url: string;
  readonly streamOf: (venue: Venue) => VenueStream;
  close(): Promise<void>;
}

/** The sockets of a gateway on a port of their own, with limits or a clock that a test can reach. */
export async function serveSockets(
  gateway: Gateway,
  limits: Partial<SessionLimits> = {},
  app: RequestListener = (_request, response) => response.end(),
): Promise<ServedSockets> {
  const http = await listen('127.0.0.1', 0, { randomBytes: systemRandom });
  const streamOf = createStreams(gateway);
  http.serve(app, createSockets(gateway, [nativeSocket(gateway, streamOf, { ...SESSION_LIMITS, ...limits })]));
  return { url: http.url, streamOf, close: () => http.close() };
}
