import { guardRefusal } from '../../domain/relay/guardrails.js';
import { GuardrailError } from '../../relay/rules.js';
import type { OpeningGuard } from '../../relay/rules-store.js';
import { readStanding, type GuardRow } from './rules-store.js';

/** Throws inside the transaction that would store the order, which undoes it. */
export function guardOpening(guard: OpeningGuard, row: GuardRow): void {
  const { rules, facts, insteadUsd } = readStanding(row, guard);
  const refusal = guardRefusal(rules, facts, { ...guard, insteadUsd });
  if (refusal !== null) throw new GuardrailError(refusal);
}
