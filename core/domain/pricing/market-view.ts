import type {
  BandOffsets,
  Collateral,
  FeeGroup,
  Group,
  LiquidationParams,
  MarketConfig,
  OiWindowsSettings,
  Pair,
  PairInCollateral,
} from '../market.js';
import { E3 } from './units.js';

export type CollateralUnits = Pick<Collateral, 'precision' | 'precisionDelta' | 'priceUsd'>;

/** Everything the pricing of one pair in one collateral depends on. */
export interface MarketView {
  readonly pair: Pair;
  readonly group: Group;
  readonly fees: FeeGroup;
  readonly collateral: CollateralUnits;
  readonly state: PairInCollateral;
  readonly bandOffsets: BandOffsets;
  readonly oiWindows: OiWindowsSettings;
}

/** Terms of one trader. */
export interface TraderTerms {
  /** 1e3 percent on top of the pair's spread. */
  readonly fixedSpreadP: bigint;
  /** 1e3; 0 = none. */
  readonly cumulVolPriceImpactMultiplier: bigint;
  readonly protectionCloseFactorWhitelisted: boolean;
  /** 1e3: volume tier × staking tier. */
  readonly feeMultiplier: bigint;
}

export const STANDARD_TERMS: TraderTerms = {
  fixedSpreadP: 0n,
  cumulVolPriceImpactMultiplier: 0n,
  protectionCloseFactorWhitelisted: false,
  feeMultiplier: E3,
};

/** The block of a calculation: its timestamp in seconds and its number as the contract counts it. */
export interface Moment {
  readonly timestamp: bigint;
  readonly block: bigint;
}

export const CONTRACTS_VERSION = { beforeV92: 0, v92: 1, v10: 2 } as const;
export type ContractsVersion = (typeof CONTRACTS_VERSION)[keyof typeof CONTRACTS_VERSION];

/** An open trade as the contract stores it. */
export interface StoredTrade {
  readonly long: boolean;
  readonly collateralAmount: bigint;
  readonly leverage: bigint;
  readonly openPrice: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly positionSizeToken: bigint;
  readonly isCounterTrade: boolean;
  readonly contractsVersion: ContractsVersion;
  readonly lastPosIncreaseBlock: bigint;
  /** The trade's own, frozen at opening or at the last increase. */
  readonly liquidation: LiquidationParams;
}

/** Signed, in collateral units: positive `holdingFees` cost the trader, positive `realizedPnl` belongs to the trader (after trading fees). */
export interface TradeAccount {
  readonly holdingFees: bigint;
  readonly realizedPnl: bigint;
}

export const EMPTY_ACCOUNT: TradeAccount = { holdingFees: 0n, realizedPnl: 0n };

/** null where the pair is not listed, its group or fee row is missing, or the collateral does not have it. */
export function marketView(config: MarketConfig, at: { readonly pairIndex: number; readonly collateralIndex: number }): MarketView | null {
  const pair = config.pairs[at.pairIndex];
  const collateral = config.collaterals.find((candidate) => candidate.index === at.collateralIndex);
  if (!pair || !collateral) return null;
  const group = config.groups.find((candidate) => candidate.index === pair.groupIndex);
  const fees = config.fees.find((candidate) => candidate.index === pair.feeIndex);
  const state = collateral.pairs[at.pairIndex];
  if (!group || !fees || !state) return null;
  return { pair, group, fees, collateral, state, bandOffsets: config.bandOffsets, oiWindows: config.oiWindows };
}
