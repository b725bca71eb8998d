import { decimal, formatDecimal, round } from '../domain/decimal.js';
import { nextDay, type RelayRules } from '../domain/relay/guardrails.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { ANY, givenRules, type RuleSet, type StoredRules } from '../config/rules.js';
import { guardQuestion } from './rules-of-opening.js';
import type { RulesWithFacts } from '../ports/stores/rules.js';

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
