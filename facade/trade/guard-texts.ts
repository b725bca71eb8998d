import { decimal, formatDecimal, round } from '../../core/domain/decimal.js';
import type { GuardRefusal } from '../../core/domain/relay/guardrails.js';

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
