import { P10 } from '../../domain/pricing/units.js';
import {
  BAND_COUNT,
  type Collateral,
  type FeeGroup,
  type Group,
  type MarketConfig,
  type Pair,
  type PairInCollateral,
} from '../../domain/market.js';
import { createProblems, field, isObject, position, ShapeError, type Problems } from './wire.js';
import { readSections, type HoursClass, type Sections } from './sections.js';
import { borrowingAccumulator, fundingState, openInterest } from './collateral-wire.js';
import { newestWindows, volumeWindow, type Cell } from './pair-wire.js';

export interface ConfigState {
  /** Null before the first complete snapshot. */
  config(): MarketConfig | null;
  /** Epoch ms of the source's last full or partial update; null before the first snapshot. */
  refreshedAt(): number | null;
  /**
   * Replaces everything; throws ShapeError and keeps the old state when the snapshot is incomplete or malformed. Null when the snapshot is
   * older than the current one, as a lagging upstream replica may send: the newer one stays.
   */
  replace(snapshot: unknown, now: number): Problems | null;
  /** Replaces the keys of the frame; throws ShapeError and keeps the old state when one is malformed. */
  merge(frame: unknown, now: number): Problems;
  event(name: string, value: unknown): Outcome;
}

/** Limits the source's time to ours: a clock that runs ahead must not make every later snapshot look old. */
const plausible = (stamp: number | undefined, now: number): number => Math.min(stamp ?? now, now);

export function createConfigState(isOpen: Defaults['isOpen']): ConfigState {
  let sections: Partial<Sections> = {};
  let refreshedAt: number | null = null;
  let rebuiltAt = 0;
  let composed: MarketConfig | null = null;

  const adopt = (next: Partial<Sections>, stamp: number): void => {
    requireComplete(next);
    composed = composeConfig(next, { refreshedAt: stamp, isOpen });
    sections = next;
    refreshedAt = stamp;
  };

  return {
    config() {
      if (composed || refreshedAt === null) return composed;
      requireComplete(sections);
      composed = composeConfig(sections, { refreshedAt, isOpen });
      return composed;
    },
    refreshedAt: () => refreshedAt,
    replace(snapshot, now) {
      const problems = createProblems();
      const next = readSections(snapshot, problems);
      const stamp = plausible(next.lastRefreshed, now);
      if (stamp < rebuiltAt) return null;
      adopt(next, stamp);
      rebuiltAt = stamp;
      return problems;
    },
    merge(frame, now) {
      const problems = createProblems();
      const given = readSections(frame, problems);
      if (refreshedAt === null) return problems;
      adopt({ ...sections, ...given }, Math.max(refreshedAt, plausible(given.lastRefreshed, now)));
      if (given.lastRefreshed !== undefined) rebuiltAt = Math.max(rebuiltAt, plausible(given.lastRefreshed, now));
      return problems;
    },
    event(name, value) {
      if (refreshedAt === null) return 'ignored';
      const outcome = applyEvent(sections, name, value);
      if (outcome === 'changed') composed = null;
      return outcome;
    },
  };
}

/** `changed`: applied, listeners must be notified; `refetch`: the event says that something changed, but not what. */
type Outcome = 'changed' | 'ignored' | 'refetch';

type Apply = (sections: Partial<Sections>, value: unknown) => Outcome;

/** Incremental events of the chain stream that concern the market configuration; other names are ignored. */
const EVENTS: Readonly<Record<string, Apply>> = {
  openInterestPairUpdated: (sections, value) => {
    const given = field(value, 'pairBorrowingFees');
    const row = field(given, 'oi') ?? given;
    const oi = isObject(row) && isObject(row['beforeV10']) ? openInterest(row) : null;
    return replaceRow(sections, value, (pair) => oi && { ...pair, ...oi });
  },
  pendingAccFundingFeesStored: (sections, value) => {
    const data = field(value, 'pairData');
    const funding = isObject(data) ? fundingState(data) : null;
    return replaceRow(sections, value, (pair) => funding && { ...pair, funding });
  },
  pendingAccBorrowingFeesStored: (sections, value) => {
    const data = field(value, 'pairData');
    const accumulator = isObject(data) ? borrowingAccumulator(data) : null;
    return replaceRow(sections, value, (pair) => accumulator && { ...pair, borrowing: { ...pair.borrowing, ...accumulator } });
  },
  oiWindowUpdated: (sections, value) => replaceWindow(sections, value),
  deepReorg: () => 'refetch',
  // Open interest changed, but the payload of these events is undocumented.
  updateLeverage: () => 'refetch',
  updatePositionSize: () => 'refetch',
};

function applyEvent(sections: Partial<Sections>, name: string, value: unknown): Outcome {
  return Object.hasOwn(EVENTS, name) ? (EVENTS[name]?.(sections, value) ?? 'ignored') : 'ignored';
}

/** A malformed event, or one about a row we do not have, means that our state is incomplete: a snapshot replaces it. */
function replaceRow(sections: Partial<Sections>, value: unknown, change: (pair: PairInCollateral) => PairInCollateral | null): Outcome {
  const [collateralIndex, pairIndex] = [position(field(value, 'collateralIndex')), position(field(value, 'pairIndex'))];
  const collateral = sections.collaterals?.find(({ index }) => index === collateralIndex);
  const pair = pairIndex === null ? null : collateral?.pairs[pairIndex];
  const changed = pair ? change(pair) : null;
  if (!collateral || pairIndex === null || !changed) return 'refetch';
  collateral.pairs[pairIndex] = changed;
  return 'changed';
}

/** Some senders omit the pair; then only a snapshot shows which window changed. */
function replaceWindow(sections: Partial<Sections>, value: unknown): Outcome {
  const pairIndex = position(field(value, 'pairIndex'));
  const window = volumeWindow(field(value, 'windowId'), field(value, 'newOi'));
  const held = pairIndex === null ? undefined : sections.windows?.[pairIndex];
  if (pairIndex === null || !window || !sections.windows || held === undefined || held === 'malformed') return 'refetch';
  sections.windows[pairIndex] = newestWindows([...held.filter(({ id }) => id !== window.id), window]);
  return 'changed';
}

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

type CompleteSections = Partial<Sections> & Pick<Sections, (typeof REQUIRED)[number]>;

function requireComplete(sections: Partial<Sections>): asserts sections is CompleteSections {
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
const NO_MULTIPLIER = P10;

export interface Defaults {
  readonly refreshedAt: number;
  /** Used for a flag the source does not send. */
  readonly isOpen: (hours: HoursClass) => boolean;
}

function composeConfig(sections: CompleteSections, defaults: Defaults): MarketConfig {
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
