import fc from 'fast-check';
import type { DepthSide, PairFactors, PairInCollateral } from '../../../../core/domain/market.js';
import { STANDARD_TERMS, type MarketView, type TraderTerms } from '../../../../core/domain/pricing/market-view.js';
import { E18, P10 } from '../../../../core/domain/pricing/units.js';
import { currentWindow, goldenMarket, USDC } from './fixture.js';

/** Random markets inside the bounds the contract's own setters allow. */

export const SEED = 20_260_315;

const bigIn = (min: bigint, max: bigint): fc.Arbitrary<bigint> => fc.bigInt({ min, max });

/** Spread evenly over the orders of magnitude, so that dust and whales are equally likely. */
export const magnitude = (lowest: number, highest: number): fc.Arbitrary<bigint> =>
  fc
    .tuple(fc.integer({ min: lowest, max: highest - 1 }), bigIn(1000n, 9999n))
    .map(([digits, leading]) => (digits >= 3 ? leading * 10n ** BigInt(digits - 3) : leading / 10n ** BigInt(3 - digits)));

const rising = (values: readonly bigint[]): readonly bigint[] => [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

export const bandShares: fc.Arbitrary<readonly bigint[]> = fc
  .tuple(fc.array(bigIn(0n, 10_000n), { minLength: 30, maxLength: 30 }), fc.integer({ min: 0, max: 29 }))
  .map(([values, whole]) => rising(values).map((value, band) => (band >= whole ? 10_000n : value)));

export const bandOffsets: fc.Arbitrary<readonly bigint[]> = fc.array(bigIn(1n, 65_535n), { minLength: 30, maxLength: 30 }).map(rising);

export const depthSide: fc.Arbitrary<DepthSide> = fc.record({ totalUsd: magnitude(3, 9), shares: bandShares });

export const collateral = fc.constantFrom(
  USDC,
  { ...USDC, priceUsd: 99_973_211n },
  { precision: E18, precisionDelta: 1n, priceUsd: 100_004_711n },
  { precision: E18, precisionDelta: 1n, priceUsd: 312_345_678_901n },
);

/** 1e-6 to 1e6. */
export const oraclePrice = magnitude(4, 16);

export const factors: fc.Arbitrary<PairFactors> = fc.record({
  protectionCloseFactor: fc.constantFrom(0n, P10, 3n * P10),
  protectionCloseFactorBlocks: bigIn(0n, 200n),
  cumulativeFactor: fc.constantFrom(0n, P10, P10 / 3n, 2n * P10),
  exemptOnOpen: fc.boolean(),
  exemptAfterProtectionCloseFactor: fc.boolean(),
});

const skewState = (tokens: fc.Arbitrary<bigint>): fc.Arbitrary<Partial<PairInCollateral>> =>
  fc.record({
    oiToken: fc.record({ long: tokens, short: tokens }),
    skewDepth: fc.oneof(fc.constant(0n), magnitude(24, 28)),
    maxSkewCollateral: fc.oneof(fc.constant(0n), magnitude(14, 18)),
    maxOi: magnitude(15, 18),
    oiBeforeV10: fc.record({ long: magnitude(4, 14), short: magnitude(4, 14) }),
  });

export const terms: fc.Arbitrary<TraderTerms> = fc.record({
  fixedSpreadP: bigIn(0n, 100n),
  cumulVolPriceImpactMultiplier: fc.constantFrom(0n, 500n, 1000n, 3000n),
  protectionCloseFactorWhitelisted: fc.boolean(),
  feeMultiplier: fc.constantFrom(STANDARD_TERMS.feeMultiplier, 900n, 655n),
});

/** `exempt` false keeps every pair subject to volume impact on openings. */
export const marketWith = (exempt: boolean): fc.Arbitrary<MarketView> =>
  fc
    .record({
      above: depthSide,
      below: depthSide,
      offsets: bandOffsets,
      collateral,
      factors,
      state: skewState(magnitude(14, 23)),
      spreadP: bigIn(0n, 2_000_000_000n),
      up: fc.oneof(fc.constant(0n), magnitude(18, 26)),
      down: fc.oneof(fc.constant(0n), magnitude(18, 26)),
    })
    .map((drawn) => ({
      ...goldenMarket,
      collateral: drawn.collateral,
      bandOffsets: drawn.offsets,
      state: { ...goldenMarket.state, ...drawn.state },
      pair: {
        ...goldenMarket.pair,
        spreadP: drawn.spreadP,
        depth: { above: drawn.above, below: drawn.below },
        factors: exempt ? drawn.factors : { ...drawn.factors, exemptOnOpen: false },
        windows: [currentWindow({ up: drawn.up, down: drawn.down })],
      },
    }));
