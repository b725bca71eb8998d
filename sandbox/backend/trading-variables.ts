import { zeroAddress } from 'viem';
import type { MarketHours } from './market-hours.js';
import type { Exposure, ProtocolState } from './protocol-state.js';
import { humanNumber, structText, texts, type WireValue } from './wire-format.js';

export type TradingVariables = Readonly<Record<string, WireValue>>;

/** 0.001x: how the protocol disables opening for one pair. */
const CAPPED = 1;
const DAY_S = 86_400;

/** `/trading-variables` of production, from contract state and market hours. */
export function tradingVariables(
  state: ProtocolState,
  hours: MarketHours,
  refresh: { readonly id: number; readonly at: number },
): TradingVariables {
  const { rules } = state;
  return {
    lastRefreshed: new Date(refresh.at).toISOString(),
    refreshId: refresh.id,
    tradingState: rules.tradingState,
    maxGainP: 1_000_000,
    marketOrdersTimeoutBlocks: rules.timeoutBlocks,
    globalTradeFeeParams: structText(rules.feeParams),
    pairs: rules.pairs.map(({ from, to, spreadP, groupIndex, feeIndex }) => structText({ from, to, spreadP, groupIndex, feeIndex })),
    groups: rules.groups.map(({ name, minLeverage, maxLeverage }) => structText({ name, minLeverage, maxLeverage })),
    fees: texts(rules.fees),
    pairInfos: {
      maxLeverages: rules.maxLeverages.map((leverage, pairIndex) => (hours.isCapped(pairIndex) ? CAPPED : Number(leverage))),
      pairDepthBands: texts(rules.depthBands),
      pairFactors: texts(rules.factors),
    },
    depthBandsMapping: structText({ slot1: rules.mapping[0], slot2: rules.mapping[1] }),
    liquidationParams: { pairs: texts(rules.liquidation), groups: texts(rules.groupLiquidation) },
    counterTradeSettings: rules.counterLeverages.map((maxLeverage, pairIndex) =>
      structText({ maxLeverage, feeRateMultiplier: rules.counterMultipliers[pairIndex] ?? 0 }),
    ),
    collaterals: state.exposures.map((exposure, at) => collateral(state, exposure, at)),
    maxNegativePnlOnOpenP: 400_000_000_000,
    blockConfirmations: 1,
    oiWindowsSettings: { ...rules.windows },
    oiWindows: state.windows.map((windows) =>
      Object.fromEntries(windows.map(({ id, oiLongUsd, oiShortUsd }) => [id.toString(), structText({ oiLongUsd, oiShortUsd })])),
    ),
    negPnlCumulVolMultiplier: rules.negPnlMultiplier.toString(),
    feeTiers: {
      tiers: texts(rules.feeTiers),
      stakingTiers: [],
      multipliers: rules.groups.map(() => '1000'),
      currentDay: Math.floor(refresh.at / 1000 / DAY_S),
    },
    congestionLevels: { low: 0.2, high: 5 },
    currentBlock: state.block,
    currentL1Block: -1,
    isForexOpen: hours.isClassOpen('forex'),
    isStocksOpen: hours.isClassOpen('stocks'),
    isIndicesOpen: hours.isClassOpen('indices'),
    isCommoditiesOpen: hours.isClassOpen('commodities'),
  };
}

function collateral({ rules, tokens }: ProtocolState, exposure: Exposure, at: number): WireValue {
  const [facts, token] = [rules.collaterals[at], tokens[at]];
  const ois = exposure.maxOi.map((_, pairIndex) => openInterest(exposure, pairIndex, facts?.precision ?? 1n));
  return {
    collateralIndex: exposure.collateralIndex,
    collateral: facts?.collateral ?? zeroAddress,
    symbol: token?.symbol ?? '',
    isActive: facts?.isActive ?? false,
    prices: { collateralPriceUsd: humanNumber(exposure.priceUsd, 8), gnsPriceCollateral: 1, gnsPriceUsd: 1 },
    collateralConfig: {
      precision: String(facts?.precision ?? 0),
      precisionDelta: String(facts?.precisionDelta ?? 0),
      decimals: token?.decimals ?? 0,
    },
    gToken: { address: exposure.gToken, currentBalanceCollateral: '0', maxBalanceCollateral: '0', marketCap: '0', lossesBurnP: '0' },
    pairSkewDepths: texts(exposure.skewDepths),
    fundingFees: {
      pairGlobalParams: texts(exposure.global),
      pairParams: texts(exposure.fundingParams),
      pairData: texts(exposure.fundingData),
    },
    pairOis: ois,
    borrowingFees: {
      v2: { pairParams: texts(exposure.borrowingParams), pairData: texts(exposure.borrowingData) },
      v1: { pairs: ois.map((oi) => ({ oi, ...NO_BORROWING_V1 })), groups: [] },
    },
  };
}

/** The sandbox charges no first-generation borrowing fees; the fields exist because production has them. */
const NO_BORROWING_V1 = {
  feePerBlock: '0',
  accFeeLong: '0',
  accFeeShort: '0',
  accLastUpdatedBlock: '0',
  feeExponent: '1',
  groups: [],
  feePerBlockCap: { minP: '0', maxP: '0' },
} as const;

/** Production reports open interest from before v10 with ten decimals, whatever the collateral's `precision`; the contract uses that. */
export function openInterest(exposure: Exposure, pairIndex: number, precision: bigint): WireValue {
  const [long, short] = (exposure.oiBefore[pairIndex] ?? [0n, 0n]).map((units) => (units * 10n ** 10n) / precision);
  return {
    beforeV10: structText({ long, short, max: exposure.maxOi[pairIndex] ?? 0n }),
    collateral: structText(exposure.oiCollateral[pairIndex] ?? null),
    token: structText(exposure.oiToken[pairIndex] ?? null),
  };
}
