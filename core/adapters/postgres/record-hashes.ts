import type { ChainSlug } from '../../chains/chains.js';
import { placeOffChain, type OwnEvent } from '../../domain/chain-event.js';
import { foldOrder } from '../../domain/fold-order.js';
import type { Hex } from '../../types.js';
import type { Steps } from './pipelined-transaction.js';
import { journalStatements, type NewJournalEntry } from './journal-rows.js';
import { lockedOrders, type LockedOrder, type LockedRow } from './move-order.js';
import { givenEvents, givenOrders, ORDER_COLUMNS } from './order-rows.js';
import { isNamed, statement } from './statement.js';
import { eventRows, orderRows, ownEventKey, type KeyedEvent } from './tracking-rows.js';

interface Sent {
  readonly id: bigint;
  readonly hash: Hex;
}

/** Stores the hashes of transactions that are about to be sent or were reported, in two round trips; idempotent. */
export async function recordHashes(steps: Steps, chain: ChainSlug, sent: readonly Sent[], at: number): Promise<void> {
  const hashes = new Map(sent.map(({ id, hash }) => [id, hash.toLowerCase() as Hex]));
  const given = JSON.stringify([...hashes].map(([id, hash]) => ({ id: id.toString(), hash })));
  steps.leave({ asked: LOCK, values: { chain, given } });
  const fresh = lockedOrders(await steps.ask<LockedRow>(FRESH, { chain, given }));
  if (fresh.length === 0) return;
  const events: KeyedEvent[] = [];
  const published: NewJournalEntry[] = [];
  const moved: LockedOrder[] = [];
  for (const row of fresh) {
    moved.push(row);
    if (isOnChain(row)) continue;
    const hash = hashes.get(row.id) ?? '0x';
    const event: OwnEvent = { kind: 'sent', hash, trader: row.trader, orderKey: null, tradeIndex: null, place: placeOffChain(at) };
    events.push({ event, orderId: row.id, key: ownEventKey(row.id, event.kind, hash) });
    const order = foldOrder(row.order, event) ?? row.order;
    moved.splice(-1, 1, { ...row, order });
    if (order !== row.order) published.push({ trader: row.trader, fact: { kind: 'order', id: row.id, order } });
  }
  const values = { chain, at, given, events: eventRows(events), orders: orderRows(moved) };
  steps.leave({ asked: RECORD, values }, ...journalStatements(chain, at, published));
}

/** A replacement may be signed while its predecessor is mined: chain events come after our own steps. */
const isOnChain = ({ order: { status } }: LockedOrder): boolean => status !== 'prepared' && status !== 'expired';

const GIVEN = 'jsonb_to_recordset(:given::jsonb) as given(id bigint, hash text)';

const LOCK = statement(`
  select 1 from orders where chain = :chain and ${isNamed('id', GIVEN)} and state is not null order by id for update`);

/** Orders whose hash is not stored. Must be read under their locks, since a concurrent transaction may be about to store it. */
const FRESH = statement(`
  select ${ORDER_COLUMNS}, is_sent from orders
  where chain = :chain and state is not null and id = any(array(
    select given.id from ${GIVEN} where not exists (select from order_hashes as kept where kept.order_id = given.id and kept.hash = given.hash)))`);

/** Sending changes neither key nor status of an order, only its state document and `is_sent`. */
const RECORD = statement(`
  with moved as materialized (
    select * from ${givenOrders(':orders')}
  ), happened as (
    insert into chain_events (chain, event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event)
    select cast(:chain as text), event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event::jsonb
    from ${givenEvents(':events')} on conflict (chain, event_key) do nothing
  ), kept as (
    insert into order_hashes (chain, order_id, hash, seen_at)
    select cast(:chain as text), given.id, given.hash, cast(:at as bigint) from ${GIVEN} join moved on moved.id = given.id on conflict (order_id, hash) do nothing
  )
  update orders set is_sent = true, state = moved.state::jsonb from moved where orders.chain = cast(:chain as text) and orders.id = moved.id
    and ${isNamed('orders.id', 'moved')}`);
