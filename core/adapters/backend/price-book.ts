import { epochMs, field, isObject, MAX_PAIRS, slot, wireUnits } from './wire.js';

/** The last price of one pair, before any skew. */
export interface Quote {
  readonly mark: bigint;
  readonly index: bigint;
  /** Epoch ms, the sender's time if it is plausible. */
  readonly at: number;
  /** Epoch ms of our clock, for staleness. */
  readonly heardAt: number;
}

export interface PriceBook {
  /** Pairs whose quote changed or was confirmed. */
  apply(frame: PriceFrame, now: number): readonly number[];
  /** Applies charts that are newer than the socket's prices; they are as old as their timestamp, and at least as old as the request. */
  seed(charts: unknown, askedAt: number, now: number): readonly number[];
  get(pairIndex: number): Quote | undefined;
  readonly quotes: ReadonlyMap<number, Quote>;
  /** Ticks dropped since the start, as unreadable or implausible. */
  readonly dropped: number;
}

interface Entry {
  readonly mark: Gate;
  readonly index: Gate;
  /** Set once a frame has contained an index price; before that the index follows the mark. */
  hasOwnIndex: boolean;
}

/** A larger difference means a broken clock, not an old price. */
const PLAUSIBLE_MS = 60_000;

export function createPriceBook(): PriceBook {
  const entries = new Map<number, Entry>();
  const quotes = new Map<number, Quote>();
  let dropped = 0;

  const entryOf = (pairIndex: number): Entry => {
    const found = entries.get(pairIndex) ?? { mark: createGate(), index: createGate(), hasOwnIndex: false };
    entries.set(pairIndex, found);
    return found;
  };

  const filter = (gate: Gate, price: bigint, now: number): bigint | null => {
    const accepted = gate.pass(price, now);
    if (accepted === null) dropped += 1;
    return accepted;
  };

  const setMark = ({ pairIndex, price }: Tick, at: number, now: number): boolean => {
    const entry = entryOf(pairIndex);
    const mark = filter(entry.mark, price, now);
    if (mark === null) return false;
    const index = entry.hasOwnIndex ? (quotes.get(pairIndex)?.index ?? mark) : mark;
    quotes.set(pairIndex, { mark, index, at, heardAt: now });
    return true;
  };

  const setIndex = ({ pairIndex, price }: Tick, at: number, now: number): boolean => {
    const entry = entryOf(pairIndex);
    const index = filter(entry.index, price, now);
    if (index === null) return false;
    entry.hasOwnIndex = true;
    quotes.set(pairIndex, { mark: quotes.get(pairIndex)?.mark ?? index, index, at, heardAt: now });
    return true;
  };

  const seedOne = (pairIndex: number, charts: unknown, at: number, now: number): boolean => {
    const receivedAt = quotes.get(pairIndex)?.heardAt;
    const mark = readPrice(slot(field(charts, 'closes'), pairIndex));
    if (mark === null || (receivedAt !== undefined && receivedAt >= at) || !setMark({ pairIndex, price: mark }, at, now)) return false;
    const index = readPrice(slot(field(charts, 'indexPrices'), pairIndex));
    const quote = quotes.get(pairIndex);
    if (quote) quotes.set(pairIndex, { ...quote, heardAt: at, index: index ?? quote.index });
    return true;
  };

  return {
    quotes,
    get: (pairIndex) => quotes.get(pairIndex),
    get dropped() {
      return dropped;
    },
    apply(frame, now) {
      const at = frame.sentAt !== null && Math.abs(frame.sentAt - now) < PLAUSIBLE_MS ? Math.min(frame.sentAt, now) : now;
      dropped += frame.dropped;
      const changed = new Set<number>();
      for (const tick of frame.marks) if (setMark(tick, at, now)) changed.add(tick.pairIndex);
      for (const tick of frame.indexes) if (setIndex(tick, at, now)) changed.add(tick.pairIndex);
      return [...changed];
    },
    seed(charts, askedAt, now) {
      const closes = field(charts, 'closes');
      const count = Array.isArray(closes) ? Math.min(closes.length, MAX_PAIRS) : 0;
      const at = Math.min(epochMs(field(charts, 'time')) ?? askedAt, askedAt);
      return Array.from({ length: count }, (_, index) => index).filter((index) => seedOne(index, charts, at, now));
    },
  };
}

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

interface Gate {
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

interface Tick {
  readonly pairIndex: number;
  readonly price: bigint;
}

interface PriceFrame {
  readonly kind: 'v4' | 'v3' | 'heartbeat' | 'unknown';
  readonly marks: readonly Tick[];
  readonly indexes: readonly Tick[];
  /** Epoch ms as sent. */
  readonly sentAt: number | null;
  /** Invalid entries: zero, negative, not a number, too large for the contract, an impossible pair. */
  readonly dropped: number;
}

const PRICE_SCALE = 10;
/** Prices are uint64 in the contract. */
const MAX_PRICE = 2n ** 64n - 1n;

const NOTHING = { marks: [], indexes: [], sentAt: null, dropped: 0 } as const;
const stamp = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null);

/** All three shapes occur on both sockets: `{m,i,t}`, a flat array of pairs and prices, and a single timestamp. */
export function readPriceFrame(frame: unknown): PriceFrame {
  if (Array.isArray(frame)) return readArray(frame);
  if (!isObject(frame) || (frame['m'] === undefined && frame['i'] === undefined)) return { ...NOTHING, kind: 'unknown' };
  const [marks, indexes] = [readTicks(field(frame, 'm')), readTicks(field(frame, 'i'))];
  return {
    kind: 'v4',
    marks: marks.ticks,
    indexes: indexes.ticks,
    sentAt: stamp(field(frame, 't')),
    dropped: marks.dropped + indexes.dropped,
  };
}

function readArray(frame: readonly unknown[]): PriceFrame {
  if (frame.length === 1) return { ...NOTHING, kind: 'heartbeat', sentAt: stamp(frame[0]) };
  const { ticks, dropped } = readTicks(frame);
  return { ...NOTHING, kind: 'v3', marks: ticks, dropped };
}

function readTicks(flat: unknown): { ticks: Tick[]; dropped: number } {
  if (!Array.isArray(flat)) return { ticks: [], dropped: flat === undefined ? 0 : 1 };
  const ticks: Tick[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const pairIndex: unknown = flat[at];
    const price = readPrice(flat[at + 1]);
    if (isPair(pairIndex) && price !== null) ticks.push({ pairIndex, price });
  }
  return { ticks, dropped: Math.ceil(flat.length / 2) - ticks.length };
}

const isPair = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0 && Number(value) < MAX_PAIRS;

export function readPrice(value: unknown): bigint | null {
  const price = wireUnits(value, PRICE_SCALE);
  return price !== null && price > 0n && price <= MAX_PRICE ? price : null;
}
