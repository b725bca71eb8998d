import { E18 } from './units.js';

/** The discount on trading fees that a trader's volume earns. The contract settles it once a day, with the trader's first action of the day. */

export interface FeeTier {
  /** 1e3. */
  readonly feeMultiplier: number;
  /** Whole points. */
  readonly pointsThreshold: number;
}

/** What the contract has stored of a trader's volume. Days count from the epoch; points have 18 decimals. */
export interface TraderPoints {
  /** The last day that was settled; 0 = none. */
  readonly lastDayUpdated: number;
  /** Of the thirty days before that. */
  readonly trailingPoints: bigint;
}

const TRAILING_DAYS = 30;
const FULL_FEE = 1000n;

/** A trader without a first action has no tier, and after it today's is settled. */
export const isSettledOn = (day: number, { lastDayUpdated }: Pick<TraderPoints, 'lastDayUpdated'>): boolean =>
  lastDayUpdated === 0 || lastDayUpdated >= day;

/** The days whose points the settlement of `day` needs: the last one that was settled, and those that leave the thirty days. */
export function daysToSettle(day: number, { lastDayUpdated }: Pick<TraderPoints, 'lastDayUpdated'>): readonly number[] {
  const earliest = day - TRAILING_DAYS;
  if (isSettledOn(day, { lastDayUpdated }) || lastDayUpdated < earliest) return [];
  const left = Array.from({ length: day - lastDayUpdated }, (_, at) => lastDayUpdated - TRAILING_DAYS + at);
  return [lastDayUpdated, ...left];
}

/** The multiplier (1e3) that the contract will settle for `day`, from the points of `daysToSettle`. */
export function multiplierSettled(tiers: readonly FeeTier[], { trailingPoints }: TraderPoints, points: readonly bigint[]): bigint {
  const [gained, ...left] = points;
  const trailing = gained === undefined ? 0n : trailingPoints + gained - left.reduce((total, each) => total + each, 0n);
  const tier = tiers.findLast(({ feeMultiplier, pointsThreshold }) => feeMultiplier > 0 && trailing >= BigInt(pointsThreshold) * E18);
  return tier === undefined ? FULL_FEE : BigInt(tier.feeMultiplier);
}
