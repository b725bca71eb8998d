/** Later ones win, field by field; a field that is there and null bounds nothing. Four rows by their keys. */
const rulesOf = (chain: string, trader: string): string =>
  `coalesce((select rules from relay_rules where chain = ${chain} and trader = ${trader}), '{}')`;

const EFFECTIVE = `
  :defaults::jsonb || ${rulesOf(`'*'`, `'*'`)} || ${rulesOf(':chain', `'*'`)}
  || :own::jsonb || ${rulesOf(`'*'`, ':trader')} || ${rulesOf(':chain', ':trader')}`;

/** Goes before a statement that selects from `rule`. */
export const WITH_RULE = `with rule as materialized (select ${EFFECTIVE} as rules)`;

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

/** What a close comes to is told after its fees; those of openings and of changed leverage are told beside. */
const PNL = byCollateral(`
  select (event -> 'terms' ->> 'collateralIndex')::integer as collateral, ${units('event', 'netPnl')}
    - case when event ->> 'action' in ('open', 'increase', 'leverage') then ${units('event', 'fee')} else 0 end as amount
  from chain_events where chain = :chain and trader = :trader and is_fill and not orphaned
    and ((event -> 'place' ->> 'at')::bigint) >= :day`);

/** Newest first, no more of them than can matter. */
const MINUTE = `(
    select coalesce(jsonb_agg(at), '[]')::text from (
      select (state ->> 'createdAt')::bigint as at from orders
      where chain = :chain and trader = :trader and agent is not null and state ->> 'action' = 'open'
        and (state ->> 'createdAt')::bigint > :minute
      order by (state ->> 'createdAt')::bigint desc limit (rules ->> 'ordersPerMinute')::integer) as newest)`;

const SENT = `(
    select count(*)::integer from relay_jobs
    where chain = :chain and trader = :trader and created_at >= :day and state <> 'refused'`;

/** An order is stored a moment before what sends it: until then it counts by itself. */
const UNQUEUED = `(
    select count(*)::integer from orders
    where chain = :chain and trader = :trader and is_live and status = 'prepared' and not is_sent and agent is not null
      and not exists (select from relay_jobs job where job.chain = orders.chain and job.order_id = orders.id))`;

const wanted = (rule: string, fact: string, name: string): string =>
  `case when :all or rules ->> '${rule}' is not null then ${fact} end as ${name}`;

/** Columns of a statement that selects from `rule`. */
export const GUARD_COLUMNS = `
  rules::text, ${wanted('maxOpenNotionalUsd', OPEN, 'open')}, ${wanted('maxOpenNotionalUsd', INSTEAD, 'instead')},
  ${wanted('maxDailyLossUsd', PNL, 'pnl')}, ${wanted('ordersPerMinute', MINUTE, 'minute')},
  ${wanted('dailyTransactions', `${SENT}) + ${UNQUEUED}`, 'transactions')}`;

export const STANDING = `${WITH_RULE} select ${GUARD_COLUMNS} from rule`;

export const BEFORE_JOB = `${WITH_RULE}
  select rules::text, case when rules ->> 'dailyTransactions' is not null then ${SENT} and id < :id) end as transactions from rule`;

export const PUT_RULES = `
  insert into relay_rules (chain, trader, rules, updated_at) values (:chain, :trader, :rules::jsonb, :updatedAt)
  on conflict (chain, trader) do update set rules = excluded.rules, updated_at = excluded.updated_at`;
