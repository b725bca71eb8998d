import { encodeBandOffsets, encodeDepthBands } from '../../../../core/domain/pricing/volume-impact.js';
import { E18, P10 } from '../../../../core/domain/pricing/units.js';
import { TRADERS, type DifferentialChain } from './differential-chain.js';
import type { RoundPlan, Upheaval } from './differential-plan.js';

/** A round's plan on the chain. */

/** Seconds of a volume window. */
export const DURATION = 60n;
export const skewDepthOf = (plan: RoundPlan, pair: number, collateral: number): bigint => {
  const { price = 1n, collaterals } = plan.pairs[pair] ?? {};
  return ((collaterals?.[collateral - 1]?.skewDepthUsd ?? 0n) * E18 * P10) / price;
};

export async function furnish(chain: DifferentialChain, plan: RoundPlan): Promise<void> {
  const { control } = chain;
  await control('sandboxSetTimeouts', [200, 40]);
  for (const [index, priceUsd] of plan.priceUsd.entries()) await control('sandboxSetCollateral', [index + 1, true, priceUsd]);
  const group = { name: 'crypto', job: `0x${'0'.repeat(64)}`, minLeverage: 1100n, maxLeverage: 150_000n };
  await control('sandboxSetGroups', [[group], [plan.liquidation]]);
  const { feeP, liqFeeP, minPositionSizeUsd } = plan.fees;
  const fee = {
    totalPositionSizeFeeP: feeP,
    totalLiqCollateralFeeP: liqFeeP,
    oraclePositionSizeFeeP: 0n,
    minPositionSizeUsd,
    __placeholder: 0n,
  };
  await control('sandboxSetFees', [[fee]]);
  const zero = {
    referralFeeP: 0,
    govFeeP: plan.govFeeP,
    triggerOrderFeeP: 0,
    gnsOtcFeeP: 0,
    gTokenFeeP: 0,
    gTokenOcFeeP: 0,
    __placeholder: 0n,
  };
  await control('sandboxSetTradeFeeParams', [zero]);
  const { slot1, slot2 } = encodeBandOffsets(plan.offsets);
  await control('sandboxSetBandsMapping', [slot1, slot2]);
  const settings = { startTs: chain.latest().timestamp, windowsDuration: DURATION, windowsCount: plan.windowsCount };
  await control('sandboxSetOiWindows', [settings, plan.negPnlCumulVolMultiplier]);
  for (const [pairIndex, pair] of plan.pairs.entries()) {
    await setPair(chain, plan, pairIndex);
    await control('sandboxSetPairFactors', [pairIndex, { ...pair.factors, __placeholder: 0n }]);
    await control('sandboxSetCounterTrade', [pairIndex, pair.counterTrade.maxLeverage, pair.counterTrade.feeRateMultiplier]);
    await setMarkets(chain, plan, pairIndex, pair.price);
    for (const [index, { groupMax }] of pair.collaterals.entries()) {
      await control('sandboxSetBorrowingGroupMaxOi', [index + 1, pairIndex + 1, groupMax]);
    }
    for (const [trader, terms] of plan.terms.entries()) {
      await control('sandboxSetUserPriceImpact', [TRADERS[trader], pairIndex, terms.cumulVolPriceImpactMultiplier, terms.fixedSpreadP]);
    }
  }
  for (const [trader, terms] of plan.terms.entries()) {
    await control('sandboxSetProtectionCloseFactorWhitelist', [TRADERS[trader], terms.protectionCloseFactorWhitelisted]);
  }
}

async function setPair({ control }: DifferentialChain, plan: RoundPlan, pairIndex: number): Promise<void> {
  const pair = plan.pairs[pairIndex];
  if (!pair) throw new Error('no such pair');
  const { spreadP, customMaxLeverage } = pair;
  await control('sandboxSetPairs', [
    [{ pairIndex, from: `P${pairIndex}`, to: 'USD', spreadP, groupIndex: 0n, feeIndex: 0n, customMaxLeverage }],
  ]);
  await control('sandboxSetDepths', [[pairIndex], [encodeDepthBands(pair)]]);
}

async function setMarkets({ control }: DifferentialChain, plan: RoundPlan, pairIndex: number, price: bigint): Promise<void> {
  for (const [index, market] of (plan.pairs[pairIndex]?.collaterals ?? []).entries()) {
    const { maxOi, maxSkewCollateral, borrowingRatePerSecondP } = market;
    const collateralIndex = index + 1;
    const skewDepth = skewDepthOf(plan, pairIndex, collateralIndex);
    const funding = { ...market.fundingParams, __placeholder: 0n };
    const common = {
      collateralIndex,
      pairIndex,
      maxOi,
      skewDepth,
      maxSkewCollateral,
      borrowingGroup: pairIndex + 1,
      borrowingRatePerSecondP,
    };
    await control('sandboxSetMarkets', [[{ ...common, funding, price }]]);
  }
}

type PairPlan = RoundPlan['pairs'][number];

const CHANGES: Record<Upheaval, (pair: PairPlan) => PairPlan> = {
  leverage: (pair) => ({ ...pair, customMaxLeverage: 2000n }),
  depth: (pair) => ({ ...pair, above: { ...pair.above, totalUsd: 20_000n }, below: { ...pair.below, totalUsd: 20_000n } }),
  funding: (pair) => {
    const [first, second] = pair.collaterals;
    const calm = (market: typeof first): typeof first => ({
      ...market,
      fundingParams: { ...market.fundingParams, absoluteRatePerSecondCap: 1n },
    });
    return { ...pair, collaterals: [calm(first), calm(second)] };
  },
};

/** Governance changes a pair, or sets it to its plan again; the plan that results describes the chain from now on. */
export async function upset(
  chain: DifferentialChain,
  plan: RoundPlan,
  change: { upheaval: Upheaval | null; pair: number; price: bigint },
): Promise<RoundPlan> {
  const alter = change.upheaval ? CHANGES[change.upheaval] : (pair: PairPlan): PairPlan => pair;
  const changed = { ...plan, pairs: plan.pairs.map((pair, index) => (index === change.pair ? alter(pair) : pair)) };
  await setPair(chain, changed, change.pair);
  await setMarkets(chain, changed, change.pair, change.price);
  return changed;
}

/** Today's fee multipliers; the contract forgets them at midnight. */
export async function grantTiers(chain: DifferentialChain, plan: RoundPlan): Promise<void> {
  for (const [trader, terms] of plan.terms.entries())
    await chain.control('sandboxSetTraderTier', [TRADERS[trader], terms.feeMultiplier, false]);
}
