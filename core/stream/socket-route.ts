import type { Venue } from '../gateway.js';
import type { Share } from './address-shares.js';
import type { Line, LineListener } from './line.js';

/** Who is at the other end. */
export interface Peer {
  /** Names the line in our logs, as it does in the answer to the handshake. */
  readonly requestId: string;
  /** Whose per-IP limit it counts against. */
  readonly address: string;
  /** What the socket may hold of its address's part. */
  readonly share: Share;
}

/** A row of the table of sockets: what is reached at `{prefix}/{chain}/ws`. */
export interface SocketRoute {
  readonly prefix: `/${string}`;
  /** Doubled slashes and one at the end mean nothing. */
  readonly takesSpareSlashes?: boolean;
  /** Called once the handshake is done. */
  open(venue: Venue, line: Line, peer: Peer): LineListener;
}
