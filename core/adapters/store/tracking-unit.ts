import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import type { ChainEvent, OrderKey } from '../../domain/chain-event.js';
import type { Address } from '../../ports.js';
import {
  orderRefKey,
  tradeRefKey,
  type ChainCursor,
  type OrderRef,
  type TrackingUnit,
  type TradeRef,
} from '../../tracking/tracking-store.js';
import { eventKey, eventRows, orderRefs, orderRows, positionRows, readEvent, readOrder, readPosition, tradeRefs } from './tracking-rows.js';

/** Checkpoints further below the head than this tell nothing any more. */
const KEPT_CHECKPOINTS = 2_000n;

export interface CursorRow {
  start_block: bigint;
  block_number: bigint;
  block_hash: `0x${string}` | null;
}

export const readCursor = (row: CursorRow | undefined): ChainCursor | null =>
  row === undefined ? null : { startBlock: row.start_block, number: row.block_number, hash: row.block_hash };

interface OrderRow {
  id: bigint;
  trader: Address;
  order_key: OrderKey;
  state: string | null;
}

interface PositionRow {
  id: bigint;
  trader: Address;
  trade_index: bigint;
  state: string | null;
}

const orderRefOf = ({ trader, order_key }: OrderRow): OrderRef => ({ trader, orderKey: order_key });
const tradeRefOf = ({ trader, trade_index }: PositionRow): TradeRef => ({ trader, tradeIndex: Number(trade_index) });

export function createTrackingUnit(trx: Knex.Transaction, chain: ChainSlug): TrackingUnit {
  const rows = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row[]> =>
    (await trx.raw<{ rows: Row[] }>(sql, { chain, ...values } as never)).rows;

  return {
    cursor: async () =>
      readCursor(
        await trx<CursorRow>('chain_cursors')
          .where({ chain } as never)
          .forUpdate()
          .first(),
      ),
    async setCursor({ startBlock, number, hash }) {
      const row = { chain, start_block: startBlock, block_number: number, block_hash: hash };
      await trx('chain_cursors').insert(row).onConflict('chain').merge();
      await trx('chain_checkpoints').where({ chain }).whereRaw('block_number > ?', [number.toString()]).delete();
      if (hash === null) return;
      const checkpoint = { chain, block_number: number, block_hash: hash };
      await trx('chain_checkpoints').insert(checkpoint).onConflict(['chain', 'block_number']).merge();
      await trx('chain_checkpoints')
        .where({ chain })
        .whereRaw('block_number < ?', [(number - KEPT_CHECKPOINTS).toString()])
        .delete();
    },
    async orders(refs) {
      const found = await rows<OrderRow>(SELECT_ORDERS, { refs: orderRefs(refs) });
      return new Map(found.map((row) => [orderRefKey(orderRefOf(row)), readOrder(row.state)]));
    },
    async positions(refs) {
      const found = await rows<PositionRow>(SELECT_POSITIONS, { refs: tradeRefs(refs) });
      return new Map(found.map((row) => [tradeRefKey(tradeRefOf(row)), readPosition(row.state)]));
    },
    async append(events) {
      if (events.length === 0) return [];
      const added = await rows<{ event_key: string }>(APPEND, { rows: eventRows(events) });
      const keys = new Set(added.map(({ event_key }) => event_key));
      return events.filter((event) => keys.has(eventKey(event)));
    },
    async orphanAbove(block) {
      const taken = await rows<{ trader: Address; order_key: OrderKey | null; trade_index: bigint | null }>(ORPHAN, { block });
      const orders = taken.flatMap(({ trader, order_key }) => (order_key === null ? [] : [{ trader, orderKey: order_key }]));
      const trades = taken.flatMap(({ trader, trade_index }) =>
        trade_index === null ? [] : [{ trader, tradeIndex: Number(trade_index) }],
      );
      return { orders: unique(orders, orderRefKey), trades: unique(trades, tradeRefKey) };
    },
    eventsOfOrders: async (refs) =>
      grouped(await rows<{ event: string }>(EVENTS_OF_ORDERS, { refs: orderRefs(refs) }), ({ trader, orderKey }) =>
        orderKey === null ? null : orderRefKey({ trader, orderKey }),
      ),
    eventsOfTrades: async (refs) =>
      grouped(await rows<{ event: string }>(EVENTS_OF_TRADES, { refs: tradeRefs(refs) }), ({ trader, tradeIndex }) =>
        tradeIndex === null ? null : tradeRefKey({ trader, tradeIndex }),
      ),
    async saveOrders(changes) {
      if (changes.length === 0) return [];
      const stored = await rows<OrderRow>(SAVE_ORDERS, { rows: orderRows(changes) });
      return stored.map((row) => ({ ...orderRefOf(row), id: row.id, order: readOrder(row.state) }));
    },
    async savePositions(changes) {
      if (changes.length === 0) return [];
      const stored = await rows<PositionRow>(SAVE_POSITIONS, { rows: positionRows(changes) });
      return stored.map((row) => ({ ...tradeRefOf(row), id: row.id, position: readPosition(row.state) }));
    },
  };
}

const unique = <Ref>(refs: readonly Ref[], keyOf: (ref: Ref) => string): Ref[] => [
  ...new Map(refs.map((ref) => [keyOf(ref), ref])).values(),
];

function grouped(found: readonly { event: string }[], keyOf: (event: ChainEvent) => string | null): Map<string, ChainEvent[]> {
  const groups = new Map<string, ChainEvent[]>();
  for (const { event: text } of found) {
    const event = readEvent(text);
    const key = keyOf(event);
    if (key !== null) groups.set(key, [...(groups.get(key) ?? []), event]);
  }
  return groups;
}

const ORDER_REFS = 'jsonb_to_recordset(:refs::jsonb) as wanted(trader text, order_key text)';
const TRADE_REFS = 'jsonb_to_recordset(:refs::jsonb) as wanted(trader text, trade_index bigint)';

const SELECT_ORDERS = `
  select id, orders.trader, orders.order_key, state::text from orders
  join ${ORDER_REFS} on wanted.trader = orders.trader and wanted.order_key = orders.order_key
  where chain = :chain`;

const SELECT_POSITIONS = `
  select id, positions.trader, positions.trade_index, state::text from positions
  join ${TRADE_REFS} on wanted.trader = positions.trader and wanted.trade_index = positions.trade_index
  where chain = :chain`;

/** A block that comes back brings its events back. */
const APPEND = `
  insert into chain_events (chain, event_key, trader, kind, order_key, trade_index, block_number, log_index, is_fill, event)
  select :chain, event_key, trader, kind, order_key, trade_index, block_number, log_index, is_fill, event::jsonb
  from jsonb_to_recordset(:rows::jsonb) as given(
    ord int, event_key text, trader text, kind text, order_key text, trade_index bigint, block_number bigint, log_index int,
    is_fill boolean, event text
  ) order by ord
  on conflict (chain, event_key) do update set orphaned = false, event = excluded.event where chain_events.orphaned
  returning event_key`;

const ORPHAN = `
  update chain_events set orphaned = true where chain = :chain and block_number > :block and not orphaned
  returning trader, order_key, trade_index`;

const EVENTS_OF_ORDERS = `
  select event::text from chain_events
  join ${ORDER_REFS} on wanted.trader = chain_events.trader and wanted.order_key = chain_events.order_key
  where chain = :chain and not orphaned order by block_number, log_index`;

const EVENTS_OF_TRADES = `
  select event::text from chain_events
  join ${TRADE_REFS} on wanted.trader = chain_events.trader and wanted.trade_index = chain_events.trade_index
  where chain = :chain and not orphaned order by block_number, log_index`;

/** Existing rows are updated, not upserted: an upsert would draw a new id each time. */
const SAVE_ORDERS = `
  with given as (
    select * from jsonb_to_recordset(:rows::jsonb) as row(
      ord int, trader text, order_key text, status text, is_live boolean, requested_block bigint, state text)
  ), changed as (
    update orders set status = given.status, is_live = given.is_live, requested_block = given.requested_block, state = given.state::jsonb
    from given where orders.chain = :chain and orders.trader = given.trader and orders.order_key = given.order_key
    returning orders.id, orders.trader, orders.order_key, orders.state
  ), added as (
    insert into orders (chain, trader, order_key, status, is_live, requested_block, state)
    select :chain, trader, order_key, status, is_live, requested_block, state::jsonb from given
    where not exists (select from changed where changed.trader = given.trader and changed.order_key = given.order_key) order by ord
    returning id, trader, order_key, state
  )
  select id, trader, order_key, state::text from changed union all select id, trader, order_key, state::text from added`;

const SAVE_POSITIONS = `
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
