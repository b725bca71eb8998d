import type { Gateway } from '../gateway.js';
import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

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

export interface HeartbeatOptions {
  readonly clock: Clock;
  readonly everyMs: number;
  /** After this many consecutive pings without any message the peer is lost. */
  readonly misses: number;
  readonly ask: () => void;
  readonly onLost: () => void;
}

export interface Heartbeat {
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
