import type { BandOffsets, DepthBands, LiquidationParams, Pair, PairFactors, VolumeWindow } from '../../domain/market.js';
import {
  field,
  flag,
  isObject,
  MAX_PAIRS,
  natural,
  naturals,
  position,
  ShapeError,
  struct,
  symbol,
  type Problems,
  type StructReader,
} from './wire.js';
import { decodeBandOffsets, decodeDepthBands } from '../../domain/pricing/volume-impact.js';

/** The per-pair columns. Each is indexed by pair and has its own length; 'malformed' distinguishes a bad cell from an unset one. */

export type Cell<Value> = Value | 'malformed';
export type PairRow = Pick<Pair, 'from' | 'to' | 'spreadP' | 'groupIndex' | 'feeIndex'>;
export type CounterTrade = Pair['counterTrade'];

export const MAX_WINDOWS = 64;

const pairFactors = struct({
  protectionCloseFactor: natural,
  protectionCloseFactorBlocks: natural,
  cumulativeFactor: natural,
  exemptOnOpen: flag,
  exemptAfterProtectionCloseFactor: flag,
}) satisfies StructReader<PairFactors>;

const liquidation = naturals(
  'maxLiqSpreadP',
  'startLiqThresholdP',
  'endLiqThresholdP',
  'startLeverage',
  'endLeverage',
) satisfies StructReader<LiquidationParams>;

const counterTrade = naturals('maxLeverage', 'feeRateMultiplier') satisfies StructReader<CounterTrade>;
const windowVolume = naturals('oiLongUsd', 'oiShortUsd');

export function rows(value: unknown, key: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ShapeError(`${key} is not an array`);
  if (value.length > MAX_PAIRS) throw new ShapeError(`${key} has ${value.length} entries`);
  return value;
}

const column =
  <Value>(key: string, read: (cell: unknown) => Value | null) =>
  (value: unknown, problems: Problems): Cell<Value>[] =>
    rows(value, key).map((cell, index) => {
      const one = read(cell);
      if (one !== null) return one;
      problems.note(`${key}[${index}]`);
      return 'malformed';
    });

/** A blank slot keeps its position: dropping it would shift every later index. */
export function readPairs(value: unknown, problems: Problems): (PairRow | null)[] {
  return rows(value, 'pairs').map((cell, index) => {
    if (cell === null || field(cell, 'from') === '') return null;
    const row = pairRow(cell);
    if (row === null) problems.note(`pairs[${index}]`);
    return row;
  });
}

function pairRow(cell: unknown): PairRow | null {
  const [from, to] = [symbol(field(cell, 'from')), symbol(field(cell, 'to'))];
  const spreadP = natural(field(cell, 'spreadP'));
  const [groupIndex, feeIndex] = [position(field(cell, 'groupIndex')), position(field(cell, 'feeIndex'))];
  if (from === null || to === null || spreadP === null || groupIndex === null || feeIndex === null) return null;
  return { from, to, spreadP, groupIndex, feeIndex };
}

export const readMaxLeverages = column<bigint>('maxLeverages', (cell) => natural(cell ?? 0));

const NO_DEPTH = decodeDepthBands({ aboveSlot1: 0n, aboveSlot2: 0n, belowSlot1: 0n, belowSlot2: 0n });

const MAX_WORD = (1n << 256n) - 1n;

export const readDepths = column<DepthBands>('pairDepthBands', depthBands);
export const readFactors = column<PairFactors>('pairFactors', pairFactors);
export const readLiquidation = column<LiquidationParams>('liquidationParams.pairs', liquidation);
export const readCounterTrades = column<CounterTrade>('counterTradeSettings', counterTrade);
export const readWindows = column<readonly VolumeWindow[]>('oiWindows', pairWindows);

function pairWindows(cell: unknown): VolumeWindow[] | null {
  if (cell === undefined || cell === null) return [];
  if (!isObject(cell)) return null;
  const windows = Object.entries(cell).map(([id, volume]) => volumeWindow(id, volume));
  const known = windows.filter((window) => window !== null);
  if (known.length < windows.length) return null;
  return newestWindows(known);
}

export function volumeWindow(id: unknown, volume: unknown): VolumeWindow | null {
  const [read, sides] = [natural(id), isObject(volume) ? windowVolume(volume) : null];
  return read === null || sides === null ? null : { id: read, ...sides };
}

/** Only recent windows matter, and the contract keeps a handful: older ones are dropped. */
export function newestWindows(windows: readonly VolumeWindow[]): VolumeWindow[] {
  return [...windows].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)).slice(-MAX_WINDOWS);
}

function word(value: unknown, key: string): bigint | null {
  const read = natural(field(value, key));
  return read !== null && read <= MAX_WORD ? read : null;
}

/** Absent slots are unset: no depth, no impact. Malformed ones make the pair unknown instead of free of impact. */
function depthBands(value: unknown): DepthBands | null {
  if (value === undefined || value === null) return NO_DEPTH;
  const [aboveSlot1, aboveSlot2] = [word(value, 'aboveSlot1'), word(value, 'aboveSlot2')];
  const [belowSlot1, belowSlot2] = [word(value, 'belowSlot1'), word(value, 'belowSlot2')];
  if (aboveSlot1 === null || aboveSlot2 === null || belowSlot1 === null || belowSlot2 === null) return null;
  return aboveSlot1 + aboveSlot2 + belowSlot1 + belowSlot2 === 0n
    ? NO_DEPTH
    : decodeDepthBands({ aboveSlot1, aboveSlot2, belowSlot1, belowSlot2 });
}

export function bandOffsets(value: unknown): BandOffsets | null {
  const [slot1, slot2] = [word(value, 'slot1'), word(value, 'slot2')];
  return slot1 === null || slot2 === null ? null : decodeBandOffsets({ slot1, slot2 });
}
