/**
 * A price outside the sanity band of the last accepted one is accepted only if it persists: three ticks that agree with each other over at
 * least half a second, or any tick once the last accepted price is a minute old (a market that reopens may gap). Until then the last
 * accepted price is kept, so a real jump of more than a fifth is published after about a second and a smaller one at once. Otherwise one
 * wrong tick would size and limit orders that the contract then fills at the true price.
 */
const BAND_PERCENT = 20n;
const CONFIRMATIONS = 3;
const PERSIST_MS = 500;
const ACCEPTED_TTL_MS = 60_000;

export interface Gate {
  /** The accepted price after this tick, or null when the tick is not accepted yet. */
  pass(price: bigint, now: number): bigint | null;
}

interface Candidate {
  readonly price: bigint;
  readonly since: number;
  readonly count: number;
}

export function createGate(): Gate {
  let accepted: { price: bigint; at: number } | null = null;
  let candidate: Candidate | null = null;

  const accept = (price: bigint, now: number): bigint => {
    accepted = { price, at: now };
    candidate = null;
    return price;
  };

  return {
    pass(price, now) {
      if (!accepted || now - accepted.at > ACCEPTED_TTL_MS || isNear(price, accepted.price)) return accept(price, now);
      candidate =
        candidate && isNear(price, candidate.price) ? { ...candidate, count: candidate.count + 1 } : { price, since: now, count: 1 };
      return candidate.count >= CONFIRMATIONS && now - candidate.since >= PERSIST_MS ? accept(price, now) : null;
    },
  };
}

function isNear(price: bigint, reference: bigint): boolean {
  const distance = price > reference ? price - reference : reference - price;
  return distance * 100n <= reference * BAND_PERCENT;
}
