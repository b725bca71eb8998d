import type { DiamondViews } from './diamond-views.js';
import { readSymbol } from './token-symbol.js';

export const range = (count: bigint | number): number[] => Array.from({ length: Number(count) }, (_, index) => index);

async function readPairs(diamond: DiamondViews, count: number) {
  const indices = range(count);
  const wide = indices.map(BigInt);
  const [pairs, liquidation, counterLeverages, counterMultipliers] = await Promise.all([
    Promise.all(wide.map((index) => diamond.view('pairs', [index]))),
    Promise.all(wide.map((index) => diamond.view('getPairLiquidationParams', [index]))),
    Promise.all(indices.map((index) => diamond.view('getPairCounterTradeMaxLeverage', [index]))),
    Promise.all(indices.map((index) => diamond.view('getPairCounterTradeFeeRateMultiplier', [index]))),
  ]);
  const [maxLeverages, depths, factors] = await Promise.all([
    diamond.view('getAllPairsRestrictedMaxLeverage', []),
    diamond.view('getPairDepthBandsArray', [wide]),
    diamond.view('getPairFactors', [wide]),
  ]);
  return { pairs, liquidation, counterLeverages, counterMultipliers, maxLeverages, depths, factors };
}

/** Governance parameters per collateral and pair. */
async function readTerms(diamond: DiamondViews, collateralIndex: number, count: number) {
  const pairs = range(count);
  const collaterals = pairs.map(() => collateralIndex);
  const [skewDepths, global, fundingParams, borrowingParams, maxOi] = await Promise.all([
    diamond.view('getPairSkewDepths', [collaterals, pairs]),
    diamond.view('getPairGlobalParamsArray', [collaterals, pairs]),
    diamond.view('getPairFundingFeeParams', [collaterals, pairs]),
    diamond.view('getPairBorrowingFeeParams', [collaterals, pairs]),
    Promise.all(pairs.map((pair) => diamond.view('getPairMaxOi', [collateralIndex, pair]))),
  ]);
  return { skewDepths, global, fundingParams, borrowingParams, maxOi };
}

/** Everything that only governance changes. */
export async function readRules(diamond: DiamondViews) {
  const [pairsCount, groupsCount, feesCount, collaterals, windows, mapping] = await Promise.all([
    diamond.view('pairsCount', []),
    diamond.view('groupsCount', []),
    diamond.view('feesCount', []),
    diamond.view('getCollaterals', []),
    diamond.view('getOiWindowsSettings', []),
    diamond.view('getDepthBandsMapping', []),
  ]);
  const [perPair, groups, fees, symbols, terms, negPnlMultiplier] = await Promise.all([
    readPairs(diamond, Number(pairsCount)),
    Promise.all(range(groupsCount).map((index) => diamond.view('groups', [BigInt(index)]))),
    Promise.all(range(feesCount).map((index) => diamond.view('fees', [BigInt(index)]))),
    Promise.all(collaterals.map(({ collateral }) => readSymbol(diamond, collateral))),
    Promise.all(collaterals.map((_, at) => readTerms(diamond, at + 1, Number(pairsCount)))),
    diamond.view('getNegPnlCumulVolMultiplier', []),
  ]);
  return { ...perPair, groups, fees, collaterals, symbols, terms, windows, mapping, negPnlMultiplier };
}

export type Rules = Awaited<ReturnType<typeof readRules>>;
