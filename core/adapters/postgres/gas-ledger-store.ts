import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import { DAY_MS, dayOf, HOUR_MS, type CostGroup, type Earned, type EarningsQuery, type GasLedger } from '../../ports/stores/gas.js';
import { laneName, leaseHolder } from './lease-keeper.js';
import type { RelayState } from '../../ports/stores/relay.js';

interface SumRow {
  key: string | null;
  transactions: bigint;
  cost: string;
  groups: bigint;
  all_transactions: bigint;
  all_cost: string;
}

interface EarnedRow {
  volume: string;
  gns: string;
  usd: string;
}

const earnedOf = (row: EarnedRow | undefined): Earned => ({
  volumeUsd: BigInt(row?.volume ?? 0),
  gns: BigInt(row?.gns ?? 0),
  usd: BigInt(row?.usd ?? 0),
});

/** Every query reads a time range of an index, or daily sums; none reads all history. */
export function createGasLedger(db: Knex): GasLedger {
  const rows = async <Row>(sql: string, values: Record<string, unknown> = {}): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as never)).rows;

  return {
    async burn(chain, wallet, now) {
      const weekAgo = now - 7 * DAY_MS;
      const values = { chain, wallet, weekAgo, dayAgo: now - DAY_MS, firstDay: dayOf(weekAgo), firstEnd: (dayOf(weekAgo) + 1) * DAY_MS };
      const [row] = await rows<{ day: string; week: string }>(BURN, values);
      return { dayWei: BigInt(row?.day ?? 0), weekWei: BigInt(row?.week ?? 0) };
    },
    async burnSteps({ chain, wallet, step, from }) {
      const sql = step === 'hour' ? BURN_HOURS : BURN_DAYS;
      const found = await rows<{ at: bigint; transactions: bigint; cost: string }>(sql, { chain, wallet, from });
      return found.map((row) => ({ at: Number(row.at), transactions: Number(row.transactions), costWei: BigInt(row.cost) }));
    },
    async spentToday(chain, wallet, now) {
      const [row] = await rows<{ spent: string; highest: string | null }>(SPENT_TODAY, { chain, wallet, day: dayOf(now) });
      return { spentWei: BigInt(row?.spent ?? 0), highestBalanceWei: row?.highest == null ? null : BigInt(row.highest) };
    },
    async recordBalance(chain, wallet, { at, balanceWei }) {
      await rows(RECORD_BALANCE, { chain, wallet, hour: Math.floor(at / HOUR_MS), at, balance: balanceWei.toString() });
    },
    async balances(chain, wallet, from) {
      const found = await rows<{ at: bigint; balance: string }>(BALANCES, { chain, wallet, hour: Math.floor(from / HOUR_MS), from });
      return found.map(({ at, balance }) => ({ at: Number(at), balanceWei: BigInt(balance) }));
    },
    async costs({ chain, by, from, to, limit }) {
      const found = await rows<SumRow>(costsSql(by), { chain, from, to, limit });
      const [first] = found;
      return {
        rows: found.map(({ key, transactions, cost }) => ({ key, transactions: Number(transactions), costWei: BigInt(cost) })),
        groups: Number(first?.groups ?? 0),
        total: { transactions: Number(first?.all_transactions ?? 0), costWei: BigInt(first?.all_cost ?? 0) },
      };
    },
    async earnings({ chain, by, from, to, limit, referrers, keys = null }) {
      const values = { chain, referrers, begin: from * DAY_MS, end: (to + 1) * DAY_MS };
      const [found, [all]] = await Promise.all([
        rows<EarnedRow & { key: string }>(earningsSql(by), { ...values, limit, keys }),
        rows<EarnedRow & { groups: bigint; registered: bigint; claimed: string }>(earningsTotalSql(by), values),
      ]);
      return {
        rows: found.map(({ key, ...row }) => ({ key, ...earnedOf(row) })),
        groups: Number(all?.groups ?? 0),
        total: earnedOf(all),
        registered: Number(all?.registered ?? 0),
        claimedGns: BigInt(all?.claimed ?? 0),
      };
    },
    async totals() {
      const found = await rows<{ chain: ChainSlug; wallet: Address; action: string; outcome: string; transactions: bigint; cost: string }>(
        TOTALS,
      );
      return found.map(({ transactions, cost, ...row }) => ({ ...row, transactions: Number(transactions), costWei: BigInt(cost) }));
    },
    async refusals() {
      const found = await rows<{ chain: ChainSlug; reason: string; count: bigint }>('select chain, reason, count from relay_refusals');
      return found.map((row) => ({ ...row, count: Number(row.count) }));
    },
    async openJobs(chain) {
      const found = await rows<{ wallet: Address; state: RelayState; count: bigint; oldest_at: bigint }>(OPEN_JOBS, { chain });
      return found.map(({ oldest_at, count, ...row }) => ({ ...row, count: Number(count), oldestAt: Number(oldest_at) }));
    },
    laneOwner: (chain, wallet) => leaseHolder(db, laneName(chain, wallet)),
    async assigned(chain) {
      const sql = 'select wallet, count(*) as count from relay_wallets where chain = :chain group by wallet';
      const found = await rows<{ wallet: string; count: bigint }>(sql, { chain });
      return new Map(found.map(({ wallet, count }) => [wallet, Number(count)]));
    },
  };
}

/** Daily sums for whole days, and single transactions for the rest of the week's first day. */
const BURN = `
  select
    (select coalesce(sum(cost), 0) from relay_costs where chain = :chain and wallet = :wallet and mined_at >= :dayAgo)::text as day,
    ((select coalesce(sum(cost), 0) from relay_cost_days where chain = :chain and wallet = :wallet and day > :firstDay) +
     (select coalesce(sum(cost), 0) from relay_costs
      where chain = :chain and wallet = :wallet and mined_at >= :weekAgo and mined_at < :firstEnd))::text as week`;

/** Single transactions: hours are asked for a week only. */
const BURN_HOURS = `
  select mined_at / ${HOUR_MS} * ${HOUR_MS} as at, count(*) as transactions, sum(cost)::text as cost
  from relay_costs where chain = :chain and wallet = :wallet and mined_at >= :from
  group by 1 order by 1`;

const BURN_DAYS = `
  select day * ${DAY_MS} as at, sum(transactions)::bigint as transactions, sum(cost)::text as cost
  from relay_cost_days where chain = :chain and wallet = :wallet and day >= cast(:from as bigint) / ${DAY_MS}
  group by day having sum(transactions) > 0 order by day`;

const SPENT_TODAY = `
  select
    (select coalesce(sum(cost), 0) from relay_cost_days where chain = :chain and wallet = :wallet and day = :day)::text as spent,
    (select highest from relay_balances where chain = :chain and wallet = :wallet and day = :day)::text as highest`;

/** A replica whose clock or answer is late must not replace a later reading. */
const RECORD_BALANCE = `
  insert into relay_balance_hours as kept (chain, wallet, hour, at, balance)
  values (:chain, :wallet, :hour, :at, cast(:balance as numeric))
  on conflict (chain, wallet, hour) do update set at = excluded.at, balance = excluded.balance where kept.at < excluded.at`;

const BALANCES = `
  select at, balance::text from relay_balance_hours
  where chain = :chain and wallet = :wallet and hour >= :hour and at >= :from order by hour`;

/** Former releases booked some actions under names of their own. */
const FORMER_NAMES = { leverage: 'updateLeverage', margin: 'updateIsolatedMargin' } as const;
const ACTION = `case action ${Object.entries(FORMER_NAMES)
  .map(([former, name]) => `when '${former}' then '${name}'`)
  .join(' ')} else action end`;

const TOTALS = `
  select chain, wallet, ${ACTION} as action, outcome, sum(transactions)::bigint as transactions, sum(cost)::text as cost
  from relay_cost_totals where transactions > 0 group by 1, 2, 3, 4`;

const KEY_OF: Readonly<Record<CostGroup, string>> = {
  trader: `nullif(trader, '')`,
  action: ACTION,
  outcome: 'outcome',
  wallet: 'wallet',
  day: `to_char(to_timestamp(day * 86400) at time zone 'UTC', 'YYYY-MM-DD')`,
};

const costsSql = (by: CostGroup): string => `
  select key, transactions, cost::text, count(*) over () as groups,
    (sum(transactions) over ())::bigint as all_transactions, (sum(cost) over ())::text as all_cost
  from (
    select ${KEY_OF[by]} as key, sum(transactions)::bigint as transactions, sum(cost) as cost
    from relay_cost_days where chain = :chain and day between :from and :to
    group by 1 having sum(transactions) > 0
  ) as sums
  order by ${by === 'day' ? 'key' : 'sums.cost desc, key nulls last'} limit :limit`;

const EARNED_KEY = {
  trader: 'trader',
  day: `to_char(to_timestamp(at / 1000) at time zone 'UTC', 'YYYY-MM-DD')`,
} as const;

const OF_REFERRERS = `referral_events
    where chain = :chain and beneficiary = any(cast(:referrers as text[])) and at >= :begin and at < :end`;
const IS_REWARD = `kind in ('rewarded', 'ally-rewarded')`;

const earningsSql = (by: EarningsQuery['by']): string => `
  select key, volume::text, gns::text, usd::text
  from (
    select ${EARNED_KEY[by]} as key, sum(volume_usd) as volume, sum(amount_gns) as gns, sum(amount_usd) as usd
    from ${OF_REFERRERS} and ${IS_REWARD} group by 1
  ) as sums
  where cast(:keys as text[]) is null or key = any(cast(:keys as text[]))
  order by ${by === 'day' ? 'key' : 'sums.usd desc, key'} limit :limit`;

const earningsTotalSql = (by: EarningsQuery['by']): string => `
  select count(distinct ${EARNED_KEY[by]}) filter (where ${IS_REWARD}) as groups,
    (coalesce(sum(volume_usd), 0))::text as volume, (coalesce(sum(amount_usd), 0))::text as usd,
    (coalesce(sum(amount_gns) filter (where ${IS_REWARD}), 0))::text as gns,
    count(*) filter (where kind = 'registered') as registered,
    (coalesce(sum(amount_gns) filter (where kind = 'claimed'), 0))::text as claimed
  from ${OF_REFERRERS}`;

const OPEN_JOBS = `
  select wallet, state, count(*) as count, min(created_at) as oldest_at from relay_jobs
  where chain = :chain and not is_over group by wallet, state`;
