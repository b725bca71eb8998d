import type { ChainDefinition } from '../../../chains/chains.js';
import { TRADING_STATES, type Collateral, type MarketConfig, type Pair, type PairInCollateral } from '../../../domain/market.js';
import type { Chain } from '../../../ports/chain.js';
import type { Logger } from '../../../ports/log.js';
import type { Clock } from '../../../ports/clock.js';
import type { Cancel } from '../../../types.js';
import { redactText } from '../../../observability/redact.js';
import { createDiamondViews, readRules, readState, type Exposure, type Rules, type State } from './read-onchain.js';
import { decodeBandOffsets, decodeDepthBands } from '../../../domain/pricing/volume-impact.js';
import { beforeV10InP10 } from '../../../domain/pricing/exposure.js';

export interface OnchainConfig {
  /** The last configuration read; null while it is not needed, and before the first read. */
  config(): MarketConfig | null;
  /** Reads the contract periodically while it is needed, because each read takes hundreds of calls. */
  need(isNeeded: boolean): void;
  stop(): void;
}

export interface OnchainConfigOptions {
  readonly definition: Pick<ChainDefinition, 'diamond' | 'slug'>;
  readonly chain: Pick<Chain, 'views' | 'head'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const REFRESH_MS = 15_000;
/** Governance parameters change rarely. */
const RULES_MS = 600_000;

/** The protocol's parameters and open interest from the contract, while its backend is silent. There are no prices on chain. */
export function createOnchainConfig(options: OnchainConfigOptions & { readonly onChange?: () => void }): OnchainConfig {
  const { definition, chain, clock, log } = options;
  let config: MarketConfig | null = null;
  let rules: { readonly read: Rules; readonly at: number } | null = null;
  let cancel: Cancel | null = null;
  let isReading = false;

  const read = async (): Promise<MarketConfig> => {
    const head = await chain.head();
    const at = clock.now();
    const views = () => createDiamondViews(chain.views, definition.diamond, head.number);
    if (rules === null || at - rules.at > RULES_MS) rules = { read: await readRules(views()), at };
    return composeOnchain(rules.read, await readState(views, rules.read, head.timestamp), at);
  };

  const refresh = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    try {
      const next = await read();
      if (cancel === null) return;
      config = next;
      options.onChange?.();
    } catch (error) {
      const reason = error instanceof Error ? redactText(error.message.split('\n', 1).join('')) : 'unknown';
      if (cancel !== null) log.warn('feed.chain-not-read', { reason });
    } finally {
      isReading = false;
    }
  };

  const halt = (): void => {
    cancel?.();
    cancel = null;
    config = null;
  };

  return {
    config: () => config,
    need(isNeeded) {
      if (!isNeeded) return halt();
      if (cancel !== null) return;
      cancel = clock.every(REFRESH_MS, () => void refresh());
      void refresh();
    },
    stop: halt,
  };
}

/** Builds the market configuration from contract reads; trading hours are not on chain, so the calendar decides them. */
function composeOnchain(rules: Rules, state: State, refreshedAt: number): MarketConfig {
  const [slot1, slot2] = rules.mapping;
  return {
    refreshedAt,
    tradingState: TRADING_STATES[state.tradingState] ?? 'paused',
    marketOrdersTimeoutBlocks: state.timeoutBlocks,
    openClasses: null,
    pairs: rules.pairs.map((_, index) => pairAt(rules, state, index)),
    groups: rules.groups.map(({ name, minLeverage, maxLeverage }, index) => ({ index, name, minLeverage, maxLeverage })),
    fees: rules.fees.map((fee, index) => ({
      index,
      totalPositionSizeFeeP: BigInt(fee.totalPositionSizeFeeP),
      totalLiqCollateralFeeP: BigInt(fee.totalLiqCollateralFeeP),
      oraclePositionSizeFeeP: BigInt(fee.oraclePositionSizeFeeP),
      minPositionSizeUsd: BigInt(fee.minPositionSizeUsd),
    })),
    collaterals: rules.collaterals.flatMap((_, at) => collateralAt(rules, state, at) ?? []),
    bandOffsets: decodeBandOffsets({ slot1, slot2 }),
    oiWindows: {
      startTs: BigInt(rules.windows.startTs),
      windowsDuration: BigInt(rules.windows.windowsDuration || 1),
      windowsCount: BigInt(rules.windows.windowsCount),
    },
    negPnlCumulVolMultiplier: BigInt(rules.negPnlMultiplier),
  };
}

function pairAt(rules: Rules, state: State, index: number): Pair | null {
  const [row, liquidation, depth, factors] = [rules.pairs[index], rules.liquidation[index], rules.depths[index], rules.factors[index]];
  if (!row || row.from === '' || !liquidation || !depth || !factors) return null;
  if (!rules.groups[Number(row.groupIndex)] || !rules.fees[Number(row.feeIndex)]) return null;
  return {
    index,
    from: row.from,
    to: row.to,
    spreadP: row.spreadP,
    groupIndex: Number(row.groupIndex),
    feeIndex: Number(row.feeIndex),
    customMaxLeverage: rules.maxLeverages[index] ?? 0n,
    depth: decodeDepthBands(depth),
    factors: {
      protectionCloseFactor: BigInt(factors.protectionCloseFactor),
      protectionCloseFactorBlocks: BigInt(factors.protectionCloseFactorBlocks),
      cumulativeFactor: BigInt(factors.cumulativeFactor),
      exemptOnOpen: factors.exemptOnOpen,
      exemptAfterProtectionCloseFactor: factors.exemptAfterProtectionCloseFactor,
    },
    liquidation: {
      maxLiqSpreadP: BigInt(liquidation.maxLiqSpreadP),
      startLiqThresholdP: BigInt(liquidation.startLiqThresholdP),
      endLiqThresholdP: BigInt(liquidation.endLiqThresholdP),
      startLeverage: BigInt(liquidation.startLeverage),
      endLeverage: BigInt(liquidation.endLeverage),
    },
    counterTrade: {
      maxLeverage: BigInt(rules.counterLeverages[index] ?? 0),
      feeRateMultiplier: BigInt(rules.counterMultipliers[index] ?? 0),
    },
    windows: state.windows[index] ?? [],
  };
}

/** Null for a collateral whose token has no usable symbol. */
function collateralAt(rules: Rules, state: State, at: number): Collateral | null {
  const [facts, symbol, exposure] = [rules.collaterals[at], rules.symbols[at], state.exposures[at]];
  if (!facts || symbol === null || symbol === undefined) return null;
  const { collateral: address, isActive, precision, precisionDelta } = facts;
  return {
    index: at + 1,
    symbol,
    address,
    isActive,
    decimals: precision.toString().length - 1,
    precision,
    precisionDelta,
    priceUsd: exposure?.priceUsd ?? 0n,
    pairs: rules.pairs.map((_, index) => (exposure ? pairInCollateral(rules, exposure, at, index) : null)),
  };
}

function pairInCollateral({ terms, collaterals }: Rules, exposure: Exposure, at: number, index: number): PairInCollateral | null {
  const [term, facts] = [terms[at], collaterals[at]];
  const [global, params, rate] = [term?.global[index], term?.fundingParams[index], term?.borrowingParams[index]];
  const [funding, borrowing] = [exposure.fundingData[index], exposure.borrowingData[index]];
  const [collateral, token, before] = [exposure.oiCollateral[index], exposure.oiToken[index], exposure.oiBefore[index]];
  if (!term || !facts || !global || !params || !rate || !before || !funding || !borrowing || !collateral || !token) return null;
  return {
    maxOi: term.maxOi[index] ?? 0n,
    oiBeforeV10: beforeV10InP10({ long: before[0], short: before[1] }, facts),
    oiCollateral: { long: collateral.oiLongCollateral, short: collateral.oiShortCollateral },
    oiToken: { long: token.oiLongToken, short: token.oiShortToken },
    skewDepth: term.skewDepths[index] ?? 0n,
    maxSkewCollateral: global.maxSkewCollateral,
    fundingParams: {
      skewCoefficientPerYear: params.skewCoefficientPerYear,
      absoluteVelocityPerYearCap: BigInt(params.absoluteVelocityPerYearCap),
      absoluteRatePerSecondCap: BigInt(params.absoluteRatePerSecondCap),
      thetaThresholdUsd: BigInt(params.thetaThresholdUsd),
      fundingFeesEnabled: params.fundingFeesEnabled,
      aprMultiplierEnabled: params.aprMultiplierEnabled,
    },
    funding: {
      accFundingFeeLongP: funding.accFundingFeeLongP,
      accFundingFeeShortP: funding.accFundingFeeShortP,
      lastFundingRatePerSecondP: funding.lastFundingRatePerSecondP,
      lastFundingUpdateTs: BigInt(funding.lastFundingUpdateTs),
    },
    borrowing: {
      borrowingRatePerSecondP: BigInt(rate.borrowingRatePerSecondP),
      accBorrowingFeeP: borrowing.accBorrowingFeeP,
      lastBorrowingUpdateTs: BigInt(borrowing.lastBorrowingUpdateTs),
    },
  };
}
