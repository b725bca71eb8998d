import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

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
