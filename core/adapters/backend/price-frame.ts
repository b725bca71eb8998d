import { field, isObject, MAX_PAIRS, wireUnits } from './wire.js';

export interface Tick {
  readonly pairIndex: number;
  readonly price: bigint;
}

export interface PriceFrame {
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
