import type { DiamondViews } from './diamond-views.js';
import { readSymbol } from './token-symbol.js';

export const range = (count: bigint | number): number[] => Array.from({ length: Number(count) }, (_, index) => index);

async function readPairs({ view }: DiamondViews, count: number) {
  const indices = range(count);
  const wide = indices.map(BigInt);
  const [pairs, liquidation, counterLeverages, counterMultipliers] = await Promise.all([
    Promise.all(wide.map((index) => view('pairs', [index]))),
    Promise.all(wide.map((index) => view('getPairLiquidationParams', [index]))),
    Promise.all(indices.map((index) => view('getPairCounterTradeMaxLeverage', [index]))),
    Promise.all(indices.map((index) => view('getPairCounterTradeFeeRateMultiplier', [index]))),
  ]);
  const [maxLeverages, depths, factors] = await Promise.all([
    view('getAllPairsRestrictedMaxLeverage', []),
    view('getPairDepthBandsArray', [wide]),
    view('getPairFactors', [wide]),
  ]);
  return { pairs, liquidation, counterLeverages, counterMultipliers, maxLeverages, depths, factors };
}

/** What governance decides per collateral and pair. */
async function readTerms({ view }: DiamondViews, collateralIndex: number, count: number) {
  const pairs = range(count);
  const collaterals = pairs.map(() => collateralIndex);
  const [skewDepths, global, fundingParams, borrowingParams, maxOi, oiBefore] = await Promise.all([
    view('getPairSkewDepths', [collaterals, pairs]),
    view('getPairGlobalParamsArray', [collaterals, pairs]),
    view('getPairFundingFeeParams', [collaterals, pairs]),
    view('getPairBorrowingFeeParams', [collaterals, pairs]),
    Promise.all(pairs.map((pair) => view('getPairMaxOi', [collateralIndex, pair]))),
    Promise.all(pairs.map((pair) => view('getPairOisBeforeV10Collateral', [collateralIndex, pair]))),
  ]);
  return { skewDepths, global, fundingParams, borrowingParams, maxOi, oiBefore };
}

/** What only governance changes. */
export async function readRules(diamond: DiamondViews) {
  const { view } = diamond;
  const [pairsCount, groupsCount, feesCount, collaterals, windows, mapping] = await Promise.all([
    view('pairsCount', []),
    view('groupsCount', []),
    view('feesCount', []),
    view('getCollaterals', []),
    view('getOiWindowsSettings', []),
    view('getDepthBandsMapping', []),
  ]);
  const [perPair, groups, fees, symbols, terms, negPnlMultiplier] = await Promise.all([
    readPairs(diamond, Number(pairsCount)),
    Promise.all(range(groupsCount).map((index) => view('groups', [BigInt(index)]))),
    Promise.all(range(feesCount).map((index) => view('fees', [BigInt(index)]))),
    Promise.all(collaterals.map(({ collateral }) => readSymbol(diamond, collateral))),
    Promise.all(collaterals.map((_, at) => readTerms(diamond, at + 1, Number(pairsCount)))),
    view('getNegPnlCumulVolMultiplier', []),
  ]);
  return { ...perPair, groups, fees, collaterals, symbols, terms, windows, mapping, negPnlMultiplier };
}

export type Rules = Awaited<ReturnType<typeof readRules>>;
