import { isFillAction, type ChainEvent, type OrderKey } from '../../domain/chain-event.js';
import type { MarketMinute } from '../../domain/market-minute.js';
import { holdsSpending, isLive, type Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { Referral } from '../../domain/referral.js';
import { logKey, type Checkpoint, type LinkedEvent, type OrderRef, type StoredOrder, type TradeRef } from '../../ports/stores/tracking.js';
import { decodeExact, encodeExact, isNamed, statement, type Question } from './statement.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import { settling } from './spend-store.js';

/** Rows are sent as one JSON document, so that a batch of any size is one statement. */

/** Events from logs are keyed by block, transaction and log index; others by subject, kind and block. */
export function eventKey({ place, kind, trader, orderKey, tradeIndex }: ChainEvent): string {
  const { blockHash, txHash, logIndex, blockNumber } = place;
  // Another event may follow from the same log, once it can be read.
  if (kind === 'unexplained') return `${blockHash ?? ''}/${txHash ?? ''}/${logIndex ?? ''}/unexplained`;
  return logIndex === null || blockHash === null || txHash === null
    ? `${trader}/${orderKey ?? tradeIndex ?? ''}/${kind}/${blockNumber}`
    : logKey({ blockHash, txHash, logIndex });
}

/** Off-chain events of our orders are keyed by order, kind and a number or hash. */
export const ownEventKey = (orderId: bigint, kind: ChainEvent['kind'], number: number | string): string =>
  `order:${orderId}/${kind}/${number}`;

export interface KeyedEvent extends LinkedEvent {
  readonly key: string;
}

export const eventRows = (events: readonly KeyedEvent[]): string =>
  JSON.stringify(
    events.map(({ event, orderId, net, key }, ord) => ({
      ord,
      event_key: key,
      trader: event.trader,
      kind: event.kind,
      order_key: event.orderKey,
      order_id: orderId?.toString() ?? null,
      trade_index: event.tradeIndex,
      block_number: event.place.blockNumber.toString(),
      log_index: event.place.logIndex ?? -1,
      is_fill: event.kind === 'executed' && isFillAction(event.action),
      net_before: net?.before.toString() ?? null,
      net_after: net?.after.toString() ?? null,
      event: encodeExact(event),
    })),
  );

export const orderRows = (orders: readonly StoredOrder[]): string =>
  JSON.stringify(
    orders.map(({ id, trader, orderKey, firstKey, agent, repeatOf, order }) => ({
      id: id.toString(),
      trader,
      order_key: orderKey,
      first_key: firstKey,
      agent,
      repeat_of: repeatOf?.toString() ?? null,
      client_id: order?.clientId ?? null,
      status: order?.status ?? null,
      is_live: order !== null && isLive(order),
      // Without one no timeout counts.
      requested_block: order?.unexplained === undefined ? (order?.requestedBlock?.toString() ?? null) : null,
      expires_at: order?.expiresAt ?? null,
      state: order === null ? null : encodeExact(order),
    })),
  );

export const positionRows = (changes: readonly (TradeRef & { readonly position: PositionState | null })[]): string =>
  JSON.stringify(
    changes.map(({ trader, tradeIndex, position }, ord) => ({
      ord,
      trader,
      trade_index: tradeIndex,
      is_open: position?.isOpen ?? false,
      state: position === null ? null : encodeExact(position),
    })),
  );

export const referralRows = (referrals: readonly Referral[]): string =>
  JSON.stringify(
    referrals.map(({ kind, beneficiary, trader, volumeUsd, amountGns, amountUsd, place }) => ({
      event_key: logKey(place),
      block_number: place.blockNumber.toString(),
      kind,
      beneficiary,
      trader,
      volume_usd: volumeUsd.toString(),
      amount_gns: amountGns.toString(),
      amount_usd: amountUsd.toString(),
      at: place.at,
    })),
  );

export const minuteRows = (minutes: readonly MarketMinute[]): string =>
  JSON.stringify(minutes.map(({ pairIndex, time, base, trades }) => ({ pair_index: pairIndex, time, base: base.toString(), trades })));

export const orderRefs = (refs: readonly OrderRef[]): string =>
  JSON.stringify(refs.map(({ trader, orderKey }) => ({ trader, order_key: orderKey })));

export const tradeRefs = (refs: readonly TradeRef[]): string =>
  JSON.stringify(refs.map(({ trader, tradeIndex }) => ({ trader, trade_index: tradeIndex })));

/** Reads only documents that these functions wrote. */
export const readEvent = (text: string): ChainEvent => decodeExact(text) as ChainEvent;
export const readOrder = (text: string | null): Order | null => (text === null ? null : (decodeExact(text) as Order));
export const readPosition = (text: string | null): PositionState | null => (text === null ? null : (decodeExact(text) as PositionState));

export const checkpointRows = (passed: readonly Checkpoint[]): string =>
  JSON.stringify(passed.map(({ number, hash }) => ({ block_number: number.toString(), block_hash: hash })));

/** Statements that store an order's new state, as part of a transaction. */

export interface OrderRow {
  readonly id: bigint;
  readonly trader: Address;
  readonly order_key: OrderKey | null;
  readonly first_key: OrderKey | null;
  readonly agent: Address | null;
  readonly repeat_of: bigint | null;
  readonly state: string | null;
}

export const ORDER_COLUMNS = 'id, trader, order_key, first_key, agent, repeat_of, state::text';

export const storedOrder = (row: OrderRow): StoredOrder => ({
  id: row.id,
  trader: row.trader,
  orderKey: row.order_key,
  firstKey: row.first_key,
  agent: row.agent,
  repeatOf: row.repeat_of,
  order: readOrder(row.state),
});

/** Updates the order's reserved spending with its status in the same transaction. */
export function saving(chain: ChainSlug, orders: readonly StoredOrder[]): Question[] {
  if (orders.length === 0) return [];
  const values = { chain, rows: orderRows(orders) };
  const held = orders.flatMap(({ id, agent, order }) => {
    if (order === null) return [];
    const size = order.status === 'open' && agent !== null ? order.sizeCollateral.toString() : null;
    return [{ id: id.toString(), holds: holdsSpending(order), size }];
  });
  return [{ asked: RELEASE_KEYS, values }, { asked: SAVE_ORDERS, values }, ...settling(chain, held)];
}

/** Adds events, or restores those a reorganisation had undone. Returns the ids of the newly valid ones. */
export const appending = (chain: ChainSlug, events: readonly KeyedEvent[]): Question => ({
  asked: APPEND,
  values: { chain, rows: eventRows(events) },
});

export interface AppendedRow {
  readonly id: bigint;
  readonly event_key: string;
}

/** The output of `orderRows` and `eventRows` as a table; `rows` is the parameter. */
export const givenOrders = (rows: string): string => `jsonb_to_recordset(${rows}::jsonb) as given(
  id bigint, trader text, order_key text, first_key text, agent text, repeat_of bigint, client_id text, status text, is_live boolean,
  requested_block bigint, expires_at bigint, state text)`;

export const givenEvents = (rows: string): string => `jsonb_to_recordset(${rows}::jsonb) as given(
  ord int, event_key text, trader text, kind text, order_key text, order_id bigint, trade_index bigint, block_number bigint, log_index int,
  is_fill boolean, net_before numeric, net_after numeric, event text)`;

export function grouped<Row extends { readonly event: string }, Key>(
  found: readonly Row[],
  keyOf: (row: Row, event: ChainEvent) => Key,
): Map<Key, ChainEvent[]> {
  const groups = new Map<Key, ChainEvent[]>();
  for (const row of found) {
    const event = readEvent(row.event);
    const key = keyOf(row, event);
    const group = groups.get(key);
    if (group) group.push(event);
    else groups.set(key, [event]);
  }
  return groups;
}

/** A key can move from one order to another in one transaction, so it is released first. */
const RELEASE_KEYS = statement(`
  update orders set order_key = null from ${givenOrders(':rows')}
  where orders.chain = cast(:chain as text) and orders.id = given.id and ${isNamed('orders.id', givenOrders(':rows'))}
    and orders.order_key is not null and orders.order_key is distinct from given.order_key`);

const SAVE_ORDERS = statement(`
  insert into orders (id, chain, trader, order_key, first_key, agent, repeat_of, client_id, status, is_live, requested_block, expires_at, is_sent, state)
  select id, cast(:chain as text), trader, order_key, first_key, agent, repeat_of, client_id, status, is_live, requested_block, expires_at,
    requested_block is not null, state::jsonb
  from ${givenOrders(':rows')} order by id
  on conflict (id) do update set order_key = excluded.order_key, first_key = excluded.first_key, status = excluded.status,
    is_live = excluded.is_live, requested_block = excluded.requested_block, expires_at = excluded.expires_at,
    is_sent = orders.is_sent or excluded.is_sent, state = excluded.state`);

/** A block that becomes canonical again restores its events. */
const APPEND = statement(`
  insert into chain_events (chain, event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, net_before, net_after, event)
  select cast(:chain as text), event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, net_before, net_after, event::jsonb
  from ${givenEvents(':rows')} order by ord
  on conflict (chain, event_key) do update set orphaned = false, event = excluded.event, order_id = excluded.order_id, kind = excluded.kind,
    order_key = excluded.order_key, trade_index = excluded.trade_index, is_fill = excluded.is_fill,
    net_before = excluded.net_before, net_after = excluded.net_after where chain_events.orphaned
  returning id, event_key`);
