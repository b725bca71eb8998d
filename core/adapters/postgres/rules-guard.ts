import type { Knex } from 'knex';
import { guardRefusal, standingRefusal } from '../../domain/relay/guardrails.js';
import { GuardrailError } from '../../config/rules.js';
import type { OpeningGuard } from '../../ports/stores/rules.js';
import { countFacts, neededFor, readRulesOf, type TraderOnChain } from './rules-facts.js';

/**
 * Throws inside the transaction that would store the order, which rolls it back. The trader is locked, so the figures hold until the order
 * is stored. `column` is the result of `RULES_OF`; without a limit nothing is read.
 */
export async function guardOpening(trx: Knex.Transaction, whose: TraderOnChain, guard: OpeningGuard, column: string | null): Promise<void> {
  const rules = readRulesOf(column, guard.given, whose);
  const standing = standingRefusal(rules);
  if (standing !== null) throw new GuardrailError(standing);
  const { facts, insteadUsd } = await countFacts(trx, whose, guard, { rules, counted: neededFor(rules) });
  const refusal = guardRefusal(rules, facts, { ...guard, insteadUsd });
  if (refusal !== null) throw new GuardrailError(refusal);
}

/** Whether the opening needs no check as long as the database has no rule for the trader. */
export function isUnbound({ given }: OpeningGuard, whose: TraderOnChain): boolean {
  const rules = readRulesOf(null, given, whose);
  return standingRefusal(rules) === null && neededFor(rules).length === 0;
}
