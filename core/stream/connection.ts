import type { Gateway, Venue } from '../gateway.js';
import type { Share } from './address-shares.js';
import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

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

/** Going away; policy violation; service restart; client too slow; commits of the database were lost, and the client's cursors with them. */
export const CLOSE_CODES = { away: 1001, policy: 1008, restart: 1012, slow: 1013, lost: 4001 } as const;
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

/** Bytes per unit of weight: an action with the maximum of 200 orders weighs about what Hyperliquid counts for it. */
export const BYTES_PER_WEIGHT = 8 * 1024;

/**
 * Whether the next frame of a connection may be parsed. Parsing costs CPU by length even for invalid input, so every frame counts against the
 * action limit of its address before it is parsed.
 */
export function createFrameWeight({ access }: Pick<Gateway, 'access'>, address: string): (bytes: number) => boolean {
  let uncounted = 0;
  return (bytes) => {
    uncounted += bytes;
    const weight = Math.floor(uncounted / BYTES_PER_WEIGHT);
    uncounted -= weight * BYTES_PER_WEIGHT;
    return weight === 0 || !access.countActionWeight(address, weight).isExceeded;
  };
}

export interface RateNumbers {
  /** Maximum number of messages at once. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Token bucket: whether one more message may pass. */
export function createMessageRate(clock: Pick<Clock, 'now'>, { burst, perSecond }: RateNumbers): () => boolean {
  let left = burst;
  let at = clock.now();
  return () => {
    const now = clock.now();
    left = Math.min(burst, left + (Math.max(0, now - at) * perSecond) / 1000);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

interface HeartbeatOptions {
  readonly clock: Clock;
  readonly everyMs: number;
  /** After this many consecutive pings without any message the peer is lost. */
  readonly misses: number;
  readonly ask: () => void;
  readonly onLost: () => void;
}

interface Heartbeat {
  /** Called for any message of the peer. */
  alive(): void;
  stop: Cancel;
}

export function createHeartbeat({ clock, everyMs, misses, ask, onLost }: HeartbeatOptions): Heartbeat {
  let missed = 0;
  let isAwaited = false;
  const stop = clock.every(everyMs, () => {
    if (isAwaited) missed += 1;
    if (missed >= misses) {
      stop();
      return onLost();
    }
    isAwaited = true;
    ask();
  });
  return {
    stop,
    alive() {
      isAwaited = false;
      missed = 0;
    },
  };
}
