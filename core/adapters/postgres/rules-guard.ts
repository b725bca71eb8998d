import type { Knex } from 'knex';
import { guardRefusal, accessRefusal } from '../../domain/relay/guardrails.js';
import { GuardrailError } from '../../config/rules.js';
import type { OpeningGuard } from '../../ports/stores/rules.js';
import { countFacts, neededFor, readRulesOf, type TraderOnChain } from './rules-facts.js';

/**
 * Throws inside the transaction that would store the order, which rolls it back. The trader is locked, so the figures hold until the order
 * is stored. `column` is the result of `RULES_OF`; without a limit nothing is read.
 */
export async function guardOpening(trx: Knex.Transaction, owner: TraderOnChain, guard: OpeningGuard, column: string | null): Promise<void> {
  const rules = readRulesOf(column, guard.given, owner);
  const found = accessRefusal(rules);
  if (found !== null) throw new GuardrailError(found);
  const { facts, insteadUsd } = await countFacts(trx, owner, guard, { rules, counted: neededFor(rules) });
  const refusal = guardRefusal(rules, facts, { ...guard, insteadUsd });
  if (refusal !== null) throw new GuardrailError(refusal);
}

/** Whether the opening needs no check as long as the database has no rule for the trader. */
export function isUnbound({ given }: OpeningGuard, owner: TraderOnChain): boolean {
  const rules = readRulesOf(null, given, owner);
  return accessRefusal(rules) === null && neededFor(rules).length === 0;
}
