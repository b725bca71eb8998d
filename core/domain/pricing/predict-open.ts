import { maxLeverageOf } from '../market.js';
import { firstReason, type CancelReason } from '../order.js';
import { counterTradeExcess, isWithinExposureLimits, type GroupOpenInterest } from './exposure.js';
import { isWithinSlippage, openingImpact, type PriceContext, type PriceImpact } from './execution-price.js';
import { minOpeningCollateral, tradingFee } from './fees.js';
import { isLiquidatable, liquidationPrice } from './liquidation.js';
import { CONTRACTS_VERSION, EMPTY_ACCOUNT } from './market-view.js';
import { positionSizeCollateral } from './size.js';
import { E3, P10, multiplyDivideUp } from './units.js';

/** Spread and volume impact may cost an opening at most this share of its collateral. */
export const MAX_OPEN_LOSS_P = 40n * P10;

export interface OpenRequest {
  readonly long: boolean;
  readonly collateralAmount: bigint;
  readonly leverage: bigint;
  /** Expected price of a market order, trigger price of a limit or stop. */
  readonly openPrice: bigint;
  /** 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  /** 1e3 percent. */
  readonly maxSlippageP: bigint;
  readonly isCounterTrade: boolean;
}

export interface OpenOutcome {
  readonly cancelReason: CancelReason;
  readonly impact: PriceImpact;
  readonly positionSizeCollateral: bigint;
  /** Smaller than requested only when a counter trade was reduced to the skew; the rest is returned. */
  readonly collateralAmount: bigint;
  readonly openingFee: bigint;
  readonly liquidationPrice: bigint;
}

/** Loss from spread and volume impact, 1e10 percent of the collateral; the skew is not counted. */
export const openLossP = (
  impact: Pick<PriceImpact, 'fixedSpreadP' | 'volumeImpactP'>,
  order: { long: boolean; leverage: bigint },
): bigint => ((impact.fixedSpreadP + impact.volumeImpactP) * order.leverage * (order.long ? 1n : -1n)) / E3;

/** The part of a counter trade that is kept; `accepted` false means it is cancelled. */
function counterTradeCut({ market, oraclePrice }: PriceContext, request: OpenRequest): { collateralAmount: bigint; accepted: boolean } {
  const whole = { collateralAmount: request.collateralAmount, accepted: true };
  if (!request.isCounterTrade) return whole;
  const size = positionSizeCollateral(request);
  const excess = counterTradeExcess(market, { long: request.long, positionSizeCollateral: size, price: oraclePrice });
  if (excess === null) return { ...whole, accepted: false };
  const collateralAmount = request.collateralAmount - multiplyDivideUp(excess, E3, request.leverage);
  return { collateralAmount, accepted: collateralAmount >= minOpeningCollateral(market.fees, market.collateral) };
}

/**
 * What the callback would do with a market open, or with a limit or stop whose trigger is hit, if the oracle answered
 * `context.oraclePrice`. Throws `PriceRangeError` where the callback would revert and leave the order pending.
 */
export function predictOpen(context: PriceContext, request: OpenRequest, groupOi: GroupOpenInterest | null = null): OpenOutcome {
  const { market, terms, oraclePrice } = context;
  const { long, leverage, tp, sl, isCounterTrade } = request;
  const { collateralAmount, accepted } = counterTradeCut(context, request);
  const size = positionSizeCollateral({ collateralAmount, leverage });
  const impact = openingImpact(context, { long, positionSizeCollateral: size });
  const price = impact.priceAfterImpact;
  const openingFee = tradingFee({ market, positionSizeCollateral: size, isCounterTrade, feeMultiplier: terms.feeMultiplier });
  const liqPrice = liquidationPrice({
    market,
    terms,
    openPrice: price,
    long,
    collateralAmount,
    leverage,
    isCounterTrade,
    contractsVersion: CONTRACTS_VERSION.v10,
    params: market.pair.liquidation,
    account: EMPTY_ACCOUNT,
    additionalFee: openingFee,
  });
  const cancelReason = firstReason([
    [
      'SLIPPAGE',
      () => !isWithinSlippage({ price, expectedPrice: request.openPrice, maxSlippageP: request.maxSlippageP, long, open: true }),
    ],
    ['TP_REACHED', () => tp > 0n && (long ? price >= tp : price <= tp)],
    ['SL_REACHED', () => sl > 0n && (long ? oraclePrice <= sl : oraclePrice >= sl)],
    ['LIQ_REACHED', () => isLiquidatable({ long, oraclePrice, liquidationPrice: liqPrice })],
    ['EXPOSURE_LIMITS', () => !isWithinExposureLimits({ market, long, positionSizeCollateral: size, price: oraclePrice, groupOi })],
    ['PRICE_IMPACT', () => openLossP(impact, request) > MAX_OPEN_LOSS_P],
    ['MAX_LEVERAGE', () => leverage > maxLeverageOf(market.pair, market.group)],
    ['COUNTER_TRADE_CANCELED', () => !accepted],
  ]);
  return { cancelReason, impact, positionSizeCollateral: size, collateralAmount, openingFee, liquidationPrice: liqPrice };
}
