/** Counts malformed parts of a snapshot; only the first few places are kept, to bound memory and log. */
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

/** The snapshot as a whole is malformed; it is rejected and the previous one stays. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}
