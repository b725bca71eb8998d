import { ORDER_COLUMNS } from './tracking-rows.js';
import { plannedAnew, statement } from './statement.js';

/** Statements of the indexer. Lists are passed as one JSON document. */

const TRADE_REFS = 'jsonb_to_recordset(:refs::jsonb) as wanted(trader text, trade_index bigint)';
const ORDER_REFS = 'jsonb_to_recordset(:refs::jsonb) as wanted(trader text, order_key text)';

/** At most one order has this key; the limit keeps the planner from scanning the whole chain. */
const orderAt = (place: 'order_key' | 'first_key'): string =>
  `select id from orders where chain = cast(:chain as text) and trader = wanted.trader and ${place} = wanted.order_key limit 1`;

/** Locked by id, as everywhere, so that transactions cannot deadlock. */
export const LOCK_ORDERS = statement(`
  select ${ORDER_COLUMNS} from orders where id = any(array(
    select id from unnest(cast(:ids as bigint[])) as id
    union
    select at.id from ${ORDER_REFS} cross join lateral (${orderAt('order_key')}) at
    union
    select at.id from ${ORDER_REFS} cross join lateral (${orderAt('first_key')}) at
  )) and chain = cast(:chain as text) order by id for update`);

export const SELECT_TAGS = statement(
  'select tag, order_id, purpose, data, shape from order_tags where chain = cast(:chain as text) and tag = any(cast(:tags as text[]))',
);

export const SELECT_POSITIONS = statement(`
  select id, positions.trader, positions.trade_index, state::text from positions
  join ${TRADE_REFS} on wanted.trader = positions.trader and wanted.trade_index = positions.trade_index
  where chain = cast(:chain as text)`);

export const KNOWN_EVENTS = statement(
  'select event_key from chain_events where chain = cast(:chain as text) and event_key = any(cast(:keys as text[])) and not orphaned',
);

export const MOVE_EVENTS = statement(`
  update chain_events set order_id = cast(:orderId as bigint)
  where chain = cast(:chain as text) and trader = cast(:trader as text) and order_key = cast(:orderKey as text) and not orphaned and order_id is distinct from 0`);

export const ORPHAN = plannedAnew(`
  update chain_events set orphaned = true where chain = cast(:chain as text) and block_number > cast(:block as bigint) and not orphaned
  returning id, trader, order_id, order_key, trade_index, is_fill, event::text`);

/** Events stored without an order id belong to the foreign order first seen at their key. */
export const EVENTS_OF_ORDERS = statement(`
  with of_order as (
    select id, order_id as of_id, block_number, log_index, event from chain_events
      where order_id = any(cast(:ids as bigint[])) and not orphaned
    union all
    select chain_events.id, orders.id, block_number, log_index, event from orders
      join chain_events on chain_events.chain = orders.chain and chain_events.trader = orders.trader
        and chain_events.order_key = coalesce(orders.first_key, orders.order_key)
      where orders.id = any(cast(:ids as bigint[])) and orders.agent is null and order_id is null and not orphaned
  )
  select of_id, event::text from of_order order by block_number, log_index, id`);

export const EVENTS_OF_TRADES = statement(`
  select event::text from chain_events
  join ${TRADE_REFS} on wanted.trader = chain_events.trader and wanted.trade_index = chain_events.trade_index
  where chain = cast(:chain as text) and not orphaned order by block_number, log_index`);

/** Existing rows are updated, not upserted: an upsert would draw a new id each time. */
export const SAVE_POSITIONS = statement(`
  with given as (
    select * from jsonb_to_recordset(:rows::jsonb) as row(ord int, trader text, trade_index bigint, is_open boolean, state text)
  ), changed as (
    update positions set is_open = given.is_open, state = given.state::jsonb
    from given where positions.chain = cast(:chain as text) and positions.trader = given.trader and positions.trade_index = given.trade_index
    returning positions.id, positions.trader, positions.trade_index, positions.state
  ), added as (
    insert into positions (chain, trader, trade_index, is_open, state)
    select cast(:chain as text), trader, trade_index, is_open, state::jsonb from given
    where not exists (select from changed where changed.trader = given.trader and changed.trade_index = given.trade_index) order by ord
    returning id, trader, trade_index, state
  )
  select id, trader, trade_index, state::text from changed union all select id, trader, trade_index, state::text from added`);

export const NOTE_HASHES = statement(`
  insert into order_hashes (chain, order_id, hash, seen_at)
  select cast(:chain as text), order_id, hash, seen_at from jsonb_to_recordset(:rows::jsonb) as given(order_id bigint, hash text, seen_at bigint)
  on conflict (order_id, hash) do nothing`);

export const SENT_ORDERS = `select from orders where chain = cast(:chain as text) and status = 'prepared' and is_sent and state is not null`;
const UNLOGGED = `exists (select from orders where chain = cast(:chain as text) and status = 'pending' and requested_block <= cast(:upToBlock as bigint)) as unanswered,
    exists (${SENT_ORDERS}) as sent`;

export const WAITING = statement(`select ${UNLOGGED}`);

/** One statement, because most blocks of a fast chain have no events. */
export const PASS = statement(`
  with moved as (
    update chain_cursors set block_number = cast(:number as bigint), block_hash = cast(:hash as text)
    where chain = cast(:chain as text) and block_number = cast(:fromNumber as bigint) and block_hash = cast(:fromHash as text)
    returning chain
  ), kept as (
    insert into chain_checkpoints (chain, block_number, block_hash)
    select moved.chain, block_number, block_hash from moved, jsonb_to_recordset(:passed::jsonb) as given(block_number bigint, block_hash text)
    on conflict (chain, block_number) do update set block_hash = excluded.block_hash
  )
  select exists (select from moved) as moved, ${UNLOGGED}`);

export const CURSOR = statement(`
  select start_block, block_number, block_hash from chain_cursors where chain = cast(:chain as text) for update`);

export const SET_CURSOR = statement(`
  insert into chain_cursors (chain, start_block, block_number, block_hash)
  values (cast(:chain as text), cast(:startBlock as bigint), cast(:number as bigint), cast(:hash as text))
  on conflict (chain) do update
    set start_block = excluded.start_block, block_number = excluded.block_number, block_hash = excluded.block_hash`);

export const FORGET_CHECKPOINTS = statement(`
  delete from chain_checkpoints
  where chain = cast(:chain as text) and (block_number < cast(:lowest as bigint) or block_number > cast(:number as bigint))`);

export const KEEP_CHECKPOINTS = statement(`
  insert into chain_checkpoints (chain, block_number, block_hash)
  select cast(:chain as text), block_number, block_hash from jsonb_to_recordset(:passed::jsonb) as given(block_number bigint, block_hash text)
  on conflict (chain, block_number) do update set block_hash = excluded.block_hash`);

export const NEW_IDS = statement(`select nextval('entity_ids') as id from generate_series(1, cast(:count as integer))`);

export const MARK_BACKFILLED = statement(`
  insert into backfilled_traders (chain, trader, block_number)
  values (cast(:chain as text), cast(:trader as text), cast(:block as bigint)) on conflict (chain, trader) do nothing`);

export const UNMARK_BACKFILLED = plannedAnew(`
  delete from backfilled_traders where chain = cast(:chain as text) and block_number > cast(:block as bigint)`);

export const RECORD_REFERRALS = statement(`
  insert into referral_events (chain, event_key, block_number, kind, beneficiary, trader, volume_usd, amount_gns, amount_usd, at)
  select cast(:chain as text), event_key, block_number, kind, beneficiary, trader, volume_usd, amount_gns, amount_usd, at
  from jsonb_to_recordset(:rows::jsonb) as given(
    event_key text, block_number bigint, kind text, beneficiary text, trader text,
    volume_usd numeric, amount_gns numeric, amount_usd numeric, at bigint)
  on conflict (chain, event_key) do nothing`);

export const UNCOUNTED = statement(`
  select id, orphaned, event::text from chain_events
  where chain = cast(:chain as text) and is_fill and counted = orphaned order by id desc limit cast(:limit as integer)`);

export const MARK_COUNTED = statement('update chain_events set counted = not orphaned where id = any(cast(:ids as bigint[]))');

export const ADD_TO_MINUTES = statement(`
  insert into market_minutes as kept (chain, pair_index, time, base, trades)
  select cast(:chain as text), pair_index, time, base, trades
  from jsonb_to_recordset(:rows::jsonb) as given(pair_index integer, time bigint, base numeric, trades integer)
  on conflict (chain, pair_index, time) do update set base = kept.base + excluded.base, trades = kept.trades + excluded.trades`);

export const FORGET_REFERRALS = plannedAnew(`
  delete from referral_events where chain = cast(:chain as text) and block_number > cast(:block as bigint)`);
