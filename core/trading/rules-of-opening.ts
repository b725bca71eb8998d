import type { Translation } from '../domain/relay/exchange-order.js';
import type { AgentCaller } from '../access/caller.js';
import { guardRefusal, type GuardRefusal } from '../domain/relay/guardrails.js';
import { collateralToUsd, positionSizeCollateral } from '../domain/pricing/size.js';
import type { Gateway, Venue } from '../gateway.js';
import type { OpenTerms } from '../domain/intent.js';
import type { Order } from '../domain/order.js';
import type { Address } from '../types.js';
import { givenRules } from '../config/rules.js';
import { alertQuota } from '../observability/alerts/raise.js';
import type { GuardQuestion, OpeningGuard } from '../ports/stores/rules.js';

/** Input to check an opening against the operator's rules. `instead` is the slot of a resting order it replaces. */
export function guardQuestion({ facade }: Pick<Gateway, 'facade'>, venue: Venue, trader: Address, instead: number | null): GuardQuestion {
  return {
    given: givenRules(facade.rules, trader),
    collaterals: new Map(venue.feed.config().collaterals.map((collateral) => [collateral.index, collateral])),
    instead: instead === null ? null : `resting:${instead}`,
    now: venue.clock.now(),
  };
}

export function openingGuard(gateway: Gateway, venue: Venue, trader: Address, terms: OpenTerms, instead: number | null): OpeningGuard {
  const question = guardQuestion(gateway, venue, trader, instead);
  return { ...question, notionalUsd: notionalOf(question, terms), freedUsd: 0n };
}

const notionalOf = (question: GuardQuestion, terms: OpenTerms): bigint =>
  sizeUsd(question, { ...terms, sizeCollateral: positionSizeCollateral(terms) });

export function sizeUsd(
  { collaterals }: GuardQuestion,
  { collateralIndex, sizeCollateral }: Pick<Order, 'collateralIndex' | 'sizeCollateral'>,
): bigint {
  const collateral = collaterals.get(collateralIndex);
  return collateral ? collateralToUsd(sizeCollateral, collateral) : 0n;
}

/** An early check, before a resting order is cancelled for an opening that would be refused; the check at storing is decisive. */
export async function foreseeRefusal(
  gateway: Gateway,
  venue: Venue,
  { trader }: AgentCaller,
  { translation }: { readonly translation: Translation },
  instead: number | null,
): Promise<GuardRefusal | null> {
  const opens = translation.kind === 'legs' ? translation.legs.flatMap(({ intent }) => (intent.kind === 'open' ? [intent] : [])) : [];
  if (opens.length === 0) return null;
  const question = guardQuestion(gateway, venue, trader, instead);
  const { rules, facts, insteadUsd } = await gateway.store.rules.rulesWithFacts(venue.definition.slug, trader, question, 'needed');
  const notionalUsd = opens.reduce((total, terms) => total + notionalOf(question, terms), 0n);
  const refusal = guardRefusal(rules, facts, { notionalUsd, insteadUsd, freedUsd: 0n });
  if (refusal?.rule === 'daily-transactions') await alertQuota(gateway.alerts, venue.definition, trader, refusal);
  return refusal;
}
