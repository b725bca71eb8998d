/** Reasons that clients are told by name. */
export const NAMED_REASONS = [
  'NONE',
  'PAUSED',
  'MARKET_CLOSED',
  'SLIPPAGE',
  'TP_REACHED',
  'SL_REACHED',
  'EXPOSURE_LIMITS',
  'PRICE_IMPACT',
  'MAX_LEVERAGE',
  'NO_TRADE',
  'WRONG_TRADE',
  'NOT_HIT',
  'LIQ_REACHED',
] as const;

/** In the order of the contract's enum; a number beyond it is a reason of the future. */
export const CANCEL_REASONS = [...NAMED_REASONS, 'COUNTER_TRADE_CANCELED'] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

/** Rules are tried in the contract's order, and lazily: a later one may only make sense when the earlier ones hold. */
export function firstReason(rules: readonly (readonly [CancelReason, () => boolean])[]): CancelReason {
  return rules.find(([, applies]) => applies())?.[0] ?? 'NONE';
}
