/** `counts` has one more element than `bounds`, for values above all of them. */
export interface HistogramCounts {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

export interface Histogram extends HistogramCounts {
  observe(value: number): void;
}

/** Fixed buckets in one array, so that an observation is cheap. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  return {
    bounds,
    counts,
    get sum() {
      return sum;
    },
    observe(value) {
      let at = 0;
      while (at < bounds.length && value > (bounds[at] ?? Infinity)) at += 1;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += value;
    },
  };
}
