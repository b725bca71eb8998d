import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { ExchangeOrder } from '../../domain/relay/exchange-order.js';
import type { Address } from '../../types.js';
import type {
  Answered,
  ChildRecord,
  ExchangeLeg,
  ExchangeRecord,
  ExchangeStore,
  ScheduledCancel,
  WireTerms,
} from '../../ports/stores/exchange.js';
import { AMENDED, ANSWER, FACTS, FIRST_OF_CLOID, LIVE_CLOIDS, readFacts, type FactsRow } from './exchange-sql.js';
import { ask, decodeExact, encodeExact, statement, type Values } from './statement.js';
import { JOURNAL_CHANNEL } from './journal-rows.js';

interface Row {
  chain: ChainSlug;
  oid: bigint;
  trader: Address;
  agent: Address;
  action: bigint;
  item: number;
  cloid: string | null;
  pair_index: number;
  manner: ExchangeRecord['manner'];
  terms: string;
  created_at: bigint;
  legs: string;
  answered: Answered | null;
  parent_order: bigint | null;
}

interface LegRow {
  role: ExchangeLeg['role'];
  order_id: string | null;
  trade_index: number | null;
  size_base: string;
}

const RECORDS = `
  select o.chain, o.oid, o.trader, o.agent, o.action, o.item, o.cloid, o.pair_index, o.manner, o.terms::text, o.created_at, o.answered, o.parent_order,
    (select coalesce(json_agg(json_build_object('role', role, 'order_id', order_id::text, 'trade_index', trade_index,
       'size_base', size_base::text) order by seq), '[]')::text from exchange_legs l where l.chain = o.chain and l.oid = o.oid) as legs
  from exchange_orders o`;

export function createExchangeStore(db: Knex): ExchangeStore {
  const rows = async <Found>(sql: string, values: Record<string, unknown>): Promise<Found[]> =>
    (await db.raw<{ rows: Found[] }>(sql, values as never)).rows;
  const records = async (where: string, values: Record<string, unknown>): Promise<ExchangeRecord[]> =>
    (await rows<Row>(`${RECORDS} where o.chain = :chain and ${where}`, values)).map(readRecord);

  return {
    async facts(chain, trader) {
      const [row] = await ask<FactsRow>(db, FACTS, { chain, trader });
      if (!row) throw new Error('The facts of a trader were not read.');
      return readFacts(row);
    },
    async liveCloids(chain, trader, cloids) {
      const found = await ask<{ cloid: string }>(db, LIVE_CLOIDS, { chain, trader, cloids: [...cloids] });
      return new Set(found.map(({ cloid }) => cloid));
    },
    async record(record) {
      await ask(db, RECORD, recordValues(record));
    },
    async answer(chain, oid, answered, at) {
      await ask(db, ANSWER, { chain, oid, answered, at, channel: JOURNAL_CHANNEL });
    },
    find: async (chain, trader, oid) => (await records('o.trader = :trader and o.oid = :oid', { chain, trader, oid }))[0] ?? null,
    async ofOids(chain, trader, oids) {
      if (oids.length === 0) return new Map();
      const found = await records('o.trader = :trader and o.oid = any(:oids::bigint[])', { chain, trader, oids: oids.map(String) });
      return new Map(found.map((record) => [record.oid, record]));
    },
    ofCloid: (chain, trader, cloid, limit) => records(FIRST_OF_CLOID, { chain, trader, cloid, limit }),
    async ofOrders(chain, orderIds) {
      if (orderIds.length === 0) return new Map();
      const ids = [...new Set(orderIds)].map(String);
      const found = await records('o.oid in (select oid from exchange_legs where chain = :chain and order_id = any(:ids::bigint[]))', {
        chain,
        ids,
      });
      return new Map(
        found.flatMap((record) => record.legs.flatMap(({ orderId }) => (orderId === null ? [] : [[orderId, record] as const]))),
      );
    },
    isAmended: async (chain, trader, tradeIndex) => (await ask(db, AMENDED, { chain, trader, tradeIndex })).length > 0,
    orderedBefore: async (chain, trader, tradeIndices, at) =>
      (await rows<{ trade_index: string }>(ORDERED_BEFORE, { chain, trader, tradeIndices: [...tradeIndices], at })).map((row) =>
        Number(row.trade_index),
      ),
    async schedule({ chain, trader, agent, action, dueAt }) {
      if (dueAt !== null) return (await rows(SCHEDULE, { chain, trader, agent, action, dueAt })).length > 0;
      await rows('delete from scheduled_cancels where chain = :chain and trader = :trader returning 1', { chain, trader });
      return true;
    },
    takeDue: async (chain, now, againAt) =>
      (await rows<Omit<ScheduledCancel, 'dueAt'> & { fired_at: bigint }>(TAKE_DUE, { chain, now, againAt })).map(
        ({ fired_at, ...cancel }) => ({ ...cancel, dueAt: Number(fired_at) }),
      ),
    async putBack({ chain, trader, action }, dueAt) {
      await rows(PUT_BACK, { chain, trader, action, dueAt });
    },
    async fired({ chain, trader, action }) {
      await rows('delete from scheduled_cancels where chain = :chain and trader = :trader and action = :action returning 1', {
        chain,
        trader,
        action,
      });
    },
  };
}

export const recordValues = ({
  chain,
  oid,
  trader,
  agent,
  action,
  item,
  cloid,
  pairIndex,
  manner,
  createdAt,
  ...terms
}: ExchangeRecord): Values => ({
  ...{ chain, oid, trader, agent, action, item, cloid, pairIndex, manner, createdAt },
  terms: encodeExact({ order: terms.order, wire: terms.wire }),
  legs: JSON.stringify(terms.legs.map(writeLeg)),
});

/** The values of `EXTEND`: a bot's order that missed its price now rests at it under the same oid. */
export const extendValues = ({ chain, oid, manner, legs }: Pick<ExchangeRecord, 'chain' | 'oid' | 'manner' | 'legs'>): Values => ({
  ...{ chain, oid, manner },
  legs: JSON.stringify(legs.map(writeLeg)),
});

/** The values of `RECORD_CHILD`. */
export const childValues = ({ order, wire, trigger, ...child }: ChildRecord): Record<string, unknown> => ({
  ...child,
  kind: trigger.kind,
  price: trigger.price.toString(),
  terms: encodeExact({ order, wire }),
});

/** Uses the values of `recordValues`. Returns nothing if another record has the id. */
export const RECORD = statement(`
  with added as (
    insert into exchange_orders (chain, oid, trader, agent, action, item, cloid, pair_index, manner, terms, created_at)
    values (:chain, :oid, :trader, :agent, :action, :item, :cloid, :pairIndex, :manner, :terms::jsonb, :createdAt)
    on conflict (chain, oid) do nothing returning chain, oid
  ), added_legs as (
    insert into exchange_legs (chain, oid, seq, role, order_id, trade_index, size_base)
    select added.chain, added.oid, leg.seq, leg.item->>'role', (leg.item->>'order_id')::bigint, (leg.item->>'trade_index')::bigint,
      (leg.item->>'size_base')::numeric
    from added, jsonb_array_elements(:legs::jsonb) with ordinality as leg(item, seq)
    on conflict do nothing
  )
  select 1 from added`);

const writeLeg = ({ role, orderId, tradeIndex, sizeBase }: ExchangeLeg): object => ({
  role,
  order_id: orderId?.toString() ?? null,
  trade_index: tradeIndex,
  size_base: sizeBase.toString(),
});

function readRecord({ pair_index, created_at, terms, legs, answered, parent_order, ...row }: Row): ExchangeRecord {
  const { order, wire } = decodeExact(terms) as { order: ExchangeOrder; wire: WireTerms };
  const read = (JSON.parse(legs) as LegRow[]).map(({ role, order_id, trade_index, size_base }) => ({
    role,
    orderId: order_id === null ? null : BigInt(order_id),
    tradeIndex: trade_index,
    sizeBase: BigInt(size_base),
  }));
  const record = { ...row, pairIndex: pair_index, createdAt: Number(created_at), order, wire, legs: read, parentOrder: parent_order };
  return answered === null ? record : { ...record, answered };
}

/** `fired_at` is when it first came due; `due_at` moves until it is done. The schedule of a removed agent never comes due. */
export const TAKE_DUE = `
  update scheduled_cancels set fired_at = coalesce(fired_at, due_at), due_at = :againAt where chain = :chain and due_at <= :now
  and exists (select from agents where agents.chain = scheduled_cancels.chain and agents.agent = scheduled_cancels.agent
    and agents.trader = scheduled_cancels.trader and agents.revoked_at is null)
  returning chain, trader, agent, action, fired_at`;

const PUT_BACK = `
  update scheduled_cancels set due_at = :dueAt
  where chain = :chain and trader = :trader and action = :action and fired_at is not null returning 1`;

/** Locks the agent's row against a concurrent removal: either the removal deletes this schedule, or it is not set. */
const SCHEDULE = `
  with live as (
    select agent from agents where chain = :chain and agent = :agent and trader = :trader and revoked_at is null for share
  )
  insert into scheduled_cancels (chain, trader, agent, action, due_at)
  select cast(:chain as text), cast(:trader as text), agent, cast(:action as bigint), cast(:dueAt as bigint) from live
  on conflict (chain, trader) do update set agent = excluded.agent, action = excluded.action, due_at = excluded.due_at, fired_at = null
  returning 1`;

/** Deletes the schedules of a removed agent, so that they cannot cancel the trader's orders later. */
export async function dropSchedules(
  trx: Knex.Transaction,
  chain: ChainSlug,
  { trader, agent }: { trader: Address; agent: Address },
): Promise<void> {
  await trx('scheduled_cancels').where({ chain, trader, agent }).delete();
}

const ORDERED_BEFORE = `
  select distinct event.trade_index from chain_events event join orders on orders.id = event.order_id
  where event.chain = :chain and event.trader = :trader and event.trade_index = any (:tradeIndices::bigint[]) and not event.orphaned
  and orders.state->>'action' = 'open' and (orders.state->>'createdAt')::bigint <= :at`;
