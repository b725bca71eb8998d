import type { Translation } from '../domain/relay/exchange-order.js';
import type { AgentCaller } from '../access/caller.js';
import { guardRefusal, nextDay, type GuardRefusal, type RelayRules, ANY, givenRules } from '../domain/relay/guardrails.js';
import { collateralToUsd, positionSizeCollateral } from '../domain/pricing/size.js';
import type { Gateway, Venue } from '../gateway.js';
import type { OpenTerms } from '../domain/intent.js';
import type { Order } from '../domain/order.js';
import type { Address } from '../types.js';
import type { RuleSet, StoredRules } from '../config/rules.js';
import { alertQuota } from '../observability/alerts/raise.js';
import type { GuardQuestion, OpeningGuard, RulesWithFacts } from '../ports/stores/rules.js';
import { decimal, formatDecimal, round } from '../domain/decimal.js';

/** Input to check an opening against the operator's rules. `instead` is the slot of a resting order it replaces. */
function guardQuestion({ facade }: Pick<Gateway, 'facade'>, venue: Venue, trader: Address, instead: number | null): GuardQuestion {
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

/** The rules that apply to a trader, and how much of each limit is used. */
export const rulesWithFacts = (gateway: Gateway, venue: Venue, trader: Address): Promise<RulesWithFacts> =>
  gateway.store.rules.rulesWithFacts(venue.definition.slug, trader, guardQuestion(gateway, venue, trader, null), 'all');

/** The same in the format of the operator API. */
export async function describeRules(gateway: Gateway, venue: Venue, trader: Address) {
  const [{ rules, facts }, stored] = await Promise.all([rulesWithFacts(gateway, venue, trader), gateway.store.rules.list()]);
  return {
    chain: venue.definition.slug,
    trader,
    rules: showRules(rules),
    from: sourcesOf(stored, gateway, venue, trader),
    use: {
      openNotionalUsd: usd(facts.openNotionalUsd),
      realizedPnlUsd: usd(facts.dayPnlUsd),
      ordersInLastMinute: facts.minute.length,
      transactions: facts.dayTransactions,
      transactionsLeft: rules.dailyTransactions === null ? null : Math.max(0, rules.dailyTransactions - facts.dayTransactions),
      dayEndsAt: nextDay(facts.now),
    },
  };
}

const usd = (amount: bigint): string => formatDecimal(round(decimal(amount, 18), 6, 'half-up'));
const bound = (amount: bigint | null): string | null => (amount === null ? null : formatDecimal(decimal(amount, 18)));

const showRules = (rules: RelayRules): Required<RuleSet> => ({
  ...rules,
  maxOpenNotionalUsd: bound(rules.maxOpenNotionalUsd),
  maxDailyLossUsd: bound(rules.maxDailyLossUsd),
});

const FIELDS = ['access', 'reduceOnly', 'maxOpenNotionalUsd', 'maxDailyLossUsd', 'ordersPerMinute', 'dailyTransactions'] as const;

/** The source of each rule: `chain/trader`, or the settings. */
function sourcesOf(stored: readonly StoredRules[], { facade }: Gateway, { definition }: Venue, trader: Address) {
  const { defaults, own } = givenRules(facade.rules, trader);
  const row = (chain: string, of: string) => stored.find((each) => each.chain === chain && each.trader === of)?.rules ?? {};
  const narrowFirst: readonly (readonly [string, RuleSet])[] = [
    [`${definition.slug}/${trader}`, row(definition.slug, trader)],
    [`all/${trader}`, row(ANY, trader)],
    ['settings', own],
    [`${definition.slug}/default`, row(definition.slug, ANY)],
    ['all/default', row(ANY, ANY)],
    ['settings', defaults],
  ];
  return Object.fromEntries(FIELDS.map((field) => [field, narrowFirst.find(([, set]) => field in set)?.[0] ?? 'settings']));
}
