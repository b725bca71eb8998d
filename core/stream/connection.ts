import type { Venue } from '../gateway.js';
import type { Share } from './address-shares.js';

/** A client connection as the APIs see it, independent of the transport, which only the host implements. */
export interface Connection {
  /** Sends in order. `sent` is called once the network has taken the text, or the connection is closed. */
  send(text: string, sent: () => void): void;
  /** Starts the close handshake; a peer that does not answer is terminated shortly after. */
  close(code: CloseCode, reason: string): void;
  /** Logs a fault that no handler dealt with and ends the connection. Never throws, so it can end any promise chain. */
  fail(error: unknown): void;
}

export interface ConnectionListener {
  /** One whole message. */
  message(bytes: Uint8Array, isBinary: boolean): void;
  /** A pong or another frame without a message. */
  alive(): void;
  /** The connection is closed, by either side; called once. */
  closed(): void;
  /** Resolves when no request waits for its answer; absent where requests are answered synchronously. */
  settled?(): Promise<void>;
}

/** Going away; policy violation; service restart; client too slow. */
export const CLOSE_CODES = { away: 1001, policy: 1008, restart: 1012, slow: 1013 } as const;
export type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];

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
