import { ORDER_COLUMNS } from './order-rows.js';

/** What the follower asks. Many things at once are asked for by one JSON document. */

const TRADE_REFS = 'jsonb_to_recordset(:refs::jsonb) as wanted(trader text, trade_index bigint)';
const ORDER_REFS = 'jsonb_to_recordset(:refs::jsonb) as wanted(trader text, order_key text)';

/** Locked in the order of their ids, as everybody does. */
export const LOCK_ORDERS = `
  select ${ORDER_COLUMNS} from orders where id in (
    select id from unnest(cast(:ids as bigint[])) as id
    union
    select orders.id from orders join ${ORDER_REFS} on wanted.trader = orders.trader and wanted.order_key = orders.order_key
      where orders.chain = :chain
    union
    select orders.id from orders join ${ORDER_REFS} on wanted.trader = orders.trader and wanted.order_key = orders.home_key
      where orders.chain = :chain
  ) and chain = :chain order by id for update`;

export const SELECT_TAGS =
  'select tag, order_id, purpose, data, shape from order_tags where chain = :chain and tag = any(cast(:tags as text[]))';

export const SELECT_POSITIONS = `
  select id, positions.trader, positions.trade_index, state::text from positions
  join ${TRADE_REFS} on wanted.trader = positions.trader and wanted.trade_index = positions.trade_index
  where chain = :chain`;

export const KNOWN_EVENTS =
  'select event_key from chain_events where chain = :chain and event_key = any(cast(:keys as text[])) and not orphaned';

export const MOVE_EVENTS = `
  update chain_events set order_id = :orderId
  where chain = :chain and trader = :trader and order_key = :orderKey and not orphaned and order_id is distinct from 0`;

export const ORPHAN = `
  update chain_events set orphaned = true where chain = :chain and block_number > :block and not orphaned
  returning id, trader, order_id, order_key, trade_index, is_fill, event::text`;

/** Events the gateway before this step took in say no order; those are of whoever is at home where they happened. */
export const EVENTS_OF_ORDERS = `
  with of_order as (
    select id, order_id as of_id, block_number, log_index, event from chain_events
      where order_id = any(cast(:ids as bigint[])) and not orphaned
    union all
    select chain_events.id, orders.id, block_number, log_index, event from orders
      join chain_events on chain_events.chain = orders.chain and chain_events.trader = orders.trader
        and chain_events.order_key = coalesce(orders.home_key, orders.order_key)
      where orders.id = any(cast(:ids as bigint[])) and orders.agent is null and order_id is null and not orphaned
  )
  select of_id, event::text from of_order order by block_number, log_index, id`;

export const EVENTS_OF_TRADES = `
  select event::text from chain_events
  join ${TRADE_REFS} on wanted.trader = chain_events.trader and wanted.trade_index = chain_events.trade_index
  where chain = :chain and not orphaned order by block_number, log_index`;

/** Existing rows are updated, not upserted: an upsert would draw a new id each time. */
export const SAVE_POSITIONS = `
  with given as (
    select * from jsonb_to_recordset(:rows::jsonb) as row(ord int, trader text, trade_index bigint, is_open boolean, state text)
  ), changed as (
    update positions set is_open = given.is_open, state = given.state::jsonb
    from given where positions.chain = :chain and positions.trader = given.trader and positions.trade_index = given.trade_index
    returning positions.id, positions.trader, positions.trade_index, positions.state
  ), added as (
    insert into positions (chain, trader, trade_index, is_open, state)
    select :chain, trader, trade_index, is_open, state::jsonb from given
    where not exists (select from changed where changed.trader = given.trader and changed.trade_index = given.trade_index) order by ord
    returning id, trader, trade_index, state
  )
  select id, trader, trade_index, state::text from changed union all select id, trader, trade_index, state::text from added`;

export const NOTE_HASHES = `
  insert into order_hashes (chain, order_id, hash, seen_at)
  select :chain, order_id, hash, seen_at from jsonb_to_recordset(:rows::jsonb) as given(order_id bigint, hash text, seen_at bigint)
  on conflict (order_id, hash) do nothing`;

/** In one statement, because most blocks of a fast chain are like this. */
export const PASS = `
  with moved as (
    update chain_cursors set block_number = :number, block_hash = :hash
    where chain = :chain and block_number = :fromNumber and block_hash = :fromHash
    returning chain
  ), kept as (
    insert into chain_checkpoints (chain, block_number, block_hash)
    select moved.chain, block_number, block_hash from moved, jsonb_to_recordset(:passed::jsonb) as given(block_number bigint, block_hash text)
    on conflict (chain, block_number) do update set block_hash = excluded.block_hash
  )
  select exists (select from moved) as moved`;

export const WAITING = `
  select exists (select from orders where chain = :chain and status = 'pending' and requested_block <= :upToBlock) as unanswered,
    exists (select from orders where chain = :chain and status = 'prepared' and is_sent and state is not null) as sent`;
