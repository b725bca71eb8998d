import { parseDecimal, round, formatDecimal, toUnits, type Decimal } from '../../core/domain/decimal.js';
import type { OrderReason } from '../../core/domain/order.js';
import type { ErrorDetails, GatewayError } from '../../core/errors.js';
import type { Refusal } from '../../core/trading/explain-refusal.js';
import { formatTick, PRICE_SCALE } from '../format.js';
import { coinPrice, type Asset } from '../universe.js';

/** Why an order was refused, with what it came to and what was allowed. It follows Hyperliquid's own text, whose beginning clients compare. */
export interface Cause {
  readonly reason: OrderReason;
  readonly actual: Decimal;
  readonly bound: Decimal;
  /** Whether the contract refused it, or is foreseen to. */
  readonly isForeseen: boolean;
}

/** Prices of an order that its limit excludes; 1e10 per base unit. */
export interface LimitMiss {
  readonly limit: bigint;
  readonly oracle: bigint;
  /** The execution price that spread and impact would make of the oracle's. */
  readonly predicted: bigint;
  readonly isBuy: boolean;
}

export function missText(asset: Asset, { limit, oracle, predicted, isBuy }: LimitMiss): string {
  const price = (units: bigint): string => formatTick(coinPrice(asset, units), asset.szDecimals, 'half-up');
  const isOracleWithin = isBuy ? oracle <= limit : oracle >= limit;
  return isOracleWithin
    ? `Price impact and spread would take the execution price to ${price(predicted)}, the limit is ${price(limit)}; the oracle's price is ${price(oracle)}.`
    : `The oracle's price is ${price(oracle)}, the limit ${price(limit)}.`;
}

export function causeText(asset: Asset, { reason, actual, bound, isForeseen }: Cause): string | null {
  const price = (value: Decimal): string =>
    formatTick(coinPrice(asset, toUnits(value, PRICE_SCALE, 'half-up')), asset.szDecimals, 'half-up');
  // Away from each other, so that a limit that was just passed does not look met.
  const [more, less] = [formatDecimal(round(actual, 2, 'up')), formatDecimal(round(bound, 2, 'down'))];
  const would = isForeseen ? 'would be' : 'was';
  switch (reason) {
    case 'SLIPPAGE':
      return `The oracle's price moved too far: the execution price ${would} ${price(actual)}, the worst allowed is ${price(bound)}.`;
    case 'PRICE_IMPACT':
      return `Price impact and spread ${isForeseen ? 'would cost' : 'cost'} ${more} % of the collateral, at most ${less} % are allowed.`;
    case 'TP_REACHED':
      return `The execution price ${would} ${price(actual)}, beyond the take profit at ${price(bound)}.`;
    case 'SL_REACHED':
      return `The oracle's price is ${price(actual)}, beyond the stop loss at ${price(bound)}.`;
    case 'LIQ_REACHED':
      return `The oracle's price is ${price(actual)}, and the position would be liquidated at ${price(bound)}.`;
    case 'EXPOSURE_LIMITS':
      return `The order has a size of ${more} in collateral, ${less} can still be opened.`;
    case 'MAX_LEVERAGE':
      return `The leverage ${would} ${more}, at most ${less} is allowed.`;
    default:
      return null;
  }
}

/** Of an order that the contract refused; null where its figures are not known. */
export const causeOfRefusal = ({ reason, actual, bound }: Refusal): Cause | null =>
  actual === null || bound === null ? null : { reason, actual, bound, isForeseen: false };

/** The contract's error in the request stands for the reason that its callback would have. */
const REASON_OF_ERROR: Readonly<Record<string, OrderReason>> = { PriceImpactTooHigh: 'PRICE_IMPACT' };

/** Of an order that was not sent because the contract would refuse it. */
export function causeOfError({ code, details }: GatewayError): Cause | null {
  if (code === 'LEVERAGE_OUT_OF_RANGE') {
    const { leverage, max } = details as ErrorDetails<'LEVERAGE_OUT_OF_RANGE'>;
    return { reason: 'MAX_LEVERAGE', actual: parseDecimal(leverage), bound: parseDecimal(max), isForeseen: true };
  }
  if (code !== 'SIMULATION_REVERTED') return null;
  const { errorName, args = [], stage } = details as ErrorDetails<'SIMULATION_REVERTED'>;
  const reason = REASON_OF_ERROR[errorName] ?? (stage === 'callback' ? errorName : null);
  const [actual, bound] = args;
  if (reason === null || actual === undefined || bound === undefined) return null;
  return { reason: reason as OrderReason, actual: parseDecimal(actual), bound: parseDecimal(bound), isForeseen: true };
}
