import { BAND_COUNT, type BandOffsets, type DepthBands, type DepthSide } from '../market.js';

/** Two storage words: the first holds a uint32 total and bands 0 to 13, the second bands 14 to 29, each band a uint16. */
export interface BandSlots {
  readonly slot1: bigint;
  readonly slot2: bigint;
}

export interface DepthBandSlots {
  readonly aboveSlot1: bigint;
  readonly aboveSlot2: bigint;
  readonly belowSlot1: bigint;
  readonly belowSlot2: bigint;
}

const BANDS_IN_SLOT1 = 14;
const TOTAL_BITS = 32n;
const BAND_BITS = 16n;
const MAX_TOTAL = (1n << TOTAL_BITS) - 1n;
const MAX_BAND = (1n << BAND_BITS) - 1n;
const MAX_WORD = (1n << 256n) - 1n;

/** Full depth of a side in shares. */
export const WHOLE_SHARE = 10_000n;

const shiftOf = (band: number): bigint =>
  band < BANDS_IN_SLOT1 ? TOTAL_BITS + BAND_BITS * BigInt(band) : BAND_BITS * BigInt(band - BANDS_IN_SLOT1);

function requireRange(value: bigint, highest: bigint, what: string): void {
  if (value < 0n || value > highest) throw new RangeError(`${what} ${value.toString()} is outside 0 to ${highest.toString()}`);
}

function decodeBands({ slot1, slot2 }: BandSlots): readonly bigint[] {
  requireRange(slot1, MAX_WORD, 'slot1');
  requireRange(slot2, MAX_WORD, 'slot2');
  return Array.from({ length: BAND_COUNT }, (_, band) => ((band < BANDS_IN_SLOT1 ? slot1 : slot2) >> shiftOf(band)) & MAX_BAND);
}

function encodeBands(total: bigint, bands: readonly bigint[]): BandSlots {
  if (bands.length !== BAND_COUNT) throw new RangeError(`${bands.length} bands instead of ${BAND_COUNT}`);
  requireRange(total, MAX_TOTAL, 'total depth');
  let [slot1, slot2] = [total, 0n];
  for (const [band, value] of bands.entries()) {
    requireRange(value, MAX_BAND, `band ${band}`);
    if (band < BANDS_IN_SLOT1) slot1 |= value << shiftOf(band);
    else slot2 |= value << shiftOf(band);
  }
  return { slot1, slot2 };
}

export const decodeDepthSide = (slots: BandSlots): DepthSide => ({ totalUsd: slots.slot1 & MAX_TOTAL, shares: decodeBands(slots) });
export const encodeDepthSide = (side: DepthSide): BandSlots => encodeBands(side.totalUsd, side.shares);

/** The low 32 bits of the mapping's first word are empty. */
export const decodeBandOffsets = (slots: BandSlots): BandOffsets => decodeBands(slots);
export const encodeBandOffsets = (offsets: BandOffsets): BandSlots => encodeBands(0n, offsets);

export const decodeDepthBands = (slots: DepthBandSlots): DepthBands => ({
  above: decodeDepthSide({ slot1: slots.aboveSlot1, slot2: slots.aboveSlot2 }),
  below: decodeDepthSide({ slot1: slots.belowSlot1, slot2: slots.belowSlot2 }),
});

export function encodeDepthBands(bands: DepthBands): DepthBandSlots {
  const [above, below] = [encodeDepthSide(bands.above), encodeDepthSide(bands.below)];
  return { aboveSlot1: above.slot1, aboveSlot2: above.slot2, belowSlot1: below.slot1, belowSlot2: below.slot2 };
}
