import type { OrderReason } from '../../core/domain/order.js';
import type { TranslationRefusal } from '../../core/domain/relay/exchange-order.js';
import type { ErrorDetails, GatewayError, WalletFigures } from '../../core/errors.js';
import { TRADE_BUSY } from '../../core/trading/place-order.js';
import { decimal, formatDecimal, round } from '../../core/domain/decimal.js';
import type { GuardRefusal } from '../../core/domain/relay/guardrails.js';

/** Texts about one item. Clients compare the beginnings; every text ends with its asset. */
export const ITEM_TEXTS = {
  invalidAsset: 'Order has invalid asset.',
  zeroSize: 'Order has zero size.',
  invalidSize: 'Order has invalid size.',
  invalidPrice: 'Order has invalid price.',
  halted: 'Trading is halted.',
  noMatch: 'Order could not immediately match against any resting orders.',
  margin: 'Insufficient margin to place order.',
  reduceOnly: 'Reduce only order would increase position.',
  badTrigger: 'Invalid TP/SL price.',
  oiCapped: 'Order would increase open interest while open interest is capped.',
  marginTier: 'Order would cause position to exceed margin tier limit at current leverage.',
  neverPlaced: 'Order was never placed, already canceled, or filled.',
  cannotModify: 'Cannot modify canceled or filled order',
  childNoTrigger: 'Only a take profit and a stop loss can wait for the fill of another order here.',
  childTwice: 'An order has one take profit and one stop loss here.',
  childSize: 'A take profit or stop loss guards all that its order opens here: send the size of that order.',
  childOfClose: 'Nothing was opened that it could guard.',
  unguarded: 'Not placed: what should guard it cannot.',
} as const;

export const withAsset = (text: string, asset: number): string => `${text} asset=${asset}`;

export const REASON_TEXTS: Readonly<Record<OrderReason, string>> = {
  NONE: ITEM_TEXTS.noMatch,
  SLIPPAGE: ITEM_TEXTS.noMatch,
  PRICE_IMPACT: ITEM_TEXTS.noMatch,
  MARKET_CLOSED: ITEM_TEXTS.halted,
  PAUSED: ITEM_TEXTS.halted,
  EXPOSURE_LIMITS: ITEM_TEXTS.oiCapped,
  MAX_LEVERAGE: ITEM_TEXTS.marginTier,
  LIQ_REACHED: ITEM_TEXTS.margin,
  TP_REACHED: ITEM_TEXTS.badTrigger,
  SL_REACHED: ITEM_TEXTS.badTrigger,
  NO_TRADE: ITEM_TEXTS.reduceOnly,
  WRONG_TRADE: ITEM_TEXTS.reduceOnly,
  NOT_HIT: ITEM_TEXTS.noMatch,
  OTHER: 'Order was rejected by the contracts.',
};

/** For a stop loss beyond the contract's cap; `nearest` is null if fees allow no stop loss at all. */
export const beyondCapText = (nearest: string | null): string =>
  `${ITEM_TEXTS.badTrigger} ${
    nearest === null
      ? 'Fees leave no space for a stop loss before liquidation at this leverage.'
      : `At this leverage a stop loss further away than ${nearest} would come after liquidation.`
  }`;

interface RefusalFigures {
  /** `bid@ask`. */
  readonly bbo: string;
  /** The sizes that cover whole trades. */
  readonly sizes: string;
}

export const refusalText = (why: TranslationRefusal, figures: RefusalFigures): string => REFUSALS[why](figures);

const REFUSALS: Readonly<Record<TranslationRefusal, (figures: RefusalFigures) => string>> = {
  'no-match': () => ITEM_TEXTS.noMatch,
  'reduce-only': () => ITEM_TEXTS.reduceOnly,
  'post-only': ({ bbo }) => `Post only order would have immediately matched, bbo was ${bbo}.`,
  'bad-trigger': () => ITEM_TEXTS.badTrigger,
  busy: () => TRADE_BUSY,
  'partial-protection': ({ sizes }) =>
    `A stop loss, a take profit or a resting order against a position must cover whole trades here: the sizes that do are ${sizes}.`,
  'zero-size': () => ITEM_TEXTS.zeroSize,
};

/** Errors of the catalogue in Hyperliquid's words; null for those that concern more than the item. */
export function errorText({ code, message, details }: GatewayError): string | null {
  switch (code) {
    case 'SIZE_BELOW_MINIMUM':
      return minimumText(details);
    case 'MARKET_CLOSED':
      return ITEM_TEXTS.halted;
    case 'NOT_READY':
      return haltText(details);
    case 'MARKET_NOT_FOUND':
      return ITEM_TEXTS.invalidAsset;
    case 'PRECISION_ERROR':
      return (details as ErrorDetails<'PRECISION_ERROR'>).field === 'size' ? ITEM_TEXTS.invalidSize : ITEM_TEXTS.invalidPrice;
    case 'LEVERAGE_OUT_OF_RANGE':
      return ITEM_TEXTS.marginTier;
    case 'POSITION_NOT_FOUND':
      return ITEM_TEXTS.reduceOnly;
    case 'SIMULATION_REVERTED':
      return revertText(details);
    case 'ORDER_NOT_MODIFIABLE':
    case 'UNSUPPORTED':
    case 'VALIDATION_ERROR':
      return message;
    default:
      return null;
  }
}

/** Only closing goes on: that concerns the item, and not the whole service. */
const haltText = ({ concerns, reason }: ErrorDetails<'NOT_READY'>): string | null => (concerns === 'openings' ? haltedText(reason) : null);

export const haltedText = (reason: string): string => `${ITEM_TEXTS.halted} Nothing is opened now: ${reason}.`;

/** Clients compare the first sentence; the actual minimum here depends on the leverage. */
const minimumText = ({ minCollateralUsd, minNotionalUsd, leverage }: ErrorDetails<'SIZE_BELOW_MINIMUM'>): string =>
  minNotionalUsd === undefined || leverage === undefined
    ? `Order must have minimum value of $10. The least collateral here is ${minCollateralUsd} USD.`
    : `Order must have minimum value of $10. At ${leverage}x the minimum here is $${minNotionalUsd}.`;

/** The contract's errors that have a counterpart on Hyperliquid. */
const REVERTS: Readonly<Record<string, string>> = {
  InsufficientCollateral: 'Order must have minimum value of $10.',
  InsufficientBalance: ITEM_TEXTS.margin,
  InsufficientAllowance: ITEM_TEXTS.margin,
  ERC20InsufficientBalance: ITEM_TEXTS.margin,
  ERC20InsufficientAllowance: ITEM_TEXTS.margin,
  WrongLeverage: ITEM_TEXTS.marginTier,
  PriceImpactTooHigh: ITEM_TEXTS.noMatch,
  TradeTpInvalid: ITEM_TEXTS.badTrigger,
  TradeSlInvalid: ITEM_TEXTS.badTrigger,
  Paused: ITEM_TEXTS.halted,
  DoesntExist: ITEM_TEXTS.reduceOnly,
  NoTrade: ITEM_TEXTS.reduceOnly,
};

const isReason = (name: string): name is OrderReason => Object.hasOwn(REASON_TEXTS, name);

function revertText({ errorName, funds, approvalTx }: ErrorDetails<'SIMULATION_REVERTED'>): string {
  if (funds !== undefined) return `${ITEM_TEXTS.margin} ${shortageText(funds, approvalTx !== undefined)}`;
  return isReason(errorName) ? REASON_TEXTS[errorName] : (REVERTS[errorName] ?? `The contracts would refuse it: ${errorName}.`);
}

/** Margin is not deposited here: it is taken from the trader's wallet, as far as the trader lets the contracts take it. */
const shortageText = ({ collateral, required, balance, allowance }: WalletFigures, needsApproval: boolean): string =>
  needsApproval
    ? `The order takes ${required} ${collateral} from the trader's wallet, which lets the contracts take ${allowance}: let the trader approve more; GET /v1/{chain}/readiness/{address} has the transaction.`
    : `The order takes ${required} ${collateral} from the trader's wallet, which holds ${balance}: send ${collateral} to it, or order less.`;

/** USD of 1e18 to the cent, rounded away from zero, so that a limit exceeded slightly does not look met. */
const usd = (amount: bigint): string => `$${formatDecimal(round(decimal(amount, 18), 2, 'up'))}`;
const time = (at: number): string => new Date(at).toISOString();

const WAY_OUT = 'Cancels and reduce-only orders are still taken.';

/** Why the operator's rules refuse an opening. Hyperliquid's own text comes first, as clients compare the beginnings. */
export function guardText(refusal: GuardRefusal): string {
  switch (refusal.rule) {
    case 'blocked':
      return `Trading is halted for this user by the operator. ${WAY_OUT}`;
    case 'reduce-only':
      return `Only reduce-only orders allowed for this user, set by the operator. ${WAY_OUT}`;
    case 'daily-loss':
      return `Trading is halted until ${time(refusal.freesAt)}: realized loss today ${usd(refusal.lossUsd)}, daily limit ${usd(refusal.boundUsd)}. ${WAY_OUT}`;
    case 'open-notional':
      return `Order would increase open interest while open interest is capped. Open notional ${usd(refusal.openUsd)}, this order ${usd(refusal.askedUsd)}, limit ${usd(refusal.boundUsd)}.`;
    case 'orders-per-minute':
      return `Too many cumulative requests sent (${refusal.used + 1} > ${refusal.bound}) in the last minute. The next order can be sent at ${time(refusal.freesAt)}. ${WAY_OUT}`;
    case 'daily-transactions':
      return `Too many cumulative requests sent (${refusal.used + 1} > ${refusal.bound}) for the daily quota of transactions, which resets at ${time(refusal.freesAt)}. ${WAY_OUT}`;
  }
}
