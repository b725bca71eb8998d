/** `/trading-variables` as production writes it, generated: strings for integers, arrays of different lengths, a blank slot. */

export type Wire = Record<string, unknown>;

export interface FixtureSize {
  readonly slots?: number;
  /** Per-collateral columns and maxLeverages are shorter than `pairs` in the real thing. */
  readonly known?: number;
  readonly collaterals?: number;
  readonly lastRefreshed?: number;
}

const GROUPS = ['crypto', 'forex', 'stocks-1', 'indices', 'commodities-1'];
const BLANK = 2;
const ZERO_OI = { beforeV10: { long: '0', short: '0' }, collateral: { oiLongCollateral: '0', oiShortCollateral: '0' } };

/** Bands: all of the depth within the first one. */
const slotOf = (totalUsd: bigint): string => {
  let slot = totalUsd;
  for (let band = 0; band < 14; band += 1) slot |= 10_000n << BigInt(32 + 16 * band);
  return slot.toString();
};
const REST = Array.from({ length: 16 }, (_, band) => 10_000n << BigInt(16 * band))
  .reduce((a, b) => a | b)
  .toString();

const pair = (index: number): Wire =>
  index === BLANK
    ? { from: '', to: '', spreadP: '0', groupIndex: '0', feeIndex: '0' }
    : { from: `P${index}`, to: 'USD', spreadP: '400000000', groupIndex: String(index % GROUPS.length), feeIndex: '0' };

const list = <Value>(count: number, make: (index: number) => Value): Value[] => Array.from({ length: count }, (_, index) => make(index));

export function collateral(index: number, known: number, over: Wire = {}): Wire {
  const oi = (): Wire => ({
    ...ZERO_OI,
    beforeV10: { ...ZERO_OI.beforeV10, max: '100000000000000000' },
    token: { oiLongToken: '0', oiShortToken: '0' },
  });
  return {
    collateralIndex: index,
    collateral: `0x${String(index).padStart(40, '0')}`,
    symbol: ['DAI', 'ETH', 'USDC', 'GNS'][index - 1] ?? 'X',
    isActive: true,
    prices: { collateralPriceUsd: 0.999961, gnsPriceCollateral: 3.3, gnsPriceUsd: 3.3 },
    collateralConfig: { precision: '1000000', precisionDelta: '1000000000000', decimals: 6 },
    pairSkewDepths: list(known, () => '0'),
    fundingFees: {
      pairGlobalParams: list(known, () => ({ maxSkewCollateral: '0' })),
      pairParams: list(known, () => ({
        skewCoefficientPerYear: '12000000000000000000',
        absoluteVelocityPerYearCap: '10000000',
        absoluteRatePerSecondCap: '600000',
        thetaThresholdUsd: '1000',
        fundingFeesEnabled: true,
        aprMultiplierEnabled: false,
      })),
      pairData: list(known, () => ({
        accFundingFeeLongP: '-5',
        accFundingFeeShortP: '5',
        lastFundingRatePerSecondP: '-17',
        lastFundingUpdateTs: '1749239587',
      })),
    },
    pairOis: list(known, oi),
    borrowingFees: {
      v2: {
        pairParams: list(known, () => ({ borrowingRatePerSecondP: '2777' })),
        pairData: list(known, () => ({ accBorrowingFeeP: '9', lastBorrowingUpdateTs: '1749239587' })),
      },
      v1: {
        pairs: list(known, () => ({
          oi: oi(),
          feePerBlock: '592',
          accFeeLong: '326850132981',
          accFeeShort: '38149263784',
          accLastUpdatedBlock: '160838880',
          feeExponent: '1',
          groups: [
            {
              groupIndex: '1',
              block: '34342744',
              initialAccFeeLong: '0',
              initialAccFeeShort: '0',
              prevGroupAccFeeLong: '0',
              prevGroupAccFeeShort: '0',
              pairAccFeeLong: '0',
              pairAccFeeShort: '0',
            },
          ],
          feePerBlockCap: { minP: '10000', maxP: '80000' },
        })),
        groups: [],
      },
    },
    ...over,
  };
}

export function tradingVariables({
  slots = 7,
  known = 6,
  collaterals = 3,
  lastRefreshed = Date.UTC(2026, 0, 6, 15),
}: FixtureSize = {}): Wire {
  return {
    lastRefreshed: new Date(lastRefreshed).toISOString(),
    refreshId: 3637,
    tradingState: 0,
    marketOrdersTimeoutBlocks: 200,
    pairs: list(slots, pair),
    groups: GROUPS.map((name) => ({ name, minLeverage: '1100', maxLeverage: '150000' })),
    fees: [
      {
        totalPositionSizeFeeP: '600000000',
        totalLiqCollateralFeeP: '100000000000',
        oraclePositionSizeFeeP: '0',
        minPositionSizeUsd: '1250000',
      },
    ],
    pairInfos: {
      maxLeverages: list(known, () => 0),
      pairDepthBands: list(slots, () => ({
        aboveSlot1: slotOf(10_000_000n),
        aboveSlot2: REST,
        belowSlot1: slotOf(9_000_000n),
        belowSlot2: REST,
      })),
      pairFactors: list(slots, () => ({
        protectionCloseFactor: '65000000000',
        protectionCloseFactorBlocks: '2000',
        cumulativeFactor: '10000000000',
        exemptOnOpen: false,
        exemptAfterProtectionCloseFactor: false,
      })),
    },
    depthBandsMapping: { slot1: (500n << 32n).toString(), slot2: '0' },
    liquidationParams: {
      pairs: list(slots, () => ({
        maxLiqSpreadP: '500000000',
        startLiqThresholdP: '900000000000',
        endLiqThresholdP: '750000000000',
        startLeverage: '25000',
        endLeverage: '60000',
      })),
      groups: [],
    },
    counterTradeSettings: list(slots, () => ({ maxLeverage: '0', feeRateMultiplier: '1000' })),
    collaterals: list(collaterals, (at) => collateral(at + 1, known)),
    oiWindowsSettings: { startTs: 1713192226, windowsDuration: 60, windowsCount: 4 },
    oiWindows: list(slots, (index) => (index === 0 ? { '40': { oiLongUsd: '7', oiShortUsd: '8' } } : {})),
    negPnlCumulVolMultiplier: '10000000000',
    currentBlock: 163613141,
    isForexOpen: true,
    isStocksOpen: true,
    isIndicesOpen: true,
    isCommoditiesOpen: true,
  };
}
