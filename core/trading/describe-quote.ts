import { baseSizeForCollateral } from '../domain/pricing/size.js';
import { decimal, round, type Decimal } from '../domain/decimal.js';
import type { Session } from '../domain/market.js';
import type { OrderReason, OrderType } from '../domain/order.js';
import { exposureRoom } from '../domain/pricing/exposure.js';
import { tradingFee } from '../domain/pricing/fees.js';
import { STANDARD_TERMS } from '../domain/pricing/market-view.js';
import type { OpenOutcome } from '../domain/pricing/predict-open.js';
import { worstPrice } from '../domain/pricing/execution-price.js';
import type { Venue } from '../gateway.js';
import { notionalUsd } from './check-order.js';
import { LEVERAGE_DECIMALS, PRICE_DECIMALS, SIZE_DECIMALS } from './exact-units.js';
import { currentPrice, type AskedOpening } from './order-request.js';

/** The predicted result of an order, in decimal units. */
export interface Quote {
  market: string;
  side: 'long' | 'short';
  type: OrderType;
  session: Session;
  size: Decimal;
  leverage: Decimal;
  collateral: string;
  collateralNeeded: Decimal;
  notionalUsd: Decimal;
  price: Decimal;
  expectedPrice: Decimal;
  worstPrice: Decimal;
  impact: { spreadPercent: Decimal; volumePercent: Decimal; skewPercent: Decimal; totalPercent: Decimal };
  fees: { open: Decimal; close: Decimal; rate: Decimal; tierMultiplier: Decimal };
  liquidationPrice: Decimal;
  sl: Decimal | null;
  tp: Decimal | null;
  exposureRoom: Decimal;
  reason: OrderReason | null;
  account: QuoteAccount | null;
  timestamp: number;
}

export interface QuoteAccount {
  balance: Decimal;
  allowance: Decimal;
  isFunded: boolean;
  /** 1 = the full fee. */
  feeTierMultiplier: Decimal | null;
  scope: { code: string; message: string }[];
}

export interface Quoted {
  readonly outcome: OpenOutcome;
  readonly reason: OrderReason | null;
  readonly account: QuoteAccount | null;
  /** 1e3. */
  readonly feeMultiplier: bigint | undefined;
}

/** `…P` figures: 1e10 percent; as a fraction two more. */
const PERCENT_SCALE = 10;
const FRACTION_SCALE = 12;

const price = (units: bigint): Decimal => decimal(units, PRICE_DECIMALS);
const percent = (units: bigint): Decimal => decimal(units, PERCENT_SCALE);
const optional = (units: bigint): Decimal | null => (units === 0n ? null : price(units));

export function describeQuote(venue: Venue, opening: AskedOpening, { outcome, reason, account, feeMultiplier }: Quoted): Quote {
  const { terms, view, collateral, symbol, pair } = opening;
  const { impact, positionSizeCollateral } = outcome;
  const { long } = terms;
  const amount = (units: bigint): Decimal => decimal(units, collateral.decimals);
  const multiplier = feeMultiplier ?? STANDARD_TERMS.feeMultiplier;
  const oraclePrice = terms.type === 'market' ? currentPrice(venue, pair.index).oracle : terms.price;
  return {
    market: symbol,
    side: long ? 'long' : 'short',
    type: terms.type,
    session: venue.feed.session(pair.index, venue.clock.now()),
    size: round(
      decimal(baseSizeForCollateral({ ...terms, price: opening.sizedAt, collateral, rounding: 'half-up' }), 18),
      SIZE_DECIMALS,
      'half-up',
    ),
    leverage: decimal(terms.leverage, LEVERAGE_DECIMALS),
    collateral: collateral.symbol,
    collateralNeeded: amount(terms.collateralAmount),
    notionalUsd: notionalUsd(opening),
    price: price(terms.price),
    expectedPrice: price(impact.priceAfterImpact),
    worstPrice: price(worstPrice({ expectedPrice: terms.price, maxSlippageP: terms.slippageP, long, open: true })),
    impact: {
      spreadPercent: percent(impact.fixedSpreadP),
      volumePercent: percent(impact.volumeImpactP),
      skewPercent: percent(impact.skewImpactP),
      totalPercent: percent(impact.totalImpactP),
    },
    fees: {
      open: amount(outcome.openingFee),
      close: amount(tradingFee({ market: view, positionSizeCollateral, isCounterTrade: false, feeMultiplier: multiplier })),
      rate: decimal(view.fees.totalPositionSizeFeeP, FRACTION_SCALE),
      tierMultiplier: decimal(multiplier, 3),
    },
    liquidationPrice: price(outcome.liquidationPrice),
    sl: optional(opening.storedSl),
    tp: optional(terms.tp),
    exposureRoom: amount(exposureRoom({ market: view, long, price: oraclePrice })),
    reason,
    account,
    timestamp: venue.clock.now(),
  };
}
