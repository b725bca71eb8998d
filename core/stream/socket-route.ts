import type { Venue } from '../gateway.js';
import type { Line, LineListener } from './line.js';

/** A row of the table of sockets: what is reached at `{prefix}/{chain}/ws`. */
export interface SocketRoute {
  readonly prefix: `/${string}`;
  /** Called once the handshake is done. `requestId` names the line in our logs, as it does in the answer to the handshake. */
  open(venue: Venue, line: Line, requestId: string): LineListener;
}
