import { BAND_COUNT, type Collateral, type FeeGroup, type Group, type MarketConfig, type Pair } from '../../domain/market.js';
import type { Cell } from './pair-wire.js';
import { ShapeError } from './wire.js';
import type { HoursClass, Sections } from './sections.js';

/** Required to price or reject correctly; other missing sections read as the contract's unset value. */
const REQUIRED = [
  'tradingState',
  'marketOrdersTimeoutBlocks',
  'pairs',
  'groups',
  'fees',
  'collaterals',
  'oiWindowsSettings',
] as const satisfies readonly (keyof Sections)[];

export type CompleteSections = Partial<Sections> & Pick<Sections, (typeof REQUIRED)[number]>;

export function requireComplete(sections: Partial<Sections>): asserts sections is CompleteSections {
  const missing = REQUIRED.filter((key) => sections[key] === undefined);
  if (missing.length > 0) throw new ShapeError(`missing: ${missing.join(', ')}`);
}

const NO_OFFSETS = Array.from({ length: BAND_COUNT }, () => 0n);
const NO_DEPTH = { totalUsd: 0n, shares: NO_OFFSETS };
const UNSET = {
  customMaxLeverage: 0n,
  depth: { above: NO_DEPTH, below: NO_DEPTH },
  factors: {
    protectionCloseFactor: 0n,
    protectionCloseFactorBlocks: 0n,
    cumulativeFactor: 0n,
    exemptOnOpen: false,
    exemptAfterProtectionCloseFactor: false,
  },
  liquidation: { maxLiqSpreadP: 0n, startLiqThresholdP: 0n, endLiqThresholdP: 0n, startLeverage: 0n, endLeverage: 0n },
  counterTrade: { maxLeverage: 0n, feeRateMultiplier: 0n },
  windows: [],
} as const satisfies Partial<Pair>;

/** Contracts before the multiplier existed scaled by one. */
const NO_MULTIPLIER = 10_000_000_000n;

export interface Defaults {
  readonly refreshedAt: number;
  /** Used for a flag the source does not send. */
  readonly isOpen: (hours: HoursClass) => boolean;
}

export function composeConfig(sections: CompleteSections, defaults: Defaults): MarketConfig {
  return {
    refreshedAt: defaults.refreshedAt,
    tradingState: sections.tradingState,
    marketOrdersTimeoutBlocks: sections.marketOrdersTimeoutBlocks,
    openClasses: {
      forex: sections.isForexOpen ?? defaults.isOpen('forex'),
      stocks: sections.isStocksOpen ?? defaults.isOpen('stocks'),
      indices: sections.isIndicesOpen ?? defaults.isOpen('indices'),
      commodities: sections.isCommoditiesOpen ?? defaults.isOpen('commodities'),
    },
    pairs: sections.pairs.map((_, index) => composePair(sections, index)),
    groups: sections.groups.map((group, index): Group => group ?? { index, name: '', minLeverage: 0n, maxLeverage: 0n }),
    fees: sections.fees.map((fee, index): FeeGroup => fee ?? { index, ...NO_FEES }),
    collaterals: sections.collaterals.map((collateral): Collateral => ({ ...collateral, pairs: [...collateral.pairs] })),
    bandOffsets: sections.bandOffsets ?? NO_OFFSETS,
    oiWindows: sections.oiWindowsSettings,
    negPnlCumulVolMultiplier: sections.negPnlCumulVolMultiplier ?? NO_MULTIPLIER,
  };
}

/** Placeholder for a malformed row; no pair refers to it. */
const NO_FEES = { totalPositionSizeFeeP: 0n, totalLiqCollateralFeeP: 0n, oraclePositionSizeFeeP: 0n, minPositionSizeUsd: 0n };

const cell = <Value>(column: readonly Cell<Value>[] | undefined, index: number, unset: Value): Cell<Value> => column?.[index] ?? unset;

/** Null for a blank slot, and for a pair with any malformed value, because no market is better than a wrongly priced one. */
function composePair(sections: CompleteSections, index: number): Pair | null {
  const row = sections.pairs[index];
  if (!row || !sections.groups[row.groupIndex] || !sections.fees[row.feeIndex]) return null;
  const customMaxLeverage = cell(sections.maxLeverages, index, UNSET.customMaxLeverage);
  const depth = cell(sections.depths, index, UNSET.depth);
  const factors = cell(sections.factors, index, UNSET.factors);
  const liquidation = cell(sections.liquidation, index, UNSET.liquidation);
  const counterTrade = cell(sections.counterTrades, index, UNSET.counterTrade);
  const windows = cell(sections.windows, index, UNSET.windows);
  if (customMaxLeverage === 'malformed' || depth === 'malformed' || factors === 'malformed') return null;
  if (liquidation === 'malformed' || counterTrade === 'malformed' || windows === 'malformed') return null;
  return { index, ...row, customMaxLeverage, depth, factors, liquidation, counterTrade, windows };
}
