import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import { dayStart, minuteAgo, type RelayRules } from '../../domain/relay/guardrails.js';
import { collateralToUsd } from '../../domain/pricing/size.js';
import type { Address } from '../../types.js';
import { mergeRules, readRules, type GivenRules, type StoredRules } from '../../config/rules.js';
import type { GuardQuestion, RulesWithFacts } from '../../ports/stores/rules.js';
import { COUNTED_RULES, countFor, type CountedRule } from './rules-sql.js';

export interface TraderOnChain {
  readonly chain: ChainSlug;
  readonly trader: Address;
}

/** Parses the column `RULES_OF`; null where nothing is set. */
export const readRulesOf = (column: string | null, given: GivenRules, owner: TraderOnChain): RelayRules =>
  readRules(mergeRules(given, JSON.parse(column ?? '[]') as Pick<StoredRules, 'chain' | 'trader' | 'rules'>[], owner));

export const neededFor = (rules: RelayRules): readonly CountedRule[] => COUNTED_RULES.filter((rule) => rules[rule] !== null);

interface FactsRow {
  readonly open?: string;
  readonly instead?: string;
  readonly pnl?: string;
  readonly minute?: string;
  readonly transactions?: number;
}

/** One statement, or none where no figure is needed. `db` may be the transaction that stores the order. */
export async function countFacts(
  db: Knex,
  { chain, trader }: TraderOnChain,
  { instead, now, collaterals }: GuardQuestion,
  { rules, counted }: { readonly rules: RelayRules; readonly counted: readonly CountedRule[] },
): Promise<RulesWithFacts> {
  const values = { chain, trader, instead, minute: minuteAgo(now), day: dayStart(now), most: rules.ordersPerMinute };
  const found = counted.length === 0 ? null : await db.raw<{ rows: [FactsRow] }>(countFor(counted), values as never);
  const { open, instead: replaced, pnl, minute = '[]', transactions = 0 } = found?.rows[0] ?? {};
  const facts = {
    now,
    openNotionalUsd: usd(open, collaterals),
    dayPnlUsd: usd(pnl, collaterals),
    minute: JSON.parse(minute) as number[],
    dayTransactions: transactions,
  };
  return { rules, facts, insteadUsd: usd(replaced, collaterals) };
}

/** Tokens by collateral → 1e18 USD. An unknown collateral counts as zero. */
function usd(sums: string | undefined, collaterals: GuardQuestion['collaterals']): bigint {
  const parts = Object.entries(JSON.parse(sums ?? '{}') as Record<string, string>);
  return parts.reduce((total, [index, amount]) => {
    const collateral = collaterals.get(Number(index));
    return collateral ? total + collateralToUsd(BigInt(amount), collateral) : total;
  }, 0n);
}
