/** Reasons that are published to clients by name. */
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

/** In the order of the contract's enum; a higher number is a future reason. */
export const CANCEL_REASONS = [...NAMED_REASONS, 'COUNTER_TRADE_CANCELED'] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

/** Rules are evaluated in the contract's order and lazily, because a later one may be valid only if the earlier ones hold. */
export function firstReason(rules: readonly (readonly [CancelReason, () => boolean])[]): CancelReason {
  return rules.find(([, applies]) => applies())?.[0] ?? 'NONE';
}
