import fc from 'fast-check';
import { P10 } from '../../../../core/domain/pricing/units.js';
import { bandOffsets, depthSide, factors, magnitude, oraclePrice, terms } from './arbitraries.js';

/** What one round of the differential test does, drawn as data so that a failing round is repeated by its seed. */

/** Few, so that trades meet each other's volume, skew and open interest. */
const PAIRS = 2;

const bigIn = (min: bigint, max: bigint): fc.Arbitrary<bigint> => fc.bigInt({ min, max });

const oneOf = (...values: bigint[]): fc.Arbitrary<bigint> => fc.constantFrom(...values);

const fundingParams = fc.record({
  skewCoefficientPerYear: fc.oneof(fc.constant(0n), magnitude(24, 31)),
  absoluteVelocityPerYearCap: bigIn(0n, 16_777_215n),
  absoluteRatePerSecondCap: oneOf(0n, 1000n, 317_097n, 3_170_979n),
  thetaThresholdUsd: fc.constantFrom(0n, 0n, 1000n, 250_000n),
  fundingFeesEnabled: fc.constantFrom(true, true, true, false),
  aprMultiplierEnabled: fc.boolean(),
});

/** Depths of skew are drawn in USD and become tokens of the pair once its price is known. */
const inCollateral = fc.record({
  maxOi: magnitude(15, 18),
  skewDepthUsd: fc.oneof(fc.constant(0n), magnitude(5, 9)),
  maxSkewCollateral: fc.oneof(fc.constant(0n), magnitude(15, 18)),
  fundingParams,
  borrowingRatePerSecondP: bigIn(0n, 200_000n),
  groupMax: fc.oneof(fc.constant(0n), magnitude(15, 18)),
});

const pair = fc.record({
  price: oraclePrice,
  spreadP: bigIn(0n, 2_000_000_000n),
  above: depthSide,
  below: depthSide,
  factors,
  customMaxLeverage: oneOf(0n, 0n, 20_000n),
  counterTrade: fc.record({ maxLeverage: fc.constantFrom(0n, 10_000n, 30_000n), feeRateMultiplier: bigIn(100n, 2000n) }),
  collaterals: fc.tuple(inCollateral, inCollateral),
});

const liquidation = fc
  .record({
    maxLiqSpreadP: fc.constantFrom(0n, 500_000_000n, 37_123_456n),
    startLiqThresholdP: bigIn(80n * P10, 90n * P10),
    endLiqThresholdP: bigIn(50n * P10, 80n * P10),
    startLeverage: bigIn(2000n, 25_000n),
    span: bigIn(0n, 80_000n),
  })
  .map(({ span, ...params }) => ({ ...params, endLeverage: params.startLeverage + span }));

/** What governance may change between a request and its answer. */
export const UPHEAVALS = ['leverage', 'depth', 'funding'] as const;
export type Upheaval = (typeof UPHEAVALS)[number];

export const ACTIONS = ['open', 'close', 'increase', 'decrease', 'leverage', 'withdraw'] as const;

const action = fc.record({
  kind: fc.constantFrom('open', 'open', ...ACTIONS),
  pair: fc.integer({ min: 0, max: PAIRS - 1 }),
  collateral: fc.constantFrom(1, 2),
  trader: fc.integer({ min: 0, max: 3 }),
  which: fc.nat({ max: 1000 }),
  long: fc.boolean(),
  leverage: bigIn(1100n, 150_000n),
  sizeUsd: magnitude(20, 25),
  /** Ten thousandths by which the price moves before the request and before the answer. */
  moves: fc.tuple(bigIn(-200n, 200n), bigIn(-60n, 60n)),
  maxSlippageP: fc.constantFrom(300n, 1000n, 5000n, 65_535n, 65_535n),
  /** Ten thousandths between the expected price and the targets; 0 = none. */
  targets: fc.tuple(fc.constantFrom(0n, 0n, 0n, 0n, 20n, 500n, 3000n), fc.constantFrom(0n, 0n, 0n, 0n, 20n, 500n, 9000n)),
  share: bigIn(1n, 999n),
  isLeverageUpdate: fc.boolean(),
  isCounterTrade: fc.constantFrom(false, false, false, true),
  version: fc.constantFrom(2, 2, 2, 2, 2, 2, 1, 0),
  upheaval: fc.option(fc.constantFrom(...UPHEAVALS), { freq: 6 }),
  /** Until the request, and from it to the answer, which comes too late after an hour. */
  pause: fc.oneof(bigIn(1n, 30n), bigIn(1n, 600n), bigIn(1000n, 40_000n)),
  seconds: fc.oneof(bigIn(1n, 30n), bigIn(1n, 3000n)),
});

const view = fc.record({
  pair: fc.integer({ min: 0, max: PAIRS - 1 }),
  collateral: fc.constantFrom(1, 2),
  trader: fc.integer({ min: 0, max: 3 }),
  long: fc.boolean(),
  open: fc.boolean(),
  isPnlPositive: fc.boolean(),
  isCounterTrade: fc.boolean(),
  sizeUsd: magnitude(14, 27),
  blocksAgo: bigIn(0n, 250n),
  price: oraclePrice,
  leverage: bigIn(100n, 200_000n),
  amount: magnitude(6, 24),
  fee: fc.tuple(magnitude(0, 20), fc.boolean()).map(([value, negative]) => (negative ? -value : value)),
});

export const round = (counts: { actions: number; views: number }): fc.Arbitrary<RoundPlan> =>
  fc.record({
    pairs: fc.array(pair, { minLength: PAIRS, maxLength: PAIRS }),
    offsets: bandOffsets,
    priceUsd: fc.tuple(fc.constantFrom(100_000_000n, 99_973_211n), fc.constantFrom(100_004_711n, 312_345_678_901n)),
    liquidation,
    fees: fc.record({ feeP: bigIn(10_000_000n, 1_500_000_000n), liqFeeP: bigIn(0n, 5n * P10), minPositionSizeUsd: bigIn(1n, 6_250_000n) }),
    govFeeP: bigIn(0n, 50_000n),
    windowsCount: fc.constantFrom(0n, 1n, 4n, 4n, 5n),
    negPnlCumulVolMultiplier: bigIn(P10 / 5n, P10),
    terms: fc.array(terms, { minLength: 4, maxLength: 4 }),
    actions: fc.array(action, { minLength: counts.actions, maxLength: counts.actions }),
    views: fc.array(view, { minLength: counts.views, maxLength: counts.views }),
  });

type Drawn<T> = T extends fc.Arbitrary<infer Value> ? Value : never;
export type ActionPlan = Drawn<typeof action>;
export type ViewPlan = Drawn<typeof view>;
export interface RoundPlan {
  readonly pairs: readonly Drawn<typeof pair>[];
  readonly offsets: readonly bigint[];
  readonly priceUsd: readonly [bigint, bigint];
  readonly liquidation: Drawn<typeof liquidation>;
  readonly fees: { readonly feeP: bigint; readonly liqFeeP: bigint; readonly minPositionSizeUsd: bigint };
  readonly govFeeP: bigint;
  readonly windowsCount: bigint;
  readonly negPnlCumulVolMultiplier: bigint;
  readonly terms: readonly Drawn<typeof terms>[];
  readonly actions: readonly ActionPlan[];
  readonly views: readonly ViewPlan[];
}
