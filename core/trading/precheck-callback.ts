import { decimal, formatDecimal } from '../domain/decimal.js';
import { maxLeverageOf } from '../domain/market.js';
import type { OrderReason } from '../domain/order.js';
import { beforeV10InP10, exposureRoom, PriceRangeError, type GroupOpenInterest } from '../domain/pricing/exposure.js';
import { STANDARD_TERMS, type MarketView, type Moment, type TraderTerms } from '../domain/pricing/market-view.js';
import { MAX_OPEN_LOSS_P, openLossP, predictOpen, type OpenOutcome } from '../domain/pricing/predict-open.js';
import { worstPrice } from '../domain/pricing/execution-price.js';
import { GatewayError, type ErrorDetails } from '../errors.js';
import type { Venue } from '../gateway.js';
import type { Hex } from '../types.js';
import { LEVERAGE_DECIMALS, PRICE_DECIMALS, currentPrice, type Opening } from './order-request.js';
import type { OpeningFacts, OpeningQuestion } from '../ports/simulation.js';
import { wouldRevert } from './refuse-revert.js';

const PERCENT_DECIMALS = 10;

/** A group without free exposure. */
export const FULL: GroupOpenInterest = { long: 1n, short: 1n, max: 1n };

export interface CallbackFacts {
  readonly facts: OpeningFacts | null;
  /** 1e3. */
  readonly feeMultiplier?: bigint;
}

/**
 * Predicts the oracle's callback at the current state; a resting order is evaluated as if its trigger had just been hit.
 * Throws `PriceRangeError` where no price exists.
 */
export function predictCallback(venue: Venue, opening: Opening, { facts, feeMultiplier }: CallbackFacts): OpenOutcome {
  const { terms } = opening;
  const trader: TraderTerms = {
    ...STANDARD_TERMS,
    fixedSpreadP: facts?.fixedSpreadP ?? 0n,
    cumulVolPriceImpactMultiplier: facts?.cumulVolPriceImpactMultiplier ?? 0n,
    feeMultiplier: feeMultiplier ?? STANDARD_TERMS.feeMultiplier,
  };
  const oraclePrice = terms.type === 'market' ? currentPrice(venue, terms.pairIndex).oracle : terms.price;
  const request = { ...terms, openPrice: terms.price, maxSlippageP: terms.slippageP, isCounterTrade: false };
  const group = facts?.isWithinGroupOi === false ? FULL : null;
  return predictOpen({ market: viewAt(opening, facts), terms: trader, moment: momentOf(venue), oraclePrice }, request, group);
}

/** The market with the open interest read from the chain, because the feed's lags behind after a large fill. */
export function viewAt({ view, collateral }: Pick<Opening, 'view' | 'collateral'>, facts: OpeningFacts | null): MarketView {
  if (!facts?.oi) return view;
  const { oiToken, oiBeforeV10 } = facts.oi;
  return { ...view, state: { ...view.state, oiToken, oiBeforeV10: beforeV10InP10(oiBeforeV10, collateral) } };
}

/** Estimated time of the next block: the head's timestamp plus the time since it was seen. */
function momentOf({ state, clock }: Venue): Moment {
  const now = clock.now();
  const head = state.head;
  if (head === null) return { timestamp: BigInt(Math.floor(now / 1000)), block: 0n };
  const since = BigInt(Math.max(Math.floor((now - head.seenAt) / 1000), 0));
  return { timestamp: head.block.timestamp + since, block: head.block.number };
}

/** What `refuseCallback` needs to read from the chain. */
export const callbackQuestion = ({ terms, sizeCollateral }: Opening): OpeningQuestion | null =>
  terms.type === 'market' ? { ...terms, positionSizeCollateral: sizeCollateral } : null;

/**
 * Rejects a market order that the callback would refuse, because it would cost gas and a fee for nothing. A resting order is not rejected: it
 * may be filled later, and a failed trigger leaves it resting.
 */
export function refuseCallback(
  venue: Venue,
  opening: Opening,
  { facts, inner }: { readonly facts: OpeningFacts | null; readonly inner: Hex },
): void {
  if (opening.terms.type !== 'market') return;
  const outcome = predictOrRevert(venue, opening, { facts, inner });
  const reason = reasonOf(outcome);
  if (reason === null) return;
  throw new GatewayError('SIMULATION_REVERTED', {
    errorName: reason,
    args: figuresOf(venue, opening, outcome, facts),
    calldata: inner,
    stage: 'callback',
  });
}

function predictOrRevert(
  venue: Venue,
  opening: Opening,
  { facts, inner }: { readonly facts: OpeningFacts | null; readonly inner: Hex },
): OpenOutcome {
  try {
    return predictCallback(venue, opening, { facts });
  } catch (error) {
    if (error instanceof PriceRangeError) throw wouldRevert(inner, error.code);
    throw error;
  }
}

/** Counter trades cannot be requested here, so the API has no reason of its own for them. */
export function reasonOf({ cancelReason }: Pick<OpenOutcome, 'cancelReason'>): OrderReason | null {
  if (cancelReason === 'NONE') return null;
  return cancelReason === 'COUNTER_TRADE_CANCELED' ? 'OTHER' : cancelReason;
}

/** The two compared values, where there are two: what the order would come to, and what is allowed. */
function figuresOf(venue: Venue, opening: Opening, outcome: OpenOutcome, facts: OpeningFacts | null): string[] {
  const { terms, collateral, view } = opening;
  const { cancelReason, impact, positionSizeCollateral, liquidationPrice } = outcome;
  const texts = (scale: number, ...units: bigint[]): string[] => units.map((each) => formatDecimal(decimal(each, scale)));
  const { oracle } = currentPrice(venue, terms.pairIndex);
  switch (cancelReason) {
    case 'SLIPPAGE': {
      const worst = worstPrice({ expectedPrice: terms.price, maxSlippageP: terms.slippageP, long: terms.long, open: true });
      return texts(PRICE_DECIMALS, impact.priceAfterImpact, worst);
    }
    case 'TP_REACHED':
      return texts(PRICE_DECIMALS, impact.priceAfterImpact, terms.tp);
    case 'SL_REACHED':
      return texts(PRICE_DECIMALS, oracle, terms.sl);
    case 'LIQ_REACHED':
      return texts(PRICE_DECIMALS, oracle, liquidationPrice);
    case 'EXPOSURE_LIMITS':
      return texts(
        collateral.decimals,
        positionSizeCollateral,
        exposureRoom({ market: viewAt(opening, facts), long: terms.long, price: oracle }),
      );
    case 'PRICE_IMPACT':
      return lossFigures(outcome, opening);
    case 'MAX_LEVERAGE':
      return texts(LEVERAGE_DECIMALS, terms.leverage, maxLeverageOf(view.pair, view.group));
    default:
      return [];
  }
}

/** Percent of the collateral: what spread and volume impact would take, and what they may. */
const lossFigures = ({ impact }: OpenOutcome, { terms }: Opening): string[] =>
  [openLossP(impact, terms), MAX_OPEN_LOSS_P].map((lossP) => formatDecimal(decimal(lossP, PERCENT_DECIMALS)));

/** The contract refuses a great loss by impact in the request already, and without figures: they are predicted, as a quote does. */
export function withImpact(venue: Venue, opening: Opening, error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'SIMULATION_REVERTED') return error;
  const details = error.details as ErrorDetails<'SIMULATION_REVERTED'>;
  if (details.errorName !== 'PriceImpactTooHigh') return error;
  const outcome = predictOrRevert(venue, opening, { facts: null, inner: details.calldata as Hex });
  return new GatewayError('SIMULATION_REVERTED', { ...details, args: lossFigures(outcome, opening) });
}
