import type { Cancel } from '../../core/types.js';
import type { Outbox } from '../../core/stream/outbox.js';

export interface KeyedOutbox {
  /** A later frame of the same key replaces one that was not sent yet. */
  put(key: string, text: string): void;
  readonly stop: Cancel;
}

/** For frames of which only the newest per key matters: a slow connection gets fewer of them, and holds at most one of each. */
export function createKeyedOutbox(outbox: Outbox): KeyedOutbox {
  const waiting = new Map<string, string>();
  const offer = {
    take(): string | null {
      const [next] = waiting;
      if (next === undefined) return null;
      const [key, text] = next;
      waiting.delete(key);
      if (waiting.size > 0) outbox.offer(offer);
      return text;
    },
  };
  return {
    put(key, text) {
      waiting.set(key, text);
      outbox.offer(offer);
    },
    stop() {
      waiting.clear();
      outbox.withdraw(offer);
    },
  };
}
