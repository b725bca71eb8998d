import {
  BAND_COUNT,
  type BandOffsets,
  type DepthBands,
  type DepthSide,
  type OiWindowsSettings,
  type PairFactors,
  type VolumeWindow,
} from '../market.js';
import type { MarketView, Moment, TraderTerms } from './market-view.js';
import { E18, E3, minimum, P10, pushesUp } from './units.js';

/** Offsets are 1e4 per percent; impacts 1e10. */
const OFFSET_TO_P = 10n ** 6n;

/**
 * A(x): the average offset (1e10 percent) of the first `usd` (1e18) of a side. Liquidity is spread linearly inside a band; the band
 * that reaches the whole depth absorbs what is left at the same slope; past the last band nothing is added but all is averaged.
 */
export function averageOffsetP(side: DepthSide, offsets: BandOffsets, usd: bigint): bigint {
  const total = side.totalUsd * E18;
  if (total === 0n || usd === 0n) return 0n;
  let [remaining, weighted, previousDepth, previousOffset] = [usd, 0n, 0n, 0n];
  for (const [band, share] of side.shares.entries()) {
    if (remaining === 0n) break;
    const depth = (share * total) / WHOLE_SHARE;
    const offset = (offsets[band] ?? 0n) * OFFSET_TO_P;
    const available = depth - previousDepth;
    if (available > 0n) {
      const used = share === WHOLE_SHARE ? remaining : minimum(remaining, available);
      weighted += (previousOffset + ((offset - previousOffset) * used) / available / 2n) * used;
      remaining -= used;
    }
    [previousDepth, previousOffset] = [depth, offset];
  }
  return weighted / usd;
}

/**
 * Unsigned impact (1e10 percent) of `sizeUsd` after `volumeUsd` in the same direction: the average of both ends, so that on a constant slope
 * splitting a trade gains nothing.
 */
export function depthImpactP(input: {
  readonly side: DepthSide;
  readonly offsets: BandOffsets;
  readonly volumeUsd: bigint;
  readonly sizeUsd: bigint;
  /** 1e10. */
  readonly factor: bigint;
}): bigint {
  const before = averageOffsetP(input.side, input.offsets, input.volumeUsd);
  const after = averageOffsetP(input.side, input.offsets, input.volumeUsd + input.sizeUsd);
  return ((before + (after - before) / 2n) * input.factor) / P10;
}

/** V: active volume of the direction, weighted by the pair's cumulative factor (0 means unset, that is 1). */
export function effectiveVolumeUsd(market: MarketView, moment: Moment, up: boolean): bigint {
  const { windows, factors } = market.pair;
  const active = activeVolumeUsd({ windows, settings: market.oiWindows, timestamp: moment.timestamp, up });
  return factors.cumulativeFactor === 0n ? active : (active * factors.cumulativeFactor) / P10;
}

export interface VolumeImpactInput {
  readonly market: MarketView;
  readonly terms: TraderTerms;
  readonly moment: Moment;
  readonly long: boolean;
  readonly open: boolean;
  /** 1e18. */
  readonly sizeUsd: bigint;
  /** For closes only: whether the trade is in profit after all fees, and when it was last increased. */
  readonly isPnlPositive: boolean;
  readonly lastPosIncreaseBlock: bigint;
}

/** A profitable close soon after an increase has a higher impact, against traders that exploit the oracle's delay. */
function isProtected(input: VolumeImpactInput, factors: PairFactors): boolean {
  return (
    !input.open &&
    input.isPnlPositive &&
    factors.protectionCloseFactor !== 0n &&
    input.moment.block <= input.lastPosIncreaseBlock + factors.protectionCloseFactorBlocks &&
    !input.terms.protectionCloseFactorWhitelisted
  );
}

/** Impact factor (1e10) of an action; null when the pair exempts it. */
export function impactFactor(input: VolumeImpactInput): bigint | null {
  const { factors } = input.market.pair;
  const protectedClose = isProtected(input, factors);
  if (input.open ? factors.exemptOnOpen : !protectedClose && factors.exemptAfterProtectionCloseFactor) return null;
  const multiplier = input.terms.cumulVolPriceImpactMultiplier;
  return ((protectedClose ? factors.protectionCloseFactor : P10) * (multiplier === 0n ? E3 : multiplier)) / E3;
}

/** Signed (1e10 percent): positive raises the price. */
export function volumeImpactP(input: VolumeImpactInput): bigint {
  const factor = impactFactor(input);
  if (factor === null) return 0n;
  const up = pushesUp(input);
  const impact = depthImpactP({
    side: up ? input.market.pair.depth.above : input.market.pair.depth.below,
    offsets: input.market.bandOffsets,
    volumeUsd: effectiveVolumeUsd(input.market, input.moment, up),
    sizeUsd: input.sizeUsd,
    factor,
  });
  return up ? impact : -impact;
}

/** null before the first window starts, where the contract itself would revert. */
export function windowIdAt(settings: OiWindowsSettings, timestamp: bigint): bigint | null {
  return timestamp < settings.startTs ? null : (timestamp - settings.startTs) / settings.windowsDuration;
}

/** USD (1e18) traded in one direction over the last `windowsCount` windows, the current one included. */
export function activeVolumeUsd(input: {
  readonly windows: readonly VolumeWindow[];
  readonly settings: OiWindowsSettings;
  readonly timestamp: bigint;
  readonly up: boolean;
}): bigint {
  const current = windowIdAt(input.settings, input.timestamp);
  if (current === null || input.settings.windowsCount === 0n) return 0n;
  const earliest = current - (input.settings.windowsCount - 1n);
  return input.windows
    .filter(({ id }) => id >= earliest && id <= current)
    .reduce((sum, window) => sum + (input.up ? window.oiLongUsd : window.oiShortUsd), 0n);
}

/** The volume that an action of `usd` adds to its direction's window; a close without profit counts only in part. */
export function volumeAdded(input: {
  readonly usd: bigint;
  readonly open: boolean;
  readonly isPnlPositive: boolean;
  readonly negPnlCumulVolMultiplier: bigint;
}): bigint {
  return input.open || input.isPnlPositive ? input.usd : (input.usd * input.negPnlCumulVolMultiplier) / P10;
}

/** Two storage words: the first holds a uint32 total and bands 0 to 13, the second bands 14 to 29, each band a uint16. */
interface BandSlots {
  readonly slot1: bigint;
  readonly slot2: bigint;
}

interface DepthBandSlots {
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
