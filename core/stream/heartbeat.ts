import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';

export interface HeartbeatOptions {
  readonly clock: Clock;
  readonly everyMs: number;
  /** So many questions in a row without a sign of life, and the peer is lost. */
  readonly misses: number;
  readonly ask: () => void;
  readonly onLost: () => void;
}

export interface Heartbeat {
  /** Anything the peer says proves that it lives. */
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
