import type { Knex } from 'knex';
import {
  accessRefusal,
  dayStart,
  guardRefusal,
  minuteAgo,
  type RelayRules,
  GuardrailError,
  mergeRules,
  readRules,
  type GivenRules,
} from '../../domain/relay/guardrails.js';
import type { RuleSet, StoredRules } from '../../config/rules.js';
import type { GuardQuestion, OpeningGuard, RulesStore, RulesWithFacts } from '../../ports/stores/rules.js';
import { LOCKS_NOTHING, type StatementBatcher } from './statement-batcher.js';
import { askAll, plannedAnew, statement, type AskWithin, type Statement } from './statement.js';
import type { ChainSlug } from '../../chains/chains.js';
import { collateralToUsd } from '../../domain/pricing/size.js';
import type { Address } from '../../types.js';

interface RulesRow extends Omit<StoredRules, 'rules' | 'updatedAt'> {
  readonly rules: string;
  readonly updated_at: bigint;
}

/** At most four rows, by key; `mergeRules` decides which wins. */
export const RULES_OF = `(
  select jsonb_agg(jsonb_build_object('chain', chain, 'trader', trader, 'rules', rules))::text
  from relay_rules where chain in ('*', cast(:chain as text)) and trader in ('*', cast(:trader as text))) as rules`;

const RULES = statement(`select ${RULES_OF}`);

export function createRulesStore({ db, batcher }: { readonly db: Knex; readonly batcher: StatementBatcher }): RulesStore {
  const rows = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as never)).rows;

  const rulesOf = async ({ chain, trader }: TraderOnChain, given: GivenRules): Promise<RelayRules> => {
    const [row] = await batcher.ask<{ rules: string | null }>(RULES, { chain, trader }, LOCKS_NOTHING);
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
      const read: AskWithin = (...questions) => askAll(db, questions);
      return countFacts(read, { chain, trader }, question, { rules, counted: wanted === 'all' ? COUNTED_RULES : neededFor(rules) });
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
      const [row] = await batcher.ask<{ transactions: number }>(SENT_BEFORE, { chain, trader, id, day: since }, LOCKS_NOTHING);
      return { rules, transactions: row?.transactions ?? 0, holds: true };
    },
  };
}

/**
 * Throws inside the transaction that would store the order, which rolls it back. The trader is locked, so the figures hold until the order
 * is stored. `column` is the result of `RULES_OF`; without a limit nothing is read.
 */
export async function guardOpening(read: AskWithin, owner: TraderOnChain, guard: OpeningGuard, column: string | null): Promise<void> {
  const rules = readRulesOf(column, guard.given, owner);
  const found = accessRefusal(rules);
  if (found !== null) throw new GuardrailError(found);
  const { facts, insteadUsd } = await countFacts(read, owner, guard, { rules, counted: neededFor(rules) });
  const refusal = guardRefusal(rules, facts, { ...guard, insteadUsd });
  if (refusal !== null) throw new GuardrailError(refusal);
}

/** Whether the opening needs no check as long as the database has no rule for the trader. */
export function isUnbound({ given }: OpeningGuard, owner: TraderOnChain): boolean {
  const rules = readRulesOf(null, given, owner);
  return accessRefusal(rules) === null && neededFor(rules).length === 0;
}

interface TraderOnChain {
  readonly chain: ChainSlug;
  readonly trader: Address;
}

/** Parses the column `RULES_OF`; null where nothing is set. */
const readRulesOf = (column: string | null, given: GivenRules, owner: TraderOnChain): RelayRules =>
  readRules(mergeRules(given, JSON.parse(column ?? '[]') as Pick<StoredRules, 'chain' | 'trader' | 'rules'>[], owner));

const neededFor = (rules: RelayRules): readonly CountedRule[] => COUNTED_RULES.filter((rule) => rules[rule] !== null);

interface FactsRow {
  readonly open?: string;
  readonly instead?: string;
  readonly pnl?: string;
  readonly minute?: string;
  readonly transactions?: number;
}

/** One statement, or none where no figure is needed; in the transaction that stores the order, if there is one. */
async function countFacts(
  read: AskWithin,
  { chain, trader }: TraderOnChain,
  { instead, now, collaterals }: GuardQuestion,
  { rules, counted }: { readonly rules: RelayRules; readonly counted: readonly CountedRule[] },
): Promise<RulesWithFacts> {
  const values = { chain, trader, instead, minute: minuteAgo(now), day: dayStart(now), most: rules.ordersPerMinute };
  const [found] = counted.length === 0 ? [] : await read<FactsRow>({ asked: countFor(counted), values });
  const { open, instead: replaced, pnl, minute = '[]', transactions = 0 } = found ?? {};
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

const DAY_MS = 86_400_000;

const units = (column: string, field: string): string => `coalesce((${column} -> '${field}' ->> '$n')::numeric, 0)`;
const byCollateral = (parts: string): string => `(
  select coalesce(jsonb_object_agg(collateral, total::text), '{}')::text
  from (select collateral, trunc(sum(amount)) as total from (${parts}) as parts group by collateral) as sums)`;

const OPEN = byCollateral(`
  select (state ->> 'collateralIndex')::integer as collateral, ${units('state', 'collateralAmount')} * ${units('state', 'leverage')} / 1000 as amount
  from positions where chain = :chain and trader = :trader and is_open and state is not null
  union all
  select (state ->> 'collateralIndex')::integer, ${units('state', 'sizeCollateral')}
  from orders where chain = :chain and trader = :trader and is_live and state ->> 'action' in ('open', 'increase')
    and (cast(:instead as text) is null or order_key is distinct from cast(:instead as text))`);

const INSTEAD = byCollateral(`
  select (state ->> 'collateralIndex')::integer as collateral, ${units('state', 'sizeCollateral')} as amount
  from orders where chain = :chain and trader = :trader and is_live and order_key = cast(:instead as text)`);

/**
 * The PnL of a close includes all fees of its trade, that of the opening too; profit withdrawn before lowers it. The range ends a day late
 * for clocks that are ahead: without an end the planner expects a third of all rows and scans them.
 */
const OF_DAY = `((event -> 'place' ->> 'at')::bigint) between cast(:day as bigint) and cast(:day as bigint) + ${2 * DAY_MS}`;
const REALIZED = `select (event -> 'terms' ->> 'collateralIndex')::integer as collateral, ${units('event', 'netPnl')} as amount from chain_events`;
const PNL = byCollateral(`
  ${REALIZED} where chain = :chain and trader = :trader and is_fill and not orphaned and ${OF_DAY}
  union all
  ${REALIZED} where chain = :chain and trader = :trader and kind = 'executed' and event ->> 'action' = 'withdraw' and not orphaned and ${OF_DAY}`);

/** Newest first, at most as many as the limit. */
const MINUTE = `(
  select coalesce(jsonb_agg(at), '[]')::text from (
    select (state ->> 'createdAt')::bigint as at from orders
    where chain = :chain and trader = :trader and agent is not null and state ->> 'action' = 'open'
      and (state ->> 'createdAt')::bigint > :minute
    order by (state ->> 'createdAt')::bigint desc limit cast(:most as integer)) as newest)`;

/** Weight of a reverted transaction in the daily quota: it costs the relayer as much as any other, and its trader nothing. */
const REVERTED_COUNTS = 10;

/** Refused jobs cost nothing. The range has an end for the same reason as above. */
const SENT = `
  select coalesce(sum(case when state = 'reverted' then ${REVERTED_COUNTS} else 1 end), 0)::integer from relay_jobs
  where chain = :chain and trader = :trader and state <> 'refused'
    and created_at between cast(:day as bigint) and cast(:day as bigint) + ${2 * DAY_MS}`;

/** An order with several legs is stored before its job; until then it is counted here. */
const UNQUEUED = `
  select count(*)::integer from orders
  where chain = :chain and trader = :trader and is_live and status = 'prepared' and not is_sent and agent is not null
    and not exists (select from relay_jobs job where job.chain = orders.chain and job.order_id = orders.id)`;

/** Figures by the rule that needs them. */
const COLUMNS = {
  maxOpenNotionalUsd: `${OPEN} as open, ${INSTEAD} as instead`,
  maxDailyLossUsd: `${PNL} as pnl`,
  ordersPerMinute: `${MINUTE} as minute`,
  dailyTransactions: `(${SENT}) + (${UNQUEUED}) as transactions`,
} as const;

type CountedRule = keyof typeof COLUMNS;
const COUNTED_RULES = Object.keys(COLUMNS) as readonly CountedRule[];

const counts = new Map<string, Statement>();

/** Selects only figures that a rule needs. */
export function countFor(rules: readonly CountedRule[]): Statement {
  const columns = rules.map((rule) => COLUMNS[rule]).join(', ');
  const made = counts.get(columns) ?? plannedAnew(`select ${columns}`);
  counts.set(columns, made);
  return made;
}

export const SENT_BEFORE = statement(`select (${SENT} and id < :id) as transactions`);

/** Whether a trader has anything the relayer opened: a live order, or a position opened by one. */
const HOLDS_RELAYED = `
  exists (
    select from orders join exchange_legs leg on leg.chain = orders.chain and leg.order_id = orders.id
    where orders.chain = cast(:chain as text) and orders.trader = cast(:trader as text) and orders.is_live)
  or exists (
    select from positions
      join chain_events event on event.chain = positions.chain and event.trader = positions.trader
        and event.trade_index = positions.trade_index and not event.orphaned
      join exchange_legs leg on leg.chain = event.chain and leg.order_id = event.order_id and leg.role = 'open'
    where positions.chain = cast(:chain as text) and positions.trader = cast(:trader as text) and positions.is_open)`;

const HOLDS = `select (${HOLDS_RELAYED}) as holds`;

/** For a trader that may not trade: the day's transactions without openings, which date from before it was blocked. */
const EXITS_BEFORE = `
  select (${HOLDS_RELAYED}) as holds, (
    select coalesce(sum(case when job.state = 'reverted' then ${REVERTED_COUNTS} else 1 end), 0)::integer
    from relay_jobs job left join orders asked on asked.chain = job.chain and asked.id = job.order_id
    where job.chain = cast(:chain as text) and job.trader = cast(:trader as text) and job.created_at >= :day and job.state <> 'refused'
      and job.purpose = 'action' and job.id < :id and asked.state ->> 'action' is distinct from 'open') as transactions`;

const PUT_RULES = `
  insert into relay_rules (chain, trader, rules, updated_at) values (:chain, :trader, :rules::jsonb, :updatedAt)
  on conflict (chain, trader) do update set rules = excluded.rules, updated_at = excluded.updated_at`;
