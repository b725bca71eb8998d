import { encodeFunctionData, parseUnits, zeroAddress } from 'viem';
import type { ChainSlug } from '../core/chains/chains.js';
import type { Address, Hex } from '../core/types.js';
import { sandboxControlAbi } from './contracts/artefact.js';
import { collateralsOf, WRAPPED_NATIVE, oracleAddress } from './deploy-collaterals.js';
import { SANDBOX_GROUPS, type SandboxMarket } from './markets.js';

/** The sandbox's markets and protocol parameters as calls of the Diamond's control functions, in contract units. */

const abi = sandboxControlAbi;

type Markets = readonly (SandboxMarket | null)[];

/** 1e10 percent. */
const percent = (text: string): bigint => parseUnits(text, 10);

const BAND_COUNT = 30;
/** Cumulative shares of the depth: 5 % more with each band, all of it from the twentieth on. */
const SHARES = Array.from({ length: BAND_COUNT }, (_, i) => Math.min(10_000, 500 * (i + 1)));
/** Offsets from the price: 0.05 % more with each band. */
const OFFSETS = Array.from({ length: BAND_COUNT }, (_, i) => 500 * (i + 1));

const BANDS_IN_FIRST_SLOT = 14;

/** Two words: 32 bits of total depth and fourteen 16-bit bands, then sixteen bands. */
export function packBands(totalUsd: number, bands: readonly number[]): readonly [bigint, bigint] {
  const pack = (values: readonly number[], start: bigint): bigint =>
    values.reduce((word, value, i) => word | (BigInt(value) << (start + 16n * BigInt(i))), 0n);
  return [BigInt(totalUsd) | pack(bands.slice(0, BANDS_IN_FIRST_SLOT), 32n), pack(bands.slice(BANDS_IN_FIRST_SLOT), 0n)];
}

export function depthBands(totalUsd: number): { aboveSlot1: bigint; aboveSlot2: bigint; belowSlot1: bigint; belowSlot2: bigint } {
  const [slot1, slot2] = packBands(totalUsd, SHARES);
  return { aboveSlot1: slot1, aboveSlot2: slot2, belowSlot1: slot1, belowSlot2: slot2 };
}

/** The protocol accepts no leverage here above the group's maximum. */
const liquidationOf = ({ maxLeverage }: { readonly maxLeverage: bigint }) => ({
  maxLiqSpreadP: Number(percent('0.05')),
  startLiqThresholdP: Number(percent('90')),
  endLiqThresholdP: Number(percent('75')),
  startLeverage: 25_000,
  endLeverage: Math.min(60_000, Number(maxLeverage)),
});

const FUNDING_OFF = {
  skewCoefficientPerYear: 0n,
  absoluteVelocityPerYearCap: 0,
  absoluteRatePerSecondCap: 0,
  thetaThresholdUsd: 0,
  fundingFeesEnabled: false,
  aprMultiplierEnabled: false,
  __placeholder: 0,
};

/** Funding accelerates with the skew up to a tenth of the skew depth; it never exceeds 100 % a year. */
function fundingParams(skewDepth: bigint): typeof FUNDING_OFF {
  if (skewDepth === 0n) return FUNDING_OFF;
  const velocityCap = 1_000_000;
  return {
    ...FUNDING_OFF,
    skewCoefficientPerYear: (BigInt(velocityCap) * 1000n * 10n ** 34n * 10n) / skewDepth,
    absoluteVelocityPerYearCap: velocityCap,
    absoluteRatePerSecondCap: 31_709,
    thetaThresholdUsd: 1000,
    fundingFeesEnabled: true,
    aprMultiplierEnabled: true,
  };
}

/** Borrowing group 0 means none, so borrowing groups are the market groups plus one. */
const borrowingGroupOf = (market: SandboxMarket): number => groupIndexOf(market) + 1;
const groupIndexOf = (market: SandboxMarket): number => SANDBOX_GROUPS.findIndex(({ name }) => name === market.group);

function groupCalls(): Hex[] {
  const groups = SANDBOX_GROUPS.map((group) => ({
    name: group.name,
    job: `0x${'00'.repeat(32)}` as const,
    minLeverage: parseUnits(group.minLeverage, 3),
    maxLeverage: parseUnits(group.maxLeverage, 3),
  }));
  const fees = SANDBOX_GROUPS.map((group) => ({
    totalPositionSizeFeeP: Number(percent(group.feePercent)),
    totalLiqCollateralFeeP: Number(percent('10')),
    oraclePositionSizeFeeP: 0,
    minPositionSizeUsd: Number(parseUnits(group.minPositionUsd, 3)),
    __placeholder: 0n,
  }));
  return [
    encodeFunctionData({ abi, functionName: 'sandboxSetGroups', args: [groups, groups.map(liquidationOf)] }),
    encodeFunctionData({ abi, functionName: 'sandboxSetFees', args: [fees] }),
  ];
}

function pairCalls(markets: Markets): Hex[] {
  const pairs = markets.map((market, index) => ({
    pairIndex: BigInt(index),
    from: market?.from ?? '',
    to: market?.to ?? '',
    spreadP: percent(market?.spreadPercent ?? '0'),
    groupIndex: BigInt(market ? groupIndexOf(market) : 0),
    feeIndex: BigInt(market ? groupIndexOf(market) : 0),
    customMaxLeverage: parseUnits(market?.maxLeverage ?? '0', 3),
  }));
  const listed = markets.flatMap((market, index) => (market ? [{ market, index }] : []));
  const mapping = packBands(0, OFFSETS);
  return [
    encodeFunctionData({ abi, functionName: 'sandboxSetPairs', args: [pairs] }),
    encodeFunctionData({ abi, functionName: 'sandboxSetBandsMapping', args: [mapping[0], mapping[1]] }),
    encodeFunctionData({
      abi,
      functionName: 'sandboxSetDepths',
      args: [listed.map(({ index }) => BigInt(index)), listed.map(({ market }) => depthBands(market.depthUsd))],
    }),
  ];
}

function collateralCalls(slug: ChainSlug, markets: Markets): Hex[] {
  const active = collateralsOf(slug).flatMap((row, i) => (row.isActive ? [i + 1] : []));
  const settings = active.map((collateralIndex) =>
    markets.flatMap((market, pairIndex) => (market ? [marketSetting(market, pairIndex, collateralIndex)] : [])),
  );
  const groupCaps = SANDBOX_GROUPS.flatMap(({ name }, group) => {
    const total = markets.reduce((sum, market) => (market?.group === name ? sum + market.maxOi : sum), 0);
    return active.map((index) =>
      encodeFunctionData({
        abi,
        functionName: 'sandboxSetBorrowingGroupMaxOi',
        args: [index, group + 1, (BigInt(total) * 10n ** 10n * 6n) / 10n],
      }),
    );
  });
  return [
    encodeFunctionData({
      abi,
      functionName: 'sandboxAddCollaterals',
      args: [collateralsOf(slug).map(({ address, ...row }) => ({ ...row, token: address }))],
    }),
    ...settings.map((list) => encodeFunctionData({ abi, functionName: 'sandboxSetMarkets', args: [list] })),
    ...groupCaps,
  ];
}

function marketSetting(market: SandboxMarket, pairIndex: number, collateralIndex: number) {
  const skewDepth = parseUnits(market.skewDepth, 18);
  return {
    collateralIndex,
    pairIndex,
    maxOi: BigInt(market.maxOi) * 10n ** 10n,
    skewDepth,
    maxSkewCollateral: 0n,
    borrowingGroup: borrowingGroupOf(market),
    funding: fundingParams(skewDepth),
    borrowingRatePerSecondP: Number(percent(market.borrowingPercentPerHour) / 3600n),
    price: parseUnits(market.startPrice, 10),
  };
}

/** Thresholds in whole points; a dollar of volume is a point. */
const FEE_TIERS = [
  [975, 6_000_000],
  [950, 20_000_000],
  [925, 50_000_000],
  [900, 100_000_000],
  [875, 250_000_000],
  [850, 400_000_000],
  [800, 1_000_000_000],
  [750, 2_000_000_000],
].map(([feeMultiplier = 0, pointsThreshold = 0]) => ({ feeMultiplier, pointsThreshold }));

/** The contract accepts 10 to 30 s worth of blocks; chains with slower blocks than Arbitrum need fewer. */
const TRIGGER_TIMEOUT_BLOCKS: Partial<Record<ChainSlug, number>> = { base: 6, polygon: 6 };

function protocolCalls(slug: ChainSlug, testnet: boolean): Hex[] {
  const minAnswers = testnet ? 2 : 3;
  const oracles: Address[] = Array.from({ length: minAnswers + 1 }, (_, i) => oracleAddress(i));
  return [
    encodeFunctionData({ abi, functionName: 'sandboxSetTimeouts', args: [200, TRIGGER_TIMEOUT_BLOCKS[slug] ?? 40] }),
    encodeFunctionData({ abi, functionName: 'sandboxSetOracles', args: [oracles, minAnswers] }),
    encodeFunctionData({ abi, functionName: 'sandboxSetWrappedNative', args: [WRAPPED_NATIVE[slug] ?? zeroAddress] }),
    encodeFunctionData({
      abi,
      functionName: 'sandboxSetOiWindows',
      args: [{ startTs: 1_713_192_226, windowsDuration: 60, windowsCount: 4 }, Number(percent('1'))],
    }),
    encodeFunctionData({
      abi,
      functionName: 'sandboxSetTradeFeeParams',
      args: [
        {
          referralFeeP: 5000,
          govFeeP: 24_500,
          triggerOrderFeeP: 4000,
          gnsOtcFeeP: 56_500,
          gTokenFeeP: 15_000,
          gTokenOcFeeP: 0,
          __placeholder: 0n,
        },
      ],
    }),
    encodeFunctionData({ abi, functionName: 'sandboxSetCounterTrade', args: [1, 25_000, 500] }),
    encodeFunctionData({ abi, functionName: 'sandboxSetFeeTiers', args: [FEE_TIERS] }),
  ];
}

export function configurationCalls(chain: { slug: ChainSlug; testnet: boolean }, markets: Markets): Hex[] {
  return [...protocolCalls(chain.slug, chain.testnet), ...groupCalls(), ...pairCalls(markets), ...collateralCalls(chain.slug, markets)];
}
