import type { Venue } from '../gateway.js';
import type { Share } from './address-shares.js';
import type { Connection, ConnectionListener } from './connection.js';

/** The client of a connection. */
export interface Peer {
  /** Identifies the connection in logs; also sent in the handshake response. */
  readonly requestId: string;
  /** The client address for per-IP limits. */
  readonly address: string;
  /** The socket's share of the limits of its address. */
  readonly share: Share;
}

/** One WebSocket endpoint, served at `{prefix}/{chain}/ws`. */
export interface SocketRoute {
  readonly prefix: `/${string}`;
  /** Doubled and trailing slashes in the path are ignored. */
  readonly takesSpareSlashes?: boolean;
  /** Called once the handshake is done. */
  open(venue: Venue, line: Connection, peer: Peer): ConnectionListener;
}
