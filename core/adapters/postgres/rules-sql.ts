const DAY_MS = 86_400_000;

/** At most four rows, by key; `mergeRules` decides which wins. */
export const RULES_OF = `(
  select jsonb_agg(jsonb_build_object('chain', chain, 'trader', trader, 'rules', rules))::text
  from relay_rules where chain in ('*', cast(:chain as text)) and trader in ('*', cast(:trader as text))) as rules`;

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
 * The PnL of a close already includes its fees; fees of openings and leverage changes are separate. The range ends a day late for clocks
 * that are ahead: without an end the planner expects a third of all rows and scans them.
 */
const PNL = byCollateral(`
  select (event -> 'terms' ->> 'collateralIndex')::integer as collateral, ${units('event', 'netPnl')}
    - case when event ->> 'action' in ('open', 'increase', 'leverage') then ${units('event', 'fee')} else 0 end as amount
  from chain_events where chain = :chain and trader = :trader and is_fill and not orphaned
    and ((event -> 'place' ->> 'at')::bigint) between cast(:day as bigint) and cast(:day as bigint) + ${2 * DAY_MS}`);

/** Newest first, at most as many as the limit. */
const MINUTE = `(
  select coalesce(jsonb_agg(at), '[]')::text from (
    select (state ->> 'createdAt')::bigint as at from orders
    where chain = :chain and trader = :trader and agent is not null and state ->> 'action' = 'open'
      and (state ->> 'createdAt')::bigint > :minute
    order by (state ->> 'createdAt')::bigint desc limit cast(:most as integer)) as newest)`;

/** Weight of a reverted transaction in the daily quota: it costs the relayer as much as any other, and its trader nothing. */
export const REVERTED_COUNTS = 10;

/** Refused jobs cost nothing. */
const SENT = `
  select coalesce(sum(case when state = 'reverted' then ${REVERTED_COUNTS} else 1 end), 0)::integer from relay_jobs
  where chain = :chain and trader = :trader and created_at >= :day and state <> 'refused'`;

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

export type CountedRule = keyof typeof COLUMNS;
export const COUNTED_RULES = Object.keys(COLUMNS) as readonly CountedRule[];

/** Selects only figures that a rule needs. */
export const countFor = (rules: readonly CountedRule[]): string => `select ${rules.map((rule) => COLUMNS[rule]).join(', ')}`;

export const SENT_BEFORE = `select (${SENT} and id < :id) as transactions`;

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

export const HOLDS = `select (${HOLDS_RELAYED}) as holds`;

/** For a trader that may not trade: the day's transactions without openings, which date from before it was blocked. */
export const EXITS_BEFORE = `
  select (${HOLDS_RELAYED}) as holds, (
    select coalesce(sum(case when job.state = 'reverted' then ${REVERTED_COUNTS} else 1 end), 0)::integer
    from relay_jobs job left join orders asked on asked.chain = job.chain and asked.id = job.order_id
    where job.chain = cast(:chain as text) and job.trader = cast(:trader as text) and job.created_at >= :day and job.state <> 'refused'
      and job.purpose = 'action' and job.id < :id and asked.state ->> 'action' is distinct from 'open') as transactions`;

export const PUT_RULES = `
  insert into relay_rules (chain, trader, rules, updated_at) values (:chain, :trader, :rules::jsonb, :updatedAt)
  on conflict (chain, trader) do update set rules = excluded.rules, updated_at = excluded.updated_at`;
