import { controlCall, price } from './diamond-calls.js';
import type { DiamondWorld } from './bare-diamond.js';

/** Changing what governance decides about one market, with everything a test does not name switched off. */

export const FUNDING_OFF = {
  skewCoefficientPerYear: 0n,
  absoluteVelocityPerYearCap: 0,
  absoluteRatePerSecondCap: 0,
  thetaThresholdUsd: 0,
  fundingFeesEnabled: false,
  aprMultiplierEnabled: false,
  __placeholder: 0,
};

export type MarketSetting = Parameters<typeof controlCall<'sandboxSetMarkets'>>[1][0][number];

/** BTC against USDC without skew, funding and borrowing, and with a maximum exposure of a billion. */
export const plainMarket = (changes: Partial<MarketSetting> = {}): MarketSetting => ({
  collateralIndex: 3,
  pairIndex: 0,
  maxOi: 10n ** 19n,
  skewDepth: 0n,
  maxSkewCollateral: 0n,
  borrowingGroup: 9,
  funding: FUNDING_OFF,
  borrowingRatePerSecondP: 0,
  price: price(60_000),
  ...changes,
});

export async function setMarket(world: DiamondWorld, changes: Partial<MarketSetting> = {}): Promise<void> {
  await world.control(controlCall('sandboxSetMarkets', [[plainMarket(changes)]]));
}

/** BTC's row in the pair table, with changes. */
export async function setPair(
  world: DiamondWorld,
  changes: { spreadP?: bigint; customMaxLeverage?: bigint; from?: string } = {},
): Promise<void> {
  const pair = {
    pairIndex: 0n,
    from: 'BTC',
    to: 'USD',
    spreadP: 400_000_000n,
    groupIndex: 0n,
    feeIndex: 0n,
    customMaxLeverage: 0n,
    ...changes,
  };
  await world.control(controlCall('sandboxSetPairs', [[pair]]));
}
