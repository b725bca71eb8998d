import type { Knex } from 'knex';
import type { RelayRules } from '../../domain/relay/guardrails.js';
import type { GivenRules, RuleSet, StoredRules } from '../../config/rules.js';
import type { RulesStore } from '../../ports/stores/rules.js';
import { countFacts, neededFor, readRulesOf, type TraderOnChain } from './rules-facts.js';
import { COUNTED_RULES, EXITS_BEFORE, HOLDS, PUT_RULES, RULES_OF, SENT_BEFORE } from './rules-sql.js';
import { LOCKS_NOTHING, type StatementBatcher } from './statement-batcher.js';
import { statement } from './statement.js';

interface RulesRow extends Omit<StoredRules, 'rules' | 'updatedAt'> {
  readonly rules: string;
  readonly updated_at: bigint;
}

const RULES = statement(`select ${RULES_OF}`);

export function createRulesStore({ db, trips }: { readonly db: Knex; readonly trips: StatementBatcher }): RulesStore {
  const rows = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as never)).rows;

  const rulesOf = async ({ chain, trader }: TraderOnChain, given: GivenRules): Promise<RelayRules> => {
    const [row] = await trips.ask<{ rules: string | null }>(RULES, { chain, trader }, LOCKS_NOTHING);
    return readRulesOf(row?.rules ?? null, given, { chain, trader });
  };

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
    async rulesWithFacts(chain, trader, question, wanted) {
      const rules = await rulesOf({ chain, trader }, question.given);
      return countFacts(db, { chain, trader }, question, { rules, counted: wanted === 'all' ? COUNTED_RULES : neededFor(rules) });
    },
    async accessOf(chain, trader, given) {
      const { access } = await rulesOf({ chain, trader }, given);
      if (access === 'allowed') return 'may-trade';
      const [row] = await rows<{ holds: boolean }>(HOLDS, { chain, trader });
      return row?.holds ? 'may-exit' : 'may-not';
    },
    async before({ chain, trader, id, given, since }) {
      const rules = await rulesOf({ chain, trader }, given);
      if (rules.access === 'blocked') {
        const [found] = await rows<{ holds: boolean; transactions: number }>(EXITS_BEFORE, { chain, trader, id, day: since });
        return { rules, transactions: found?.transactions ?? 0, holds: found?.holds ?? false };
      }
      if (rules.dailyTransactions === null) return { rules, transactions: 0, holds: true };
      const [row] = await rows<{ transactions: number }>(SENT_BEFORE, { chain, trader, id, day: since });
      return { rules, transactions: row?.transactions ?? 0, holds: true };
    },
  };
}
