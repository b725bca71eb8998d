import {
  decodeAbiParameters,
  decodeFunctionResult,
  encodeFunctionData,
  parseAbi,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
} from 'viem';
import type { Chain } from '../../../ports/chain.js';
import type { Address, Hex } from '../../../types.js';
import { diamondAbi } from '../diamond-abi.js';

type Abi = typeof diamondAbi;
type ViewName = ContractFunctionName<Abi, 'view'>;
type Args<Name extends ViewName> = ContractFunctionArgs<Abi, 'view', Name>;
type Result<Name extends ViewName> = ContractFunctionReturnType<Abi, 'view', Name, Args<Name>>;

interface DiamondViews {
  view<Name extends ViewName>(functionName: Name, args: Args<Name>): Promise<Result<Name>>;
  /** Any other contract. */
  call(to: Address, data: Hex): Promise<Hex>;
}

interface Waiting {
  readonly to: Address;
  readonly data: Hex;
  resolve(answer: Hex): void;
  reject(error: unknown): void;
}

/** Typed reads at one block; reads of one turn of the event loop are sent as one batch. */
export function createDiamondViews(views: Chain['views'], diamond: Address, block: bigint): DiamondViews {
  let waiting: Waiting[] = [];

  const flush = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    try {
      const answers = await views(batch, block);
      batch.forEach((one, at) => one.resolve(answers[at] ?? '0x'));
    } catch (error) {
      for (const one of batch) one.reject(error);
    }
  };

  const call = (to: Address, data: Hex): Promise<Hex> =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(() => void flush());
      waiting.push({ to, data, resolve, reject });
    });

  return {
    call,
    async view(functionName, args) {
      // viem's types cannot infer from a generic function name.
      const request = { abi: diamondAbi, functionName, args } as unknown as Parameters<typeof encodeFunctionData>[0];
      const data = await call(diamond, encodeFunctionData(request));
      return decodeFunctionResult({ ...request, data }) as never;
    },
  };
}

const range = (count: bigint | number): number[] => Array.from({ length: Number(count) }, (_, index) => index);

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

const SYMBOL_CALL = encodeFunctionData({ abi: parseAbi(['function symbol() view returns (string)']), functionName: 'symbol' });
const SYMBOL = /^[A-Za-z0-9.]{1,32}$/;
/** The protocol uses the coin's symbol for the wrapped native token. */
const ALIASES: Readonly<Record<string, string>> = { WETH: 'ETH' };

/** Null for a token without a standard `symbol()`. */
async function readSymbol(diamond: DiamondViews, token: Address): Promise<string | null> {
  const answer = await diamond.call(token, SYMBOL_CALL);
  try {
    const [symbol] = decodeAbiParameters([{ type: 'string' }], answer);
    return SYMBOL.test(symbol) ? (ALIASES[symbol] ?? symbol) : null;
  } catch {
    return null;
  }
}

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
