/**
 * A price that leaves the sanity band of the last accepted one is not believed at once. It is believed when it persists: three ticks
 * that agree with each other over at least half a second, or any tick once the last accepted price is a minute old (a market that
 * reopens may gap). Until then the last accepted price stands, so that a real jump of more than a fifth reaches clients after about a
 * second and a smaller one at once. One wrong tick would otherwise size and bound orders that the contract then fills at the true price.
 */
const BAND_PERCENT = 20n;
const CONFIRMATIONS = 3;
const PERSIST_MS = 500;
const FORGET_MS = 60_000;

export interface Gate {
  /** The price to hold after this tick, or null when the tick is not believed yet. */
  pass(price: bigint, now: number): bigint | null;
}

interface Rumour {
  readonly price: bigint;
  readonly since: number;
  readonly count: number;
}

export function createGate(): Gate {
  let accepted: { price: bigint; at: number } | null = null;
  let rumour: Rumour | null = null;

  const accept = (price: bigint, now: number): bigint => {
    accepted = { price, at: now };
    rumour = null;
    return price;
  };

  return {
    pass(price, now) {
      if (!accepted || now - accepted.at > FORGET_MS || isNear(price, accepted.price)) return accept(price, now);
      rumour = rumour && isNear(price, rumour.price) ? { ...rumour, count: rumour.count + 1 } : { price, since: now, count: 1 };
      return rumour.count >= CONFIRMATIONS && now - rumour.since >= PERSIST_MS ? accept(price, now) : null;
    },
  };
}

function isNear(price: bigint, reference: bigint): boolean {
  const distance = price > reference ? price - reference : reference - price;
  return distance * 100n <= reference * BAND_PERCENT;
}
