/** Pause between two tries for a lease that another replica holds. A try waits for others, once a second: shorter, so that none of these is missed. */
export const TRY_AGAIN_MS = 500;
/** Looks at what is due come once a second. Without one for this long, what they bring is read directly. */
const KNOWN_FOR_MS = 3_000;

/** As of when this process knows what other replicas store: it is read once, and later the looks at what is due bring it. Times are monotonic ms. */
export interface KnownByLooks {
  isKnown(): boolean;
  /** True if it has to be read directly. It then counts as known as of `now`, also if the read fails: then `forget` lets it be read again at once. */
  beginRead(now: number): boolean;
  /** Whether a look that was asked at this time counts. What was read before the last read, or while nothing is to be known, says nothing new. */
  takeLook(askedAt: number): boolean;
  forget(): void;
}

export function createKnownByLooks(): KnownByLooks {
  let asOf: number | null = null;
  return {
    isKnown: () => asOf !== null,
    beginRead(now) {
      if (asOf !== null && now - asOf < KNOWN_FOR_MS) return false;
      asOf = now;
      return true;
    },
    takeLook(askedAt) {
      if (asOf === null || askedAt < asOf) return false;
      asOf = askedAt;
      return true;
    },
    forget: () => void (asOf = null),
  };
}
