import type { Cancel } from '../types.js';

export interface Held<Part> {
  readonly part: Part;
  readonly release: Cancel;
}

export interface Shared<Key, Part> {
  hold(key: Key): Held<Part>;
  /** Number of parts that are in use. */
  readonly size: () => number;
}

/** Reference-counted parts by key: created for the first holder, stopped when the last one releases it. */
export function createShared<Key, Part extends { readonly stop: Cancel }>(
  idOf: (key: Key) => string,
  make: (key: Key) => Part,
): Shared<Key, Part> {
  const held = new Map<string, { readonly part: Part; holders: number }>();

  const release = (id: string): void => {
    const entry = held.get(id);
    if (!entry) return;
    entry.holders -= 1;
    if (entry.holders > 0) return;
    held.delete(id);
    entry.part.stop();
  };

  return {
    size: () => held.size,
    hold(key) {
      const id = idOf(key);
      const entry = held.get(id) ?? { part: make(key), holders: 0 };
      entry.holders += 1;
      held.set(id, entry);
      let isReleased = false;
      return {
        part: entry.part,
        release() {
          if (isReleased) return;
          isReleased = true;
          release(id);
        },
      };
    },
  };
}
