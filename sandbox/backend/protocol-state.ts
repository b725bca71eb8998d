import { hexToNumber, numberToHex, type Hex } from 'viem';
import type { Address } from '../../core/types.js';
import { createDiamondReader, readToken, type DiamondReader, type RpcRead, type Token } from './diamond-reader.js';

/** Everything the backend publishes about the contract, read at one block. */

const range = (count: bigint | number): number[] => Array.from({ length: Number(count) }, (_, index) => index);

/** Values that only governance changes. */
async function readRules(diamond: DiamondReader) {
  const [pairsCount, groupsCount, feesCount] = await Promise.all([
    diamond.view('pairsCount', []),
    diamond.view('groupsCount', []),
    diamond.view('feesCount', []),
  ]);
  const pairIndices = range(pairsCount);
  const bigIndices = pairIndices.map(BigInt);
  const [pairs, groups, fees, liquidation, groupLiquidation] = await Promise.all([
    Promise.all(bigIndices.map((index) => diamond.view('pairs', [index]))),
    Promise.all(range(groupsCount).map((index) => diamond.view('groups', [BigInt(index)]))),
    Promise.all(range(feesCount).map((index) => diamond.view('fees', [BigInt(index)]))),
    Promise.all(bigIndices.map((index) => diamond.view('getPairLiquidationParams', [index]))),
    Promise.all(range(groupsCount).map((index) => diamond.view('getGroupLiquidationParams', [BigInt(index)]))),
  ]);
  const [counterLeverages, counterMultipliers, maxLeverages, depthBands, factors, mapping] = await Promise.all([
    Promise.all(pairIndices.map((index) => diamond.view('getPairCounterTradeMaxLeverage', [index]))),
    Promise.all(pairIndices.map((index) => diamond.view('getPairCounterTradeFeeRateMultiplier', [index]))),
    diamond.view('getAllPairsRestrictedMaxLeverage', []),
    diamond.view('getPairDepthBandsArray', [bigIndices]),
    diamond.view('getPairFactors', [bigIndices]),
    diamond.view('getDepthBandsMapping', []),
  ]);
  const [collaterals, tradingState, timeoutBlocks, windows, negPnlMultiplier, feeParams, feeTiers] = await Promise.all([
    diamond.view('getCollaterals', []),
    diamond.view('getTradingActivated', []),
    diamond.view('getMarketOrdersTimeoutBlocks', []),
    diamond.view('getOiWindowsSettings', []),
    diamond.view('getNegPnlCumulVolMultiplier', []),
    diamond.view('getTradeFeeParams', [1, 0]),
    diamond.view('getFeeTiers', []),
  ]);
  return {
    ...{ pairs, groups, fees, liquidation, groupLiquidation, counterLeverages, counterMultipliers, maxLeverages, depthBands, factors },
    ...{ mapping, collaterals, tradingState, timeoutBlocks, windows, negPnlMultiplier, feeParams, feeTiers },
  };
}

export type Rules = Awaited<ReturnType<typeof readRules>>;

/** Values set by governance per collateral and pair. */
async function readTerms(diamond: DiamondReader, collateralIndex: number, pairCount: number) {
  const pairs = range(pairCount);
  const collaterals = pairs.map(() => collateralIndex);
  const [gToken, skewDepths, global, fundingParams, borrowingParams, maxOi] = await Promise.all([
    diamond.view('getGToken', [collateralIndex]),
    diamond.view('getPairSkewDepths', [collaterals, pairs]),
    diamond.view('getPairGlobalParamsArray', [collaterals, pairs]),
    diamond.view('getPairFundingFeeParams', [collaterals, pairs]),
    diamond.view('getPairBorrowingFeeParams', [collaterals, pairs]),
    Promise.all(pairs.map((pair) => diamond.view('getPairMaxOi', [collateralIndex, pair]))),
  ]);
  return { gToken, skewDepths, global, fundingParams, borrowingParams, maxOi };
}

type Terms = Awaited<ReturnType<typeof readTerms>>;

/** Values changed by trading per collateral and pair. */
async function readExposure(diamond: DiamondReader, collateralIndex: number, pairs: readonly number[], terms: Terms) {
  const collaterals = pairs.map(() => collateralIndex);
  const [priceUsd, fundingData, borrowingData, oiCollateral, oiToken, oiBefore] = await Promise.all([
    diamond.view('getCollateralPriceUsd', [collateralIndex]),
    diamond.view('getPairFundingFeeData', [collaterals, pairs]),
    diamond.view('getPairBorrowingFeeData', [collaterals, pairs]),
    diamond.view('getPairOisAfterV10Collateral', [collaterals, pairs]),
    diamond.view('getPairOisAfterV10Token', [collaterals, pairs]),
    Promise.all(pairs.map((pair) => diamond.view('getPairOisBeforeV10Collateral', [collateralIndex, pair]))),
  ]);
  return { collateralIndex, ...terms, priceUsd, fundingData, borrowingData, oiCollateral, oiToken, oiBefore };
}

export type Exposure = Awaited<ReturnType<typeof readExposure>>;

/** The values of the pairs that were read in place of those that were known. */
function withPairs(before: Exposure, read: Exposure, pairs: readonly number[]): Exposure {
  const put = <Value>(known: readonly Value[], values: readonly Value[]): Value[] => {
    const merged = [...known];
    for (const [at, pair] of pairs.entries()) if (values[at] !== undefined) merged[pair] = values[at];
    return merged;
  };
  return {
    ...read,
    fundingData: put(before.fundingData, read.fundingData),
    borrowingData: put(before.borrowingData, read.borrowingData),
    oiCollateral: put(before.oiCollateral, read.oiCollateral),
    oiToken: put(before.oiToken, read.oiToken),
    oiBefore: put(before.oiBefore, read.oiBefore),
  };
}

type PairWindows = readonly { readonly id: bigint; readonly oiLongUsd: bigint; readonly oiShortUsd: bigint }[];
/** By pair index. */
export type Windows = readonly PairWindows[];

/** The active windows of pairs, as the contract would count them at `timestamp`; of all pairs where a new window began meanwhile. */
async function readWindows(diamond: DiamondReader, { windows, pairs }: Rules, timestamp: number, moved: Moved | null): Promise<Windows> {
  if (windows.windowsDuration === 0) return pairs.map((): PairWindows => []);
  const current = Math.floor((timestamp - windows.startTs) / windows.windowsDuration);
  const ids = range(Math.min(windows.windowsCount, current + 1)).map((back) => BigInt(current - back));
  const known = moved?.known.windows[0]?.[0]?.id === ids[0] ? moved : null;
  const windowsOf = async (pair: number): Promise<PairWindows> => {
    const unmoved = known?.pairs.includes(pair) === false ? known.known.windows[pair] : undefined;
    if (unmoved !== undefined) return unmoved;
    const volumes = await diamond.view('getOiWindows', [windows.windowsDuration, BigInt(pair), ids]);
    return volumes.map((volume, at) => ({ id: ids[at] ?? 0n, ...volume }));
  };
  return Promise.all(pairs.map((_, pair) => windowsOf(pair)));
}

export interface ProtocolState {
  readonly block: number;
  readonly rules: Rules;
  readonly exposures: readonly Exposure[];
  readonly windows: Windows;
  readonly tokens: readonly Token[];
}

interface BlockAnswer {
  readonly number: Hex;
  readonly timestamp: Hex;
}

const isBlock = (value: unknown): value is BlockAnswer => typeof value === 'object' && value !== null && 'timestamp' in value;

/** The pairs whose values may have changed since they were known. */
interface Moved {
  readonly known: ProtocolState;
  readonly pairs: readonly number[];
}

/** With `known`, only values changed by trading are read, of these pairs or of all; a disabled collateral cannot be traded. */
export async function readProtocolState(
  read: RpcRead,
  address: Address,
  known: ProtocolState | null,
  movedPairs: readonly number[] | null = null,
): Promise<ProtocolState> {
  const latest = await read('eth_getBlockByNumber', ['latest', false]);
  if (!isBlock(latest)) throw new Error('the node has no latest block');
  const block = hexToNumber(latest.number);
  const diamond = createDiamondReader(read, address, numberToHex(block));
  const rules = known?.rules ?? (await readRules(diamond));
  const moved = known && movedPairs && { known, pairs: movedPairs };
  const readOne = async (at: number, isActive: boolean): Promise<Exposure> => {
    const before = known?.exposures[at];
    if (before && !isActive) return before;
    if (before && moved) return withPairs(before, await readExposure(diamond, at + 1, moved.pairs, before), moved.pairs);
    const all = range(rules.pairs.length);
    return readExposure(diamond, at + 1, all, before ?? (await readTerms(diamond, at + 1, all.length)));
  };
  const [tokens, windows, exposures] = await Promise.all([
    known?.tokens ?? Promise.all(rules.collaterals.map(({ collateral }) => readToken(read, collateral))),
    readWindows(diamond, rules, hexToNumber(latest.timestamp), moved),
    Promise.all(rules.collaterals.map(({ isActive }, at) => readOne(at, isActive))),
  ]);
  return { block, rules, exposures, windows, tokens };
}
