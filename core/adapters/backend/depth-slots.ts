import type { BandOffsets, DepthBands } from '../../domain/market.js';
import { decodeBandOffsets, decodeDepthBands } from '../../domain/pricing/depth-bands.js';
import { field, natural } from './wire.js';

const MAX_WORD = (1n << 256n) - 1n;
const NO_DEPTH = decodeDepthBands({ aboveSlot1: 0n, aboveSlot2: 0n, belowSlot1: 0n, belowSlot2: 0n });

function word(value: unknown, key: string): bigint | null {
  const read = natural(field(value, key));
  return read !== null && read <= MAX_WORD ? read : null;
}

/** Absent slots are unset: no depth, no impact. Malformed ones make the pair unknown instead of free of impact. */
export function depthBands(value: unknown): DepthBands | null {
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
