/** What a snapshot got wrong, counted; only the first few places are kept, so that garbage cannot fill the memory or the log. */
export interface Problems {
  readonly count: number;
  readonly places: readonly string[];
  note(place: string): void;
}

const KEPT = 5;

export function createProblems(): Problems {
  const places: string[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    places,
    note(place) {
      count += 1;
      if (places.length < KEPT) places.push(place);
    },
  };
}

/** The snapshot as a whole cannot be what it claims to be; it is refused and the previous one stays. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}
