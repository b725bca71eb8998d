import type { LiquidationParams } from '../market.js';
import { tradingFee } from './fees.js';
import { CONTRACTS_VERSION, type ContractsVersion, type MarketView, type TradeAccount, type TraderTerms } from './market-view.js';
import { positionSizeCollateral } from './size.js';
import { pairSpreadP } from './execution-price.js';
import { E18, E3, HUNDRED_PERCENT, P10, maximum, minimum } from './units.js';

const LEGACY_THRESHOLD_P = 90n * P10;

/** Loss (1e10 percent of the collateral, fees included) at which a trade may be liquidated; it falls as leverage rises. */
export function liquidationThresholdP(params: LiquidationParams, leverage: bigint): bigint {
  if (params.maxLiqSpreadP === 0n) return LEGACY_THRESHOLD_P;
  if (leverage <= params.startLeverage) return params.startLiqThresholdP;
  if (leverage >= params.endLeverage) return params.endLiqThresholdP;
  const fall = (leverage - params.startLeverage) * (params.startLiqThresholdP - params.endLiqThresholdP);
  return params.startLiqThresholdP - fall / (params.endLeverage - params.startLeverage);
}

/** The formula itself, on fees already summed (collateral units, signed). */
export function liquidationPriceFromFees(input: {
  readonly openPrice: bigint;
  readonly long: boolean;
  readonly collateralAmount: bigint;
  readonly leverage: bigint;
  readonly fees: bigint;
  readonly precisionDelta: bigint;
  readonly params: LiquidationParams;
  readonly spreadP: bigint;
  readonly contractsVersion: ContractsVersion;
}): bigint {
  const { openPrice, precisionDelta, params } = input;
  const thresholdP = liquidationThresholdP(params, input.leverage);
  const tolerated = (input.collateralAmount * thresholdP * precisionDelta * E3) / HUNDRED_PERCENT;
  const charged = input.fees * precisionDelta * E3;
  const distance = (openPrice * (tolerated - charged)) / input.collateralAmount / input.leverage / precisionDelta;
  const closingSpreadP = input.contractsVersion >= CONTRACTS_VERSION.v92 ? minimum(input.spreadP / 2n, params.maxLiqSpreadP) : 0n;
  const reach = distance - (openPrice * closingSpreadP) / HUNDRED_PERCENT;
  return maximum(input.long ? openPrice - reach : openPrice + reach, 0n);
}

export interface LiquidationInput {
  readonly market: Pick<MarketView, 'pair' | 'fees' | 'collateral'>;
  readonly terms: Pick<TraderTerms, 'fixedSpreadP'>;
  readonly openPrice: bigint;
  readonly long: boolean;
  readonly collateralAmount: bigint;
  readonly leverage: bigint;
  readonly isCounterTrade: boolean;
  readonly contractsVersion: ContractsVersion;
  readonly params: LiquidationParams;
  /** Of the trade as it is; empty before it is opened. */
  readonly account: TradeAccount;
  /** Collateral units: fees of the pending action, for example its opening fee. */
  readonly additionalFee?: bigint;
  /** 1e18: the part of the account that stays after a partial close. */
  readonly partialCloseMultiplier?: bigint;
}

/** The contract computes the closing fee without tier discount here. */
export function liquidationPrice(input: LiquidationInput): bigint {
  const { market, account } = input;
  const closingFee = tradingFee({
    market,
    positionSizeCollateral: positionSizeCollateral(input),
    isCounterTrade: input.isCounterTrade,
    feeMultiplier: E3,
  });
  const pending = ((account.holdingFees - account.realizedPnl) * (input.partialCloseMultiplier ?? E18)) / E18;
  return liquidationPriceFromFees({
    ...input,
    fees: closingFee + pending + (input.additionalFee ?? 0n),
    precisionDelta: market.collateral.precisionDelta,
    spreadP: pairSpreadP(market.pair, input.terms),
  });
}

/** Compares the oracle price, not the market price. */
export const isLiquidatable = (input: {
  readonly long: boolean;
  readonly oraclePrice: bigint;
  readonly liquidationPrice: bigint;
}): boolean => (input.long ? input.oraclePrice <= input.liquidationPrice : input.oraclePrice >= input.liquidationPrice);
