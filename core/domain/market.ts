import { GatewayError } from '../errors.js';

/**
 * Parameters and state of the protocol's markets. Every bigint keeps the contract's unit, so that the pricing functions equal the contract to
 * the last digit; names are the contract's. Decimals are used only in API formats.
 *
 * Units: prices 1e10 · leverage 1e3 · `…P` 1e10 percent · OI caps and pre-v10 OI 1e10 collateral · token OI and skew depth 1e18 ·
 * windows 1e18 USD · funding rate 1e18 percent/s · accumulators 1e20 percent × price · collateral/USD 1e8.
 */

export const MARKET_GROUPS = ['crypto', 'forex', 'stocks', 'indices', 'commodities'] as const;
export type MarketGroup = (typeof MARKET_GROUPS)[number];

export const TRADING_STATES = ['active', 'close_only', 'paused'] as const;
/** In the order of the contract's `TradingActivated`. */
export type TradingState = (typeof TRADING_STATES)[number];

export const SESSIONS = ['open', 'closed', 'close_only', 'disabled'] as const;
export type Session = (typeof SESSIONS)[number];

export const BAND_COUNT = 30;

/** One side of a pair's depth: `shares[i]` is the cumulative share of `totalUsd` (whole USD) up to band i, 10000 = all of it. */
export interface DepthSide {
  readonly totalUsd: bigint;
  readonly shares: readonly bigint[];
}

/** `above` serves trades that push the price up (open long, close short), `below` the others. */
export interface DepthBands {
  readonly above: DepthSide;
  readonly below: DepthSide;
}

/** Offset of each band from the price, 10000 = 1 %; the same for every pair. */
export type BandOffsets = readonly bigint[];

export interface PairFactors {
  readonly protectionCloseFactor: bigint;
  readonly protectionCloseFactorBlocks: bigint;
  readonly cumulativeFactor: bigint;
  readonly exemptOnOpen: boolean;
  readonly exemptAfterProtectionCloseFactor: boolean;
}

export interface LiquidationParams {
  readonly maxLiqSpreadP: bigint;
  readonly startLiqThresholdP: bigint;
  readonly endLiqThresholdP: bigint;
  readonly startLeverage: bigint;
  readonly endLeverage: bigint;
}

export interface FeeGroup {
  readonly index: number;
  readonly totalPositionSizeFeeP: bigint;
  readonly totalLiqCollateralFeeP: bigint;
  readonly oraclePositionSizeFeeP: bigint;
  /** 1e3 USD: the floor of the fee, not a minimum size. */
  readonly minPositionSizeUsd: bigint;
}

export interface Group {
  readonly index: number;
  readonly name: string;
  readonly minLeverage: bigint;
  readonly maxLeverage: bigint;
}

/** USD volume (1e18) of one window. */
export interface VolumeWindow {
  readonly id: bigint;
  readonly oiLongUsd: bigint;
  readonly oiShortUsd: bigint;
}

export interface OiWindowsSettings {
  readonly startTs: bigint;
  readonly windowsDuration: bigint;
  readonly windowsCount: bigint;
}

export interface Pair {
  readonly index: number;
  readonly from: string;
  readonly to: string;
  readonly spreadP: bigint;
  readonly groupIndex: number;
  readonly feeIndex: number;
  /** 0 = the group's; 1 = disabled for opens. */
  readonly customMaxLeverage: bigint;
  readonly depth: DepthBands;
  readonly factors: PairFactors;
  readonly liquidation: LiquidationParams;
  readonly counterTrade: { readonly maxLeverage: bigint; readonly feeRateMultiplier: bigint };
  readonly windows: readonly VolumeWindow[];
}

export interface FundingParams {
  readonly skewCoefficientPerYear: bigint;
  readonly absoluteVelocityPerYearCap: bigint;
  readonly absoluteRatePerSecondCap: bigint;
  readonly thetaThresholdUsd: bigint;
  readonly fundingFeesEnabled: boolean;
  readonly aprMultiplierEnabled: boolean;
}

export interface FundingState {
  readonly accFundingFeeLongP: bigint;
  readonly accFundingFeeShortP: bigint;
  readonly lastFundingRatePerSecondP: bigint;
  /** Seconds. */
  readonly lastFundingUpdateTs: bigint;
}

export interface BorrowingState {
  readonly borrowingRatePerSecondP: bigint;
  readonly accBorrowingFeeP: bigint;
  /** Seconds. */
  readonly lastBorrowingUpdateTs: bigint;
}

/** Long and short side of one figure. */
export interface Sides {
  readonly long: bigint;
  readonly short: bigint;
}

/** What the contract keeps per (collateral, pair). */
export interface PairInCollateral {
  readonly maxOi: bigint;
  readonly oiBeforeV10: Sides;
  /** Token units of the collateral. */
  readonly oiCollateral: Sides;
  readonly oiToken: Sides;
  readonly skewDepth: bigint;
  /** 1e10 collateral; 0 = off. */
  readonly maxSkewCollateral: bigint;
  readonly fundingParams: FundingParams;
  readonly funding: FundingState;
  readonly borrowing: BorrowingState;
}

export interface Collateral {
  /** The contract's index, from 1. */
  readonly index: number;
  readonly symbol: string;
  readonly address: `0x${string}`;
  readonly isActive: boolean;
  readonly decimals: number;
  readonly precision: bigint;
  readonly precisionDelta: bigint;
  /** 1e8. */
  readonly priceUsd: bigint;
  /** By pairIndex; null where the collateral does not have the pair. */
  readonly pairs: readonly (PairInCollateral | null)[];
}

/** One snapshot of the protocol's parameters and market state. */
export interface MarketConfig {
  /** Epoch ms at which the source rebuilt it. */
  readonly refreshedAt: number;
  readonly tradingState: TradingState;
  readonly marketOrdersTimeoutBlocks: number;
  /** The source's open flag per class; null where it has none and the calendar decides. Crypto never closes. */
  readonly openClasses: Readonly<Record<Exclude<MarketGroup, 'crypto'>, boolean>> | null;
  /** By pairIndex; null is a blank or delisted slot. */
  readonly pairs: readonly (Pair | null)[];
  readonly groups: readonly Group[];
  readonly fees: readonly FeeGroup[];
  readonly collaterals: readonly Collateral[];
  readonly bandOffsets: BandOffsets;
  readonly oiWindows: OiWindowsSettings;
  /** 1e10. */
  readonly negPnlCumulVolMultiplier: bigint;
}

/** Prices of a pair (1e10) and their time (epoch ms). */
export interface PricePoint {
  /** Values positions and triggers: the oracle's price, shifted by the current skew where the pair has a skew depth. */
  readonly mark: bigint;
  readonly index: bigint;
  /** The price the oracle would answer now, before spread, volume and skew impact. */
  readonly oracle: bigint;
  readonly at: number;
}

/** Group names differ per chain (`stocks-1`, `forex-exotic`, `altcoins`); prefixes do not. */
export function groupOf(groupName: string): MarketGroup {
  return MARKET_GROUPS.find((group) => groupName.startsWith(group)) ?? 'crypto';
}

/** `TSLA_1` is TSLA after a split: the public symbol is the part before the underscore. */
export const publicBase = (from: string): string => from.split('_', 1)[0] ?? from;

export const symbolOf = (pair: Pick<Pair, 'from' | 'to'>): string => `${publicBase(pair.from)}/${pair.to}`;

export function maxLeverageOf(pair: Pair, group: Group): bigint {
  return pair.customMaxLeverage > 0n ? pair.customMaxLeverage : group.maxLeverage;
}

export const TRADE_ACTIONS = ['open', 'close', 'increase', 'decrease', 'tp', 'sl', 'liquidation', 'leverage'] as const;
export type TradeAction = (typeof TRADE_ACTIONS)[number];

/** One public execution. */
export interface MarketTrade {
  readonly pairIndex: number;
  /** 1e10. */
  readonly price: bigint;
  /** 1e18: the traded size; for a leverage change, the size of the position. */
  readonly sizeUsd: bigint;
  /** The side of the position, also when it is closed. */
  readonly side: 'long' | 'short';
  readonly action: TradeAction;
  /** Epoch ms of the block. */
  readonly at: number;
  readonly txHash: string;
  /** 1e18: profit of the closed part by price alone; absent where the backend does not provide it. */
  readonly pnlUsd?: bigint;
  /** The trader; absent where the backend does not provide it. */
  readonly trader?: string;
}

export interface Directory {
  /** Listed pairs by index. */
  readonly pairs: readonly Pair[];
  readonly bySymbol: ReadonlyMap<string, Pair>;
}

/** Cached per config snapshot, which is immutable. */
const directories = new WeakMap<MarketConfig, Directory>();

const PUBLIC_SYMBOL = /^[A-Z0-9.]{1,15}\/[A-Z0-9]{1,10}$/;

export function directoryOf(config: MarketConfig): Directory {
  const known = directories.get(config);
  if (known) return known;
  const bySymbol = new Map<string, Pair>();
  for (const pair of config.pairs)
    if (pair && PUBLIC_SYMBOL.test(symbolOf(pair))) bySymbol.set(symbolOf(pair), preferredOf(bySymbol.get(symbolOf(pair)), pair));
  const directory = { bySymbol, pairs: [...bySymbol.values()].sort((a, b) => a.index - b.index) };
  directories.set(config, directory);
  return directory;
}

/** After a split or relisting two pairs share a public symbol: the tradable one wins, then the highest suffix, then the highest index. */
function preferredOf(older: Pair | undefined, newer: Pair): Pair {
  if (!older) return newer;
  const ranks = [older, newer].map((pair) => [pair.customMaxLeverage === 1n ? 0 : 1, splitOf(pair), pair.index] as const);
  const [a, b] = ranks;
  if (!a || !b) return newer;
  return (a[0] - b[0] || a[1] - b[1] || a[2] - b[2]) > 0 ? older : newer;
}

const splitOf = ({ from }: Pair): number => Number(from.split('_')[1] ?? 0) || 0;

export function pairOf(config: MarketConfig, symbol: string): Pair {
  const pair = directoryOf(config).bySymbol.get(symbol);
  if (!pair) throw new GatewayError('MARKET_NOT_FOUND', { market: symbol });
  return pair;
}

export const activeCollaterals = ({ collaterals }: Pick<MarketConfig, 'collaterals'>): Collateral[] =>
  collaterals.filter((collateral) => collateral.isActive);

/** The collateral whose figures are shown where they cannot be summed: USDC where it is listed, else the first. */
export function referenceCollateral(config: Pick<MarketConfig, 'collaterals'>): Collateral | null {
  const active = activeCollaterals(config);
  return active.find(({ symbol }) => symbol === 'USDC') ?? active[0] ?? null;
}

/** A delisted pair is named by its index, so that its history can still be shown. */
export function marketName(config: MarketConfig, pairIndex: number): string {
  const pair = config.pairs[pairIndex];
  return pair ? symbolOf(pair) : `PAIR${pairIndex}/USD`;
}
