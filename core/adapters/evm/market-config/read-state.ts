import type { DiamondViews } from './diamond-views.js';
import { range, type Rules } from './read-rules.js';

/** State that trading changes, per collateral and pair. */
async function readExposure(diamond: DiamondViews, collateralIndex: number, count: number) {
  const pairs = range(count);
  const collaterals = pairs.map(() => collateralIndex);
  const [priceUsd, fundingData, borrowingData, oiCollateral, oiToken, oiBefore] = await Promise.all([
    diamond.view('getCollateralPriceUsd', [collateralIndex]),
    diamond.view('getPairFundingFeeData', [collaterals, pairs]),
    diamond.view('getPairBorrowingFeeData', [collaterals, pairs]),
    diamond.view('getPairOisAfterV10Collateral', [collaterals, pairs]),
    diamond.view('getPairOisAfterV10Token', [collaterals, pairs]),
    // Decreases whenever a trade from before v10 closes.
    Promise.all(pairs.map((pair) => diamond.view('getPairOisBeforeV10Collateral', [collateralIndex, pair]))),
  ]);
  return { priceUsd, fundingData, borrowingData, oiCollateral, oiToken, oiBefore };
}

export type Exposure = Awaited<ReturnType<typeof readExposure>>;

/** The windows the contract still counts at `timestamp` (seconds). */
async function readWindows(diamond: DiamondViews, { windows, pairs }: Rules, timestamp: bigint) {
  const { startTs, windowsDuration, windowsCount } = windows;
  if (windowsDuration === 0 || windowsCount === 0) return pairs.map(() => []);
  const current = (timestamp - BigInt(startTs)) / BigInt(windowsDuration);
  const ids = range(windowsCount)
    .map((back) => current - BigInt(back))
    .filter((id) => id >= 0n)
    .reverse();
  const volumes = await Promise.all(pairs.map((_, pair) => diamond.view('getOiWindows', [windowsDuration, BigInt(pair), ids])));
  return volumes.map((perPair) => perPair.map((volume, at) => ({ id: ids[at] ?? 0n, ...volume })));
}

export async function readState(views: () => DiamondViews, rules: Rules, timestamp: bigint) {
  const diamond = views();
  const count = rules.pairs.length;
  const [tradingState, timeoutBlocks, windows, exposures] = await Promise.all([
    diamond.view('getTradingActivated', []),
    diamond.view('getMarketOrdersTimeoutBlocks', []),
    readWindows(diamond, rules, timestamp),
    Promise.all(
      rules.collaterals.map(({ isActive }, at) =>
        // A disabled collateral may still have positions. It is read in its own batch, because a missing price feed would fail the others.
        isActive ? readExposure(diamond, at + 1, count) : readExposure(views(), at + 1, count).catch(() => null),
      ),
    ),
  ]);
  return { tradingState, timeoutBlocks, windows, exposures };
}

export type State = Awaited<ReturnType<typeof readState>>;
