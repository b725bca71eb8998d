import { divideInteger } from '../decimal.js';
import type { DepthSide } from '../market.js';
import { effectiveVolumeUsd, impactFactor, WHOLE_SHARE } from './volume-impact.js';
import { openingImpact, type PriceContext, type PriceImpact } from './execution-price.js';
import { exposureRoom, PriceRangeError, type GroupOpenInterest } from './exposure.js';
import { MAX_OPEN_LOSS_P, openLossP } from './predict-open.js';
import { collateralToUsd, usdToCollateral } from './size.js';
import { E18, HUNDRED_PERCENT } from './units.js';

/** Level prices have twelve more digits than the contract's, so that their average equals its prices to the last digit. */
export const BOOK_PRICE_SCALE = 22;
const BOOK_PRICE_UNIT = 10n ** BigInt(BOOK_PRICE_SCALE);

/** Shown beyond the bands once recent volume has used them: the contract continues with the slope of the last band. */
const EXTRAPOLATED_LEVELS = 10n;

export interface BookLevel {
  /** 1e22. Rounded away from the mid price: asks up, bids down. */
  readonly price: bigint;
  /** 1e18 USD. */
  readonly usd: bigint;
  /** 1e18 base units, rounded down. */
  readonly base: bigint;
  /** 1e18 USD of this and every better level. */
  readonly cumulativeUsd: bigint;
  /** 1e10: what the contract charges for taking all of `cumulativeUsd` at once. */
  readonly executionPrice: bigint;
}

export interface VirtualBook {
  readonly asks: readonly BookLevel[];
  readonly bids: readonly BookLevel[];
}

/**
 * The book a trader sees if the contract's price curve is cut at the edges of its depth bands. The average of the levels up to an
 * edge, weighted by USD, is the execution price of an opening of that size; inside a level the contract is cheaper than the level.
 */
export function virtualBook(context: PriceContext, groupOi: GroupOpenInterest | null = null): VirtualBook {
  return { asks: bookSide(context, true, groupOi), bids: bookSide(context, false, groupOi) };
}

function bookSide(context: PriceContext, long: boolean, groupOi: GroupOpenInterest | null): readonly BookLevel[] {
  const { market, oraclePrice } = context;
  const spare = exposureRoom({ market, long, price: oraclePrice, groupOi });
  const levels: BookLevel[] = [];
  let spent = 0n;
  for (const step of executableSteps(context, long, edgesWithin(context, long, spare))) {
    const taken = levels.at(-1)?.cumulativeUsd ?? 0n;
    const usd = step.usd - taken;
    if (usd <= 0n) continue;
    // Every level compensates the rounding of the previous ones, so the error never exceeds one level's.
    const cost = step.usd * oraclePrice * (HUNDRED_PERCENT + step.impact.totalImpactP);
    const price = divideInteger(cost - spent, usd, long ? 'ceil' : 'floor');
    if (price <= 0n) break;
    spent += price * usd;
    const base = (usd * BOOK_PRICE_UNIT) / price;
    levels.push({ price, usd, base, cumulativeUsd: step.usd, executionPrice: step.impact.priceAfterImpact });
  }
  return levels;
}

/** Sizes (collateral units) at which the slope changes, capped by the free exposure. */
function edgesWithin(context: PriceContext, long: boolean, spare: bigint): readonly bigint[] {
  const sizes = bandEdges(context, long).map((usd) => usdToCollateral(usd, context.market.collateral));
  if (sizes.length === 0) return [spare];
  const inside = sizes.filter((size) => size < spare);
  return inside.length < sizes.length ? [...inside, spare] : inside;
}

/** USD left to each band edge after recent volume in this direction; empty where volume has no price impact. */
function bandEdges({ market, terms, moment }: PriceContext, long: boolean): readonly bigint[] {
  const side = long ? market.pair.depth.above : market.pair.depth.below;
  const probe = { market, terms, moment, long, open: true, sizeUsd: 0n, isPnlPositive: false, lastPosIncreaseBlock: 0n };
  if (side.totalUsd === 0n || impactFactor(probe) === null) return [];
  const volume = effectiveVolumeUsd(market, moment, long);
  const depths = bandDepths(side);
  const ahead = depths.map((depth) => depth - volume).filter((usd) => usd > 0n);
  if (ahead.length > 0) return ahead;
  const slope = (depths.at(-1) ?? 0n) - (depths.at(-2) ?? 0n);
  return Array.from({ length: Number(EXTRAPOLATED_LEVELS) }, (_, level) => slope * BigInt(level + 1));
}

/** 1e18 USD to the end of each band, rising; bands that add nothing are left out. */
function bandDepths(side: DepthSide): readonly bigint[] {
  const rising: bigint[] = [];
  for (const share of side.shares) {
    const depth = (share * side.totalUsd * E18) / WHOLE_SHARE;
    if (depth > (rising.at(-1) ?? 0n)) rising.push(depth);
  }
  return rising;
}

interface Step {
  readonly usd: bigint;
  readonly impact: PriceImpact;
}

/** null where an opening at the group's minimum leverage would lose too much to spread and impact, or has no price. */
function stepAt(context: PriceContext, long: boolean, size: bigint): Step | null {
  try {
    const impact = openingImpact(context, { long, positionSizeCollateral: size });
    if (openLossP(impact, { long, leverage: context.market.group.minLeverage }) > MAX_OPEN_LOSS_P) return null;
    return { usd: collateralToUsd(size, context.market.collateral), impact };
  } catch (error) {
    if (error instanceof PriceRangeError) return null;
    throw error;
  }
}

/** The steps the contract would execute; where an edge is not executable, the book ends at the largest size that is. */
function executableSteps(context: PriceContext, long: boolean, edges: readonly bigint[]): readonly Step[] {
  const steps: Step[] = [];
  let reached = 0n;
  for (const edge of edges) {
    const step = stepAt(context, long, edge);
    if (step !== null) {
      steps.push(step);
      reached = edge;
      continue;
    }
    const last = stepAt(context, long, largestExecutable(context, long, reached, edge));
    return last === null ? steps : [...steps, last];
  }
  return steps;
}

function largestExecutable(context: PriceContext, long: boolean, reached: bigint, unreachable: bigint): bigint {
  let [low, high] = [reached, unreachable];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (stepAt(context, long, middle) === null) high = middle;
    else low = middle;
  }
  return low;
}
