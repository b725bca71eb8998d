import { FIRST_CURSOR } from './continuity/continuity-sql.js';
import { MAY_BE_SENT_MS } from '../../config/relayer.js';
import { NOW_MS } from './migrations/migration.js';
import { statement } from './statement.js';
import type { TraderFacts } from '../../ports/stores/exchange.js';
import { readPosition } from './tracking-rows.js';

/**
 * A trader's open jobs and those mined above the indexed block. They are looked up by wallet, because jobs are indexed by wallet; a wallet
 * that never sent has no lane yet. An overdue job is left out, because its wallet was given up.
 */
const UNDER_WAY = `relay_jobs
  where chain = cast(:chain as text) and wallet = any(array(
    select wallet from relay_lanes where chain = cast(:chain as text)
    union select wallet from relay_wallets where chain = cast(:chain as text) and trader = cast(:trader as text)))
  and (not is_over and coalesce(not_after, ${NOW_MS}) > ${NOW_MS} - ${MAY_BE_SENT_MS} or state = 'mined' and mined_block > (select block_number from chain_cursors where chain = cast(:chain as text)))
  and trader = cast(:trader as text) and order_id is null and purpose = 'action'`;

const AMENDED_JOBS = `
  select from ${UNDER_WAY} and context->'intent'->>'kind' = 'amend' and (context->'intent'->>'tradeIndex')::bigint = cast(:tradeIndex as bigint)`;

/** Until it expires, or the order is no longer as it was. */
const PREPARED_CHANGE = `
  select from prepared_changes as given join orders as resting on resting.id = given.order_id and resting.state @> given.was
  where given.chain = cast(:chain as text) and given.trader = cast(:trader as text) and given.trade_index = cast(:tradeIndex as bigint)
    and given.expires_at > ${NOW_MS}`;

/** The relayer is about to change all of the order, or an agent may. */
export const IS_AMENDED = `(exists (${AMENDED_JOBS}) or exists (${PREPARED_CHANGE}))`;

export const AMENDED = statement(`select 1 where ${IS_AMENDED}`);

/**
 * Runs under the order's lock, and only while the order is stored as it was read. A former change is in the way until it expires or the order
 * is different, unless it is the same one.
 */
export const PREPARE_CHANGE = statement(`
  insert into prepared_changes as given (chain, trader, trade_index, order_id, was, becomes, expires_at, data)
  select cast(:chain as text), cast(:trader as text), cast(:tradeIndex as bigint), cast(:id as bigint), cast(:was as jsonb),
    cast(:becomes as jsonb), cast(:expiresAt as bigint), cast(:data as text)
  where not exists (${AMENDED_JOBS}) and exists (select from orders where id = cast(:id as bigint) and state @> cast(:was as jsonb))
  on conflict (chain, trader, trade_index) do update set
    order_id = excluded.order_id, was = excluded.was, becomes = excluded.becomes, expires_at = excluded.expires_at, data = excluded.data
    where given.expires_at <= cast(:now as bigint) or given.becomes = excluded.becomes
      or given.order_id <> excluded.order_id or given.was <> excluded.was
  returning 1`);

export const RELEASE_CHANGE = statement(`
  delete from prepared_changes
  where chain = cast(:chain as text) and order_id = cast(:id as bigint) and position(substr(data, 3) in cast(:input as text)) > 0
  returning order_id`);

/** Whether the order, or one of its triggers, may still trade. */
const IS_LIVE = `(exists (
      select from exchange_legs leg join orders on orders.id = leg.order_id where leg.chain = o.chain and leg.oid = o.oid and orders.is_live)
    or exists (
      select from triggers own left join relay_jobs job on job.id = own.job left join orders opening on opening.id = own.parent
      where own.chain = o.chain and own.trader = o.trader and own.owner = o.oid and (own.state = 'standing' or own.state = 'asked' and (
        job.state = 'mined' and job.mined_block > (select block_number from chain_cursors where chain_cursors.chain = o.chain)
        or not job.is_over and coalesce(job.not_after + ${MAY_BE_SENT_MS} > ${NOW_MS}, true)
        or own.job is null and opening.status in ('prepared', 'pending', 'timed_out')))))`;

/** A bot may use one cloid for all its orders: whether one is live is only looked up for so many of them. */
const CHECKED = 200;

/** Those that are live first, then the newest. Changes that failed leave any number of later records with the cloid. */
export const FIRST_OF_CLOID = `o.trader = :trader and o.oid = any(array(
      select o.oid from (
        select * from exchange_orders where chain = :chain and trader = :trader and cloid = :cloid
        order by created_at desc, oid desc limit ${CHECKED}) o
      order by ${IS_LIVE} desc, o.created_at desc, o.oid desc limit :limit))
    order by ${IS_LIVE} desc, o.created_at desc, o.oid desc`;

const LIVE_ORDERS = `select distinct cloid from exchange_orders o where o.chain = cast(:chain as text) and o.trader = cast(:trader as text)`;

export const LIVE_CLOIDS = statement(`${LIVE_ORDERS} and o.cloid = any(cast(:cloids as text[])) and ${IS_LIVE}`);

/** Whether a live order or trigger of the trader has the cloid `:freeCloid`. */
export const IS_CLOID_TAKEN = `(cast(:freeCloid as text) is not null and exists (
    ${LIVE_ORDERS} and o.cloid = cast(:freeCloid as text) and ${IS_LIVE}))`;

/** When an order that missed its price rests as another order, its TP/SL keep their oids and get the new parent. */
export const RECORD_CHILD = `
  with moved as (
    update exchange_orders set parent_order = :parentOrder
    where chain = :chain and action = :action and item = :item and parent_order is not null returning chain, oid
  ), carried as (
    update triggers set parent = :parentOrder from moved
    where triggers.chain = moved.chain and triggers.trader = :trader and triggers.owner = moved.oid
  ), resized as (
    update exchange_legs leg set size_base = cast(:sizeBase as numeric) from moved where leg.chain = moved.chain and leg.oid = moved.oid
  ), added as (
    insert into exchange_orders (chain, oid, trader, agent, action, item, cloid, pair_index, manner, terms, created_at, parent_order)
    select :chain, nextval('entity_ids'), :trader, :agent, :action, :item, :cloid, :pairIndex, :manner, :terms::jsonb, :createdAt, :parentOrder
    where not exists (select from moved)
    returning chain, oid
  ), legs as (
    insert into exchange_legs (chain, oid, seq, role, size_base) select chain, oid, 1, 'protect', cast(:sizeBase as numeric) from added
  ), asked as (
    insert into triggers (chain, trader, key, owner, origin, leg, kind, parent, price, asked_at)
    select chain, :trader, 'bot/' || oid || '/1', oid, 'bot', 1, :kind, cast(:parentOrder as bigint), cast(:price as numeric),
      cast(:createdAt as bigint) from added
  )
  select oid from moved union all select oid from added`;

/** Number of legs of a bot's order. */
export const legsBefore = (oid: string): string =>
  `coalesce((select max(seq) from exchange_legs known where known.chain = cast(:chain as text) and known.oid = ${oid}), 0)`;

export const EXTEND = statement(`
  with moved as (
    update exchange_orders set manner = cast(:manner as text) where chain = cast(:chain as text) and oid = cast(:oid as bigint) returning chain, oid
  ), added as (
    insert into exchange_legs (chain, oid, seq, role, order_id, trade_index, size_base)
    select moved.chain, moved.oid, ${legsBefore('cast(:oid as bigint)')} + leg.seq, leg.item->>'role', (leg.item->>'order_id')::bigint,
      (leg.item->>'trade_index')::bigint, (leg.item->>'size_base')::numeric
    from moved, jsonb_array_elements(:legs::jsonb) with ordinality as leg(item, seq)
  )
  select 1`);

/** Locks the order's row, so that the journal never gets an older state of it after a newer one. */
export const ANSWER = statement(`
  with noted as (
    update exchange_orders set answered = cast(:answered as text) where chain = cast(:chain as text) and oid = cast(:oid as bigint)
    returning chain, trader, oid
  ), known as (
    select orders.id, orders.trader, orders.state from noted
    join exchange_legs leg on leg.chain = noted.chain and leg.oid = noted.oid join orders on orders.id = leg.order_id
    where orders.state is not null order by leg.seq desc limit 1 for share of orders
  ), clock as (
    insert into account_cursors (chain, trader, cursor) select cast(:chain as text), trader, ${FIRST_CURSOR} + 1 from known
    on conflict (chain, trader) do update set cursor = account_cursors.cursor + 1 returning cursor
  ), published as (
    insert into journal (chain, trader, cursor, at, kind, order_id, fact)
    select cast(:chain as text), known.trader, cursor, cast(:at as bigint), 'order', id,
      jsonb_build_object('kind', 'order', 'id', jsonb_build_object('$n', id::text), 'order', state)
    from clock, known returning 1
  )
  select pg_notify(cast(:channel as text), '') from published`);

/** JSON as text, because the driver's JSON parser would lose bigints. */
export interface FactsRow {
  readonly positions: string;
  readonly busy: readonly number[];
  readonly leverage: string;
  readonly asked_at: bigint;
}

/** Requested size of the opening order and its executed size in the contract's tokens; null if not placed through the facade. */
const OPENED = `(
  select json_build_array(leg.size_base::text, opened.event -> 'sizeToken' ->> '$n')
  from chain_events opened join exchange_legs leg on leg.chain = opened.chain and leg.order_id = opened.order_id and leg.role = 'open'
  where opened.chain = positions.chain and opened.trader = positions.trader and opened.trade_index = positions.trade_index
    and opened.is_fill and not opened.orphaned and opened.event -> 'sizeToken' ->> '$n' is not null limit 1)`;

/** A prepared order counts as pending, because the relayer sends it at once. `whose` compares chain and trader of a table. */
export const factsOf = (owner: (table: string) => string): string => `
    (select coalesce(json_agg(json_build_array(trade_index, state::text, ${OPENED}) order by trade_index), '[]')::text from positions
     where ${owner('positions')} and is_open and state is not null) as positions,
    array(select (state->>'tradeIndex')::int from orders
     where ${owner('orders')} and is_live and status <> 'open' and state -> 'unexplained' is null and state->>'tradeIndex' is not null) as busy,
    (select coalesce(json_agg(json_build_array(pair_index, leverage, is_cross,
       case when action_leverage = leverage then action::text end)), '[]')::text from leverage_settings
     where ${owner('leverage_settings')}) as leverage,
    ${NOW_MS} as asked_at`;

export const FACTS = statement(`select ${factsOf(() => 'chain = :chain and trader = :trader')}`);

export function readFacts({ positions, busy, leverage, asked_at }: FactsRow): TraderFacts {
  const held = JSON.parse(positions) as [number, string, [string, string] | null][];
  const chosen = JSON.parse(leverage) as [number, number, boolean, string | null][];
  return {
    positions: held.flatMap(([tradeIndex, state, opened]) => {
      const position = readPosition(state);
      const opening = opened && { askedBase: BigInt(opened[0]), sizeToken: BigInt(opened[1]) };
      return position === null ? [] : [{ tradeIndex, position, opening }];
    }),
    askedAt: Number(asked_at),
    busy: new Set(busy),
    leverage: new Map(
      chosen.map(([pairIndex, times, isCross, action]) => [
        pairIndex,
        { leverage: times, isCross, action: action === null ? null : BigInt(action) },
      ]),
    ),
  };
}
