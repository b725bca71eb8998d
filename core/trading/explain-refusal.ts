import { LEVERAGE_SCALE, collateralOf, priceOf } from '../account/describe-order.js';
import type { Refused, Reverted } from '../domain/chain-event.js';
import { decimal, type Decimal } from '../domain/decimal.js';
import { maxLeverageOf, type MarketConfig } from '../domain/market.js';
import type { Order, OrderReason } from '../domain/order.js';
import { exposureRoom, PriceRangeError } from '../domain/pricing/exposure.js';
import { STANDARD_TERMS, marketView, type MarketView } from '../domain/pricing/market-view.js';
import { MAX_OPEN_LOSS_P, openLossP, predictOpen, type OpenOutcome } from '../domain/pricing/predict-open.js';
import { worstPrice } from '../domain/pricing/execution-price.js';

export const DISAGREEMENTS = ['executionPrice', 'oraclePrice', 'positionSize', 'lossPercent', 'leverage'] as const;

/** Why an order was refused, and the two values that were compared; null where neither the chain nor the market's parameters give them. */
export interface Refusal {
  reason: OrderReason;
  /** What was compared; `positionSize` is in collateral. */
  quantity: (typeof DISAGREEMENTS)[number] | null;
  actual: Decimal | null;
  bound: Decimal | null;
  /** The oracle's price. */
  oraclePrice: Decimal | null;
  /** One of the two values is computed with the current market parameters, because the contract does not emit it. */
  isEstimate: boolean;
}

type Comparison = Pick<Refusal, 'quantity' | 'actual' | 'bound' | 'isEstimate'>;
type PriceOrNull = bigint | null | undefined;

const NO_COMPARISON: Comparison = { quantity: null, actual: null, bound: null, isEstimate: false };
const PERCENT_SCALE = 10;

export function explainRefusal(config: MarketConfig, order: Order, refused: Refused | Reverted): Refusal {
  const reason = refused.reason === 'COUNTER_TRADE_CANCELED' ? 'OTHER' : refused.reason;
  if (refused.kind === 'reverted') return { reason, ...NO_COMPARISON, oraclePrice: null };
  const oracle = refused.figures?.oraclePrice ?? null;
  return { reason, ...compare(createCase(config, order, refused), reason), oraclePrice: oracle === null ? null : priceOf(oracle) };
}

interface Case {
  readonly order: Order;
  readonly figures: NonNullable<Refused['figures']> | null;
  readonly view: MarketView | null;
  readonly decimals: number;
  /** The gateway's own prediction of the callback, for openings. */
  readonly predicted: OpenOutcome | null;
}

function createCase(config: MarketConfig, order: Order, { place, ...refused }: Refused): Case {
  const figures = refused.figures ?? null;
  const view = marketView(config, order);
  const oraclePrice = figures?.oraclePrice ?? null;
  const decimals = collateralOf(config, order.collateralIndex)?.decimals ?? 18;
  if (view === null || oraclePrice === null || order.action !== 'open') return { order, figures, view, decimals, predicted: null };
  const moment = { timestamp: BigInt(Math.floor(place.at / 1_000)), block: place.blockNumber };
  const request = { ...order, openPrice: order.price, maxSlippageP: order.slippageP, isCounterTrade: false };
  const predicted = inRange(() => predictOpen({ market: view, terms: STANDARD_TERMS, moment, oraclePrice }, request));
  return { order, figures, view, decimals, predicted };
}

function inRange<Result>(compute: () => Result): Result | null {
  try {
    return compute();
  } catch (error) {
    if (error instanceof PriceRangeError) return null;
    throw error;
  }
}

const positive = (units: PriceOrNull): Decimal | null => (units === null || units === undefined || units === 0n ? null : priceOf(units));

function compare(it: Case, reason: OrderReason): Comparison {
  const { order, figures } = it;
  switch (reason) {
    case 'SLIPPAGE':
      // `open: true` for closes too: `order.long` is the order's side, and a buy has an upper bound.
      return executed(it, worstPrice({ expectedPrice: order.price, maxSlippageP: order.slippageP, long: order.long, open: true }));
    case 'TP_REACHED':
      return executed(it, order.tp);
    case 'SL_REACHED':
      return { quantity: 'oraclePrice', actual: positive(figures?.oraclePrice), bound: positive(order.sl), isEstimate: false };
    case 'LIQ_REACHED': {
      const bound = positive(figures?.liquidationPrice ?? it.predicted?.liquidationPrice);
      const isEstimate = bound !== null && (figures?.liquidationPrice ?? null) === null;
      return { quantity: 'oraclePrice', actual: positive(figures?.oraclePrice), bound, isEstimate };
    }
    case 'MAX_LEVERAGE':
      return leverage(it);
    case 'EXPOSURE_LIMITS':
      return exposure(it);
    case 'PRICE_IMPACT': {
      const lossP = it.predicted && openLossP(it.predicted.impact, order);
      const actual = lossP === null ? null : decimal(lossP, PERCENT_SCALE);
      return { quantity: 'lossPercent', actual, bound: decimal(MAX_OPEN_LOSS_P, PERCENT_SCALE), isEstimate: actual !== null };
    }
    default:
      return NO_COMPARISON;
  }
}

function executed({ figures, predicted }: Case, bound: bigint): Comparison {
  const emitted = figures?.executionPrice ?? null;
  const actual = positive(emitted ?? predicted?.impact.priceAfterImpact);
  return { quantity: 'executionPrice', actual, bound: positive(bound), isEstimate: emitted === null && actual !== null };
}

/** For an opening the requested leverage is compared, for a change the resulting effective one. */
function leverage({ order, figures, view }: Case): Comparison {
  const asked = order.action === 'open' || order.action === 'leverage' ? order.leverage : null;
  const units = figures?.leverage ?? asked;
  return {
    quantity: 'leverage',
    actual: units === null ? null : decimal(units, LEVERAGE_SCALE),
    bound: view && decimal(maxLeverageOf(view.pair, view.group), LEVERAGE_SCALE),
    isEstimate: false,
  };
}

function exposure({ order, figures, view, decimals }: Case): Comparison {
  const price = figures?.oraclePrice ?? null;
  const spare = view === null || price === null ? null : exposureRoom({ market: view, long: order.long, price });
  return {
    quantity: 'positionSize',
    actual: decimal(order.sizeCollateral, decimals),
    bound: spare === null ? null : decimal(spare, decimals),
    isEstimate: spare !== null,
  };
}
