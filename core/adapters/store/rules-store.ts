import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import { dayStart, minuteAgo } from '../../domain/relay/guardrails.js';
import { collateralToUsd } from '../../domain/pricing/size.js';
import type { Address } from '../../ports.js';
import { readRules, type GivenRules, type RuleSet, type StoredRules } from '../../relay/rules.js';
import type { GuardQuestion, RulesStore, Standing } from '../../relay/rules-store.js';
import { BEFORE_JOB, PUT_RULES, STANDING } from './rules-sql.js';

/** What `GUARD_COLUMNS` bring; null for what no rule asks for. */
export interface GuardRow {
  readonly rules: string;
  readonly open: string | null;
  readonly instead: string | null;
  readonly pnl: string | null;
  readonly minute: string | null;
  readonly transactions: number | null;
}

const given = ({ defaults, own }: GivenRules) => ({ defaults: JSON.stringify(defaults), own: JSON.stringify(own) });

/** What `GUARD_COLUMNS` ask with, beside `chain` and `trader`. */
export const guardValues = ({ given: rules, instead, now }: GuardQuestion, all: boolean) => ({
  ...given(rules),
  instead,
  minute: minuteAgo(now),
  day: dayStart(now),
  all,
});

export const readStanding = (row: GuardRow, { collaterals, now }: Pick<GuardQuestion, 'collaterals' | 'now'>): Standing => ({
  rules: readRules(JSON.parse(row.rules) as RuleSet),
  facts: {
    now,
    openNotionalUsd: usd(row.open, collaterals),
    dayPnlUsd: usd(row.pnl, collaterals),
    minute: JSON.parse(row.minute ?? '[]') as number[],
    dayTransactions: row.transactions ?? 0,
  },
  insteadUsd: usd(row.instead, collaterals),
});

/** Tokens by collateral → 1e18 USD. A collateral that nobody knows any more is worth nothing. */
function usd(sums: string | null, collaterals: GuardQuestion['collaterals']): bigint {
  const parts = Object.entries(JSON.parse(sums ?? '{}') as Record<string, string>);
  return parts.reduce((total, [index, amount]) => {
    const collateral = collaterals.get(Number(index));
    return collateral ? total + collateralToUsd(BigInt(amount), collateral) : total;
  }, 0n);
}

interface RulesRow extends Omit<StoredRules, 'rules' | 'updatedAt'> {
  readonly rules: string;
  readonly updated_at: bigint;
}

export function createRulesStore(db: Knex): RulesStore {
  const rows = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as never)).rows;

  return {
    async list() {
      const found = await rows<RulesRow>('select chain, trader, rules::text, updated_at from relay_rules order by chain, trader', {});
      return found.map(({ rules, updated_at, ...row }) => ({
        ...row,
        rules: JSON.parse(rules) as RuleSet,
        updatedAt: Number(updated_at),
      }));
    },
    async put({ rules, ...row }) {
      await rows(PUT_RULES, { ...row, rules: JSON.stringify(rules) });
    },
    remove: async (chain, trader) =>
      (await rows('delete from relay_rules where chain = :chain and trader = :trader returning 1', { chain, trader })).length > 0,
    async standing(chain: ChainSlug, trader: Address, question, wanted) {
      const [row] = await rows<GuardRow>(STANDING, { chain, trader, ...guardValues(question, wanted === 'all') });
      if (!row) throw new Error('A statement without conditions found nothing.');
      return readStanding(row, question);
    },
    async before({ chain, trader, id, given: rules, since }) {
      const values = { chain, trader, id, day: since, ...given(rules) };
      const [row] = await rows<{ rules: string; transactions: number | null }>(BEFORE_JOB, values);
      if (!row) throw new Error('A statement without conditions found nothing.');
      return { rules: readRules(JSON.parse(row.rules) as RuleSet), transactions: row.transactions ?? 0 };
    },
  };
}
