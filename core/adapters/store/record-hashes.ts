import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import { placeOffChain, type OwnEvent } from '../../domain/chain-event.js';
import { foldOrder } from '../../domain/fold-order.js';
import type { Hex } from '../../ports.js';
import { appendJournal, type Told } from './journal-rows.js';
import { lockOrders, type LockedOrder } from './move-order.js';
import { givenEvents, givenOrders } from './order-rows.js';
import { eventRows, orderRows, ownEventKey, type KeyedEvent } from './tracking-rows.js';

interface Sent {
  readonly id: bigint;
  readonly hash: Hex;
}

/** Orders whose transactions are about to be sent or were reported: four statements for all of them. What is known already changes nothing. */
export async function recordHashes(trx: Knex.Transaction, chain: ChainSlug, sent: readonly Sent[], at: number): Promise<void> {
  const hashes = new Map(sent.map(({ id, hash }) => [id, hash.toLowerCase() as Hex]));
  const given = JSON.stringify([...hashes].map(([id, hash]) => ({ id: id.toString(), hash })));
  const locked = await lockOrders(trx, chain, 'id = any(:ids::bigint[]) order by id for update', { ids: [...hashes.keys()].map(String) });
  const fresh = await keepHashes(trx, chain, locked, { given, at });
  if (fresh.length === 0) return;
  const events: KeyedEvent[] = [];
  const told: Told[] = [];
  const moved: LockedOrder[] = [];
  for (const row of fresh) {
    moved.push(row);
    if (isOnChain(row)) continue;
    const hash = hashes.get(row.id) ?? '0x';
    const event: OwnEvent = { kind: 'sent', hash, trader: row.trader, orderKey: null, tradeIndex: null, place: placeOffChain(at) };
    events.push({ event, orderId: row.id, key: ownEventKey(row.id, event.kind, hash) });
    const order = foldOrder(row.order, event) ?? row.order;
    moved.splice(-1, 1, { ...row, order });
    if (order !== row.order) told.push({ trader: row.trader, fact: { kind: 'order', id: row.id, order } });
  }
  await trx.raw(RECORD, { chain, events: eventRows(events), orders: orderRows(moved) } as never);
  await appendJournal(trx, chain, at, told);
}

/** A replacement may be signed while its forerunner is mined: what the chain tells of an order comes after all that we do with it. */
const isOnChain = ({ order: { status } }: LockedOrder): boolean => status !== 'prepared' && status !== 'expired';

const GIVEN = 'jsonb_to_recordset(:given::jsonb) as given(id bigint, hash text)';

/** Those whose hash nobody has kept yet. Only who holds the order's row can say: before that, somebody else may be about to keep it. */
async function keepHashes(
  trx: Knex.Transaction,
  chain: ChainSlug,
  locked: readonly LockedOrder[],
  { given, at }: { readonly given: string; readonly at: number },
): Promise<LockedOrder[]> {
  if (locked.length === 0) return [];
  const ids = locked.map(({ id }) => id.toString());
  const { rows } = await trx.raw<{ rows: { order_id: bigint }[] }>(KEEP, { chain, at, given, ids } as never);
  const kept = new Set(rows.map(({ order_id }) => order_id));
  return locked.filter(({ id }) => kept.has(id));
}

const KEEP = `
  insert into order_hashes (chain, order_id, hash, seen_at) select :chain, id, hash, :at from ${GIVEN} where id = any(:ids::bigint[])
  on conflict (order_id, hash) do nothing returning order_id`;

/** Being sent moves no order from its place and changes no status: only its text and what is known of its way. */
const RECORD = `
  with happened as (
    insert into chain_events (chain, event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event)
    select :chain, event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event::jsonb
    from ${givenEvents(':events')} on conflict (chain, event_key) do nothing
  )
  update orders set is_sent = true, state = given.state::jsonb from ${givenOrders(':orders')}
  where orders.chain = :chain and orders.id = given.id`;
