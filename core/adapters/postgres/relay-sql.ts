import { IS_AMENDED } from './exchange-sql.js';
import { isNamed, statement } from './statement.js';
import { ACTION_COLUMNS, JOB_COLUMNS } from './relay-rows.js';

/** The statements of the relay store. */

export const QUEUE = statement(`
  insert into relay_jobs (chain, wallet, trader, purpose, parent, order_id, data, gas, context, not_after, state, created_at)
  values (:chain, :wallet, :trader, :purpose, :parent, :orderId, :data, :gas::numeric, :context::jsonb, :notAfter, 'queued', :at)
  returning ${JOB_COLUMNS}`);

/** Runs under the trader's lock. Only jobs of the same wallet count, since a retired one may keep jobs open. Overdue jobs do not count. */
export const QUEUE_ONCE = statement(`
  with known as materialized (
    select ${JOB_COLUMNS} from relay_jobs
    where chain = cast(:chain as text) and trader = cast(:trader as text) and wallet = cast(:wallet as text) and not is_over
      and coalesce(not_after > cast(:at as bigint), true)
      and context ->> 'kind' = 'cancel' and context -> 'intent' = cast(:context as jsonb) -> 'intent'
    order by id limit 1
  ), made as (
    insert into relay_jobs (chain, wallet, trader, purpose, parent, order_id, data, gas, context, not_after, state, created_at)
    select cast(:chain as text), cast(:wallet as text), cast(:trader as text), cast(:purpose as text), cast(:parent as bigint),
      cast(:orderId as bigint), cast(:data as text), cast(:gas as numeric), cast(:context as jsonb), cast(:notAfter as bigint), 'queued',
      cast(:at as bigint)
    where not exists (select from known)
    returning ${JOB_COLUMNS}
  )
  select false as is_new, known.* from known union all select true, made.* from made`);

/** Runs under the order's lock. The change repeats all of the order, so it is queued only while the order is stored as it was read. */
const AMEND = `
  insert into relay_jobs (chain, wallet, trader, purpose, parent, order_id, data, gas, context, not_after, state, created_at)
  select cast(:chain as text), cast(:wallet as text), cast(:trader as text), cast(:purpose as text), cast(:parent as bigint),
    cast(:orderId as bigint), cast(:data as text), cast(:gas as numeric), cast(:context as jsonb), cast(:notAfter as bigint), 'queued',
    cast(:at as bigint)
  where not ${IS_AMENDED}
    and exists (select from orders where id = cast(:parentOrder as bigint) and state @> cast(:read as jsonb))
  returning ${JOB_COLUMNS}`;

export const QUEUE_AMEND = statement(`with made as (${AMEND}) select null::bigint as oid, made.* from made`);

/** The same with the record of the TP/SL that it sets, and the closing slippage to be set for it once its order is filled. */
export const QUEUE_CHILD = statement(`
  with made as (${AMEND}), added as (
    insert into exchange_orders (chain, oid, trader, agent, action, item, cloid, pair_index, manner, terms, created_at, parent_order)
    select made.chain, nextval('entity_ids'), made.trader, cast(:agent as text), cast(:action as bigint), cast(:item as integer),
      cast(:cloid as text), cast(:pairIndex as integer), cast(:manner as text), cast(:terms as jsonb), cast(:createdAt as bigint),
      cast(:parentOrder as bigint)
    from made
    returning chain, oid
  ), legs as (
    insert into exchange_legs (chain, oid, seq, role, size_base) select chain, oid, 1, 'protect', cast(:sizeBase as numeric) from added
  ), asked as (
    insert into triggers (chain, trader, key, owner, origin, leg, kind, parent, job, price, asked_at, asked_place)
    select added.chain, made.trader, 'bot/' || added.oid || '/1', added.oid, 'bot', 1, cast(:kind as text), cast(:parentOrder as bigint), made.id,
      cast(:price as numeric), cast(:createdAt as bigint), 'resting:' || cast(:tradeIndex as bigint)
    from added, made
  ), owed as (
    insert into pending_closing_slippages (chain, trader, agent, action, item, oid, order_id, slippage_p, due_at)
    select added.chain, cast(:trader as text), cast(:agent as text), cast(:action as bigint), cast(:item as integer), added.oid,
      cast(:parentOrder as bigint), cast(:closingSlippageP as integer), cast(:at as bigint)
    from added where cast(:closingSlippageP as integer) is not null
  )
  select added.oid, made.* from made, added`);

const ACTIONS = `select ${ACTION_COLUMNS} from relay_actions where chain = :chain`;
export const ACTION = statement(`${ACTIONS} and id = :id`);
export const ACTIONS_OF = statement(`${ACTIONS} and id = any(:ids::bigint[])`);

export const APPROVALS = statement(`
  select trader, envelope, approved_at from former_approvals where chain = :chain and agent = :agent
  union all
  select agents.trader, current.envelope, current.approved_at from agent_approvals as current
  join agents on agents.chain = current.chain and agents.agent = current.agent
  where current.chain = :chain and current.agent = :agent
  order by approved_at`);

const JOBS = `select ${JOB_COLUMNS} from relay_jobs where chain = :chain`;
export const JOBS_OF = statement(`${JOBS} and id = any(:ids::bigint[])`);
export const JOBS_OF_ORDER = statement(`${JOBS} and order_id = :orderId order by id`);
export const JOB = statement(`${JOBS} and id = :id`);

export const OPEN = statement(`
  select ${JOB_COLUMNS} from relay_jobs where chain = :chain and wallet = :wallet and not is_over
  order by nonce nulls last, id`);

/** Timed-out oracle requests of bots: orders, margin changes, and closes of scheduled cancels. */
export const LOST_REQUESTS = `
  select orders.id as order_id, action.trader, action.signer as agent, action.id as action, orders.order_key
  from orders
  join lateral (
    select parent from relay_jobs job
    where job.chain = orders.chain and job.order_id = orders.id and job.purpose in ('action', 'scheduled-cancel') order by job.id limit 1
  ) sent on true
  join relay_actions action on action.id = sent.parent
  left join reclaim_tries tries on tries.chain = orders.chain and tries.trader = orders.trader
  where orders.chain = cast(:chain as text) and orders.status = 'timed_out' and orders.order_key like 'request:%'
  and not exists (
    select from relay_jobs job where job.chain = orders.chain and job.purpose = 'reclaim' and job.order_id = orders.id
    and (not job.is_over or job.created_at >= cast(:triedBefore as bigint)))
  and coalesce(tries.due_at, 0) <= cast(:now as bigint)`;

export const UNRECLAIMED = statement(`${LOST_REQUESTS}
  order by coalesce(tries.tried_at, 0), orders.id limit 50`);

/** Doubles the wait after each failure. */
export const RECLAIM_FAILED = statement(`
  insert into reclaim_tries as known (chain, trader, failures, tried_at, due_at)
  values (:chain, :trader, 1, cast(:at as bigint), cast(:at as bigint) + cast(:firstWait as bigint))
  on conflict (chain, trader) do update set failures = known.failures + 1, tried_at = excluded.tried_at,
    due_at = excluded.tried_at + least(cast(:firstWait as bigint) * (1::bigint << least(known.failures, 20)), cast(:longestWait as bigint))`);

export const RECLAIM_DONE = statement('delete from reclaim_tries where chain = :chain and trader = :trader');

export const BY_HASH = statement(`
  select ${JOB_COLUMNS} from relay_jobs
  where id = (select job_id from relay_hashes where chain = :chain and hash = :hash)`);

/** Whether a queued job reduces risk. Only for the order of the queue; the signing policy decides from the call itself. */
const IS_EXIT = `(job.purpose in ('reclaim', 'scheduled-cancel') or coalesce(job.context ->> 'kind' in ('cancel', 'flatten'), false)
      or coalesce(asked.state ->> 'action' in ('close', 'decrease'), false))`;

/**
 * Limits each trader's open transactions, with an extra allowance for those that reduce risk: nonces are mined in order, so one trader's
 * jobs delay those of the others. Jobs that reduce risk come first, and traders take turns.
 */
export const QUEUED = statement(`
  with in_flight as (
    select trader, count(*) as jobs from relay_jobs
    where chain = :chain and wallet = :wallet and not is_over and nonce is not null and trader is not null group by trader
  ), waiting as (
    select job.id, job.trader, ${IS_EXIT} as is_exit,
      row_number() over (partition by job.trader order by ${IS_EXIT} desc, job.id) as place
    from relay_jobs job left join orders asked on asked.chain = job.chain and asked.id = job.order_id
    where job.chain = :chain and job.wallet = :wallet and not job.is_over and job.nonce is null
  ), next as (
    select waiting.id, waiting.is_exit, waiting.place from waiting left join in_flight on in_flight.trader = waiting.trader
    where waiting.trader is null
      or waiting.place + coalesce(in_flight.jobs, 0) <= cast(:perTrader as integer) + case when waiting.is_exit then cast(:forExits as integer) else 0 end
    order by waiting.is_exit desc, waiting.place, waiting.id limit cast(:limit as integer)
  )
  select ${JOB_COLUMNS.replace('id,', 'relay_jobs.id,')} from next join relay_jobs on relay_jobs.id = next.id
  order by next.is_exit desc, next.place, next.id`);

/**
 * The lane's row is locked until the nonces are assigned, so they are dense and unique. A job whose order was given up or expired in the
 * queue gets none, because the order was published as over, and neither does one that was marked as not compared after its check. The order's row is locked, so that it cannot expire at the same time.
 */
export const NUMBER = statement(`
  with wanted as (
    select id, order_id from relay_jobs where chain = :chain and wallet = :wallet and id = any(:ids::bigint[]) and state = 'queued'
      and note is distinct from :uncompared::text
    order by id for update
  ), made as materialized (
    select id, status = 'expired' and not is_sent as is_over from orders where id in (select order_id from wanted) order by id for share
  ), counted as (
    select id, row_number() over (order by id) - 1 as place, count(*) over () as jobs from wanted
    where not exists (select from made where made.id = wanted.order_id and made.is_over)
  ), taken as (
    insert into relay_lanes as lane (chain, wallet, next_nonce) select :chain, :wallet, :atLeast::bigint + jobs from counted where place = 0
    on conflict (chain, wallet) do update
      set next_nonce = greatest(lane.next_nonce, :atLeast::bigint) + (select jobs from counted where place = 0)
    returning next_nonce - (select jobs from counted where place = 0) as first
  )
  update relay_jobs set state = 'assigned', nonce = taken.first + counted.place from taken, counted
  where relay_jobs.chain = :chain and relay_jobs.id = counted.id
  returning ${JOB_COLUMNS.replace('id,', 'relay_jobs.id,').replace('nonce,', 'relay_jobs.nonce,')}`);

export const FILL_GAP = statement(`
  insert into relay_jobs (chain, wallet, purpose, data, gas, context, state, nonce, created_at)
  values (:chain, :wallet, 'no-op', '0x', :gas::numeric, 'null', 'assigned', :nonce, :at)
  on conflict (chain, wallet, nonce) where nonce is not null do nothing returning ${JOB_COLUMNS}`);

export const HOLES = statement(`
  select nonce.nonce, job.id is not null as is_given_up
  from generate_series(:from::bigint, least(:below::bigint, :from::bigint + 1000) - 1) as nonce
  left join relay_jobs job on job.chain = :chain and job.wallet = :wallet and job.nonce = nonce.nonce
  where job.id is null or job.state = 'refused'
  order by nonce.nonce limit 100`);

/** Its order was published as not executed, so the job may only use up its nonce: it is marked overdue. */
export const REOPEN = statement(`
  update relay_jobs set state = 'unknown', is_over = false, not_after = 0, accepted_at = null, refusal = null, note = 'its nonce is free again'
  where chain = :chain and wallet = :wallet and nonce = :nonce and state = 'refused' returning ${JOB_COLUMNS}`);

export const SET_STATE = statement(`
  update relay_jobs set state = :state, is_over = :over, refusal = coalesce(:reason::text, refusal),
    note = case when :reason::text is null and refusal is not null then note else :note end,
    accepted_at = coalesce(accepted_at, case when :state = 'accepted' then :at::bigint end)
  where chain = :chain and id = :id and not is_over returning ${JOB_COLUMNS}`);

export const NOTE_QUEUED = statement(`
  update relay_jobs set note = :note::text where chain = :chain and id = :id and state = 'queued' returning ${JOB_COLUMNS}`);

export const REFUSE = statement(`
  update relay_jobs set state = 'refused', is_over = true, note = :note, refusal = :reason::text
  where chain = :chain and id = :id and state = 'queued' returning ${JOB_COLUMNS}`);

/** Its call must not be signed any more, so it is marked overdue: its nonce is used up by a no-op. */
export const GIVE_UP_CALL = statement(`
  update relay_jobs set not_after = 0, note = :note, refusal = :reason::text
  where chain = :chain and id = :id and not is_over and nonce is not null returning ${JOB_COLUMNS}`);

export const SETTLE = statement(`
  with given as materialized (
    select * from jsonb_to_recordset(:settled::jsonb) as row(id bigint, state text, mined jsonb, block bigint)
  )
  update relay_jobs set state = given.state, is_over = true, mined = given.mined, mined_block = given.block,
    note = case when given.state = 'replaced' and refusal is not null then note end
  from given
  where relay_jobs.chain = :chain and relay_jobs.id = given.id and ${isNamed('relay_jobs.id', 'given')}
  returning ${JOB_COLUMNS.replace('id,', 'relay_jobs.id,').replace(' state,', ' relay_jobs.state,').replace('mined::text', 'relay_jobs.mined::text')}`);

const NEWEST = 'select max(mined_block) from relay_jobs where chain = :chain and wallet = :wallet and mined_block is not null';

/**
 * A height may occur twice, with jobs seen on two branches. Both ends of the range are given: with one of them open the planner expects a
 * third of all rows.
 */
export const MINED_BLOCKS = statement(`
  select distinct mined_block as number, mined->>'blockHash' as hash from relay_jobs
  where chain = :chain and wallet = :wallet and mined_block between (${NEWEST}) - :blocks::bigint and (${NEWEST}) order by 1 desc`);

export const SETTLED_IN = statement(`
  select ${JOB_COLUMNS} from relay_jobs where chain = :chain and wallet = :wallet and (
    (mined_block = any(:numbers::bigint[]) and mined->>'blockHash' = any(:hashes::text[]))
    or (nonce >= :nonce and state = 'refused')
  ) order by nonce`);

/** Its block is no longer on the chain. */
export const UNSETTLE = statement(`
  update relay_jobs set state = 'unknown', is_over = false, mined = null, mined_block = null, accepted_at = :at::bigint,
    note = 'its block is gone'
  where chain = :chain and id = :id returning ${JOB_COLUMNS}`);

/** Uses the highest nonce: for "any job above a value" the planner expects many rows and scans all history. */
export const KNOWN_LANES = statement(`
  select array(select wallet from relay_lanes where chain = cast(:chain as text) and next_nonce >= 0) as lanes,
    not exists (select from relay_jobs where chain = cast(:chain as text))
    and not exists (select from relay_actions where chain = cast(:chain as text)) as is_empty`);

export const RESET_LANE = statement(`
  update relay_lanes set next_nonce = :nonce where chain = :chain and wallet = :wallet
  and not exists (select from relay_jobs where chain = :chain and wallet = :wallet and not is_over)
  and :nonce > coalesce((select max(nonce) from relay_jobs where chain = :chain and wallet = :wallet and nonce is not null), -1) returning 1`);

export const LANE = statement(`
  select lane.next_nonce, lane.blocked_since, lane.blocked_reason, open.jobs, open.oldest from (
    select count(*) as jobs, min(created_at) as oldest from relay_jobs where chain = :chain and wallet = :wallet and not is_over
  ) open left join relay_lanes lane on lane.chain = :chain and lane.wallet = :wallet`);

/** Its row may be older, with -1, because its problems are stored before the first count is believed. */
export const BEGIN_LANE = statement(`
  insert into relay_lanes as lane (chain, wallet, next_nonce) values (:chain, :wallet, :nonce)
  on conflict (chain, wallet) do update set next_nonce = excluded.next_nonce where lane.next_nonce < 0`);

/** A lane that has not begun has -1. */
export const BLOCK_LANE = statement(`
  insert into relay_lanes as lane (chain, wallet, next_nonce, blocked_since, blocked_reason)
  values (:chain, :wallet, -1, :since::bigint, :reason::text)
  on conflict (chain, wallet) do update set blocked_since = excluded.blocked_since, blocked_reason = excluded.blocked_reason`);

/** A hash can be looked up as soon as the raw transaction exists. */
export const ADD_ATTEMPT = statement(`
  with given as materialized (
    select * from jsonb_to_recordset(:attempts::jsonb) as row(id bigint, hash text, attempt jsonb)
  ), known as (
    insert into relay_hashes (chain, hash, job_id) select :chain, hash, id from given order by hash on conflict (chain, hash) do nothing
  )
  update relay_jobs set attempts = attempts || given.attempt, state = case when state = 'assigned' then 'signed' else state end from given
  where relay_jobs.chain = :chain and relay_jobs.id = given.id and ${isNamed('relay_jobs.id', 'given')}
  returning ${JOB_COLUMNS.replace('id,', 'relay_jobs.id,')}`);

export const ACCEPT = statement(`
  update relay_jobs set state = 'accepted', note = case when refusal is not null then note end, accepted_at = coalesce(accepted_at, :at::bigint)
  where chain = :chain and id = any(:ids::bigint[]) and not is_over returning ${JOB_COLUMNS}`);

export const WALLET_OF = statement('select wallet from relay_wallets where chain = :chain and trader = :trader');

export const ASSIGN = statement(`
  insert into relay_wallets as known (chain, trader, wallet) values (:chain, :trader, :wallet)
  on conflict (chain, trader) do update set wallet = known.wallet returning wallet`);

/** Runs with every chain read; writes only when the balance exceeds the day's highest. */
export const BUDGET_DAY = statement(`
  with known as materialized (
    select highest from relay_balances where chain = :chain and wallet = :wallet and day = cast(:day as bigint)
  ), raised as (
    insert into relay_balances as kept (chain, wallet, day, highest)
    select :chain, :wallet, cast(:day as bigint), cast(:balance as numeric)
    where coalesce((select highest from known) < cast(:balance as numeric), true)
    on conflict (chain, wallet, day) do update set highest = greatest(kept.highest, excluded.highest)
  )
  select greatest((select highest from known), cast(:balance as numeric))::text as highest,
    (select coalesce(sum(cost), 0) from relay_cost_days
     where chain = :chain and wallet = :wallet and day = cast(:day as bigint))::text as spent`);
