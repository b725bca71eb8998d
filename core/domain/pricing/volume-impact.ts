import type { BandOffsets, DepthSide, OiWindowsSettings, PairFactors, VolumeWindow } from '../market.js';
import { WHOLE_SHARE } from './depth-bands.js';
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
