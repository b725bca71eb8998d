export interface Backoff {
  /** The wait after one more failure. `atLeastMs` is upstream's retry-after. */
  readonly next: (atLeastMs?: number) => number;
  readonly reset: () => void;
}

/** Exponential with jitter: between half and all of the step, so that clients do not retry simultaneously. */
export function createBackoff(firstMs: number, capMs: number, random: () => number): Backoff {
  let failures = 0;
  return {
    next(atLeastMs = 0) {
      const step = Math.min(capMs, firstMs * 2 ** Math.min(failures, 30));
      failures += 1;
      return Math.max(atLeastMs, step / 2 + (step / 2) * random());
    },
    reset() {
      failures = 0;
    },
  };
}
