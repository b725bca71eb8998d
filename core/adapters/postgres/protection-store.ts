import type { Knex } from 'knex';
import { AWAITED_JOBS, IS_AWAITED, IS_SET, levelsOf, OWNER, PLACE } from './exchange-sql.js';
import { levelKey } from '../../domain/order-machine.js';
import type { KnownProtection, PastProtection, Protection, ProtectionStore } from '../../ports/stores/protections.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { ExchangeRecord } from '../../ports/stores/exchange.js';
import type { Address } from '../../types.js';
import type { Values } from './statement.js';

interface Row {
  id: bigint;
  slot: bigint;
  kind: Protection['kind'];
  price: string;
  seen_at: bigint;
  /** An order of a bot has it. */
  is_bots: boolean;
}

type PlacedRow = Omit<Row, 'slot' | 'is_bots'> & {
  readonly place: bigint;
  readonly is_set: boolean;
  readonly taken_over_at: bigint | null;
};

/** The index of the resting order that opened a position, from its opening execution. */
const ORIGINS = `
  select trade_index, substring(order_key from 9)::bigint as slot from chain_events
  where chain = :chain and trader = :trader and trade_index = any(:indices) and kind = 'executed' and order_key like 'resting:%'
    and not orphaned`;

const PLACED = `select ${OWNER} as id, level.kind, level.price::text, level.seen_at, ${PLACE} as place`;
/** When a native order set the same price later. Read from its events, because an order that is over is not found by its trade. */
const TAKEN_OVER_AT = `(
    select min((taken.event -> 'place' ->> 'at')::bigint) from chain_events taken join orders native on native.id = taken.order_id
    where taken.chain = level.chain and taken.trader = level.trader and taken.order_key = level.kind || ':' || ${PLACE}
      and taken.kind in ('guarded', 'guardMoved') and not taken.orphaned
      and (taken.event -> 'terms' -> 'openPrice' ->> '$n')::numeric = level.price
      and (native.state ->> 'createdAt')::bigint > level.seen_at)`;
const PAST = `${PLACED}, exists (
    select from positions where positions.chain = level.chain and positions.trader = level.trader and positions.is_open
      and positions.trade_index = ${PLACE} and ${IS_SET}) as is_set, ${TAKEN_OVER_AT} as taken_over_at`;

export const LISTED = `
  ${PAST} from (select * from protections where chain = :chain and trader = :trader order by id desc limit :limit) level
  order by level.id desc`;

export const EVER_OF = `
  ${PAST} from protections level
  where level.chain = :chain and level.trader = :trader and (level.id = :id and level.set_by is null or level.set_by = :id)
  order by level.set_by nulls first, level.id`;

export const STANDING = `
  ${PLACED}, true as is_set, null as taken_over_at from ${levelsOf(':id')} and level.chain = :chain and level.trader = :trader and (${IS_SET}
    or exists (select from exchange_orders o where o.chain = :chain and o.oid = :id and ${IS_AWAITED}))
  order by place`;

export function createProtectionStore(db: Knex): ProtectionStore {
  const rows = async <Found>(sql: string, values: Record<string, unknown>): Promise<Found[]> =>
    (await db.raw<{ rows: Found[] }>(sql, values as never)).rows;

  const originsOf = async (chain: ChainSlug, trader: Address, indices: readonly number[]): Promise<Map<number, number>> => {
    const found = await rows<{ trade_index: bigint; slot: bigint }>(ORIGINS, { chain, trader, indices });
    return new Map(found.map(({ trade_index, slot }) => [Number(trade_index), Number(slot)]));
  };

  /** A TP/SL set by one of our orders has that order's id. */
  const ordersAt = async (chain: ChainSlug, trader: Address, protections: readonly Protection[]) => {
    const found = await rows<Holder>(HOLDERS, {
      chain,
      trader,
      keys: protections.map(({ kind, tradeIndex }) => levelKey(kind, tradeIndex)),
    });
    return new Map(found.map((order) => [`${order.order_key}/${order.price}`, order]));
  };

  const placed = async (sql: string, values: Record<string, unknown>): Promise<PastProtection[]> =>
    (await rows<PlacedRow>(sql, values)).map(({ id, place, kind, price, seen_at, is_set, taken_over_at }) => ({
      id,
      tradeIndex: Number(place),
      kind,
      price: BigInt(price),
      seenAt: Number(seen_at),
      isSet: is_set,
      takenOverAt: taken_over_at === null ? null : Number(taken_over_at),
    }));

  const childrenAt = (chain: ChainSlug, trader: Address, indices: readonly number[]): Promise<Child[]> =>
    rows<Child>(CHILDREN, { chain, trader, indices, keys: indices.map((index) => `resting:${index}`) });

  const add = async (row: object): Promise<void> => {
    // A concurrent request may insert the same TP/SL or use the same id.
    await db('protections').insert(row).onConflict().ignore();
  };

  return {
    async identify(chain, trader, protections, at) {
      if (protections.length === 0) return [];
      const origins = await originsOf(chain, trader, [...new Set(protections.map(({ tradeIndex }) => tradeIndex))]);
      const wanted = protections.map((protection) => ({
        protection,
        row: { chain, trader, slot: origins.get(protection.tradeIndex) ?? protection.tradeIndex, kind: protection.kind },
        price: protection.price.toString(),
      }));
      const orders = await ordersAt(chain, trader, protections);
      const slots = [...new Set(wanted.map(({ row }) => row.slot))];
      const read = async (): Promise<Map<string, Row>> =>
        new Map((await rows<Row>(KNOWN, { chain, trader, slots })).map((row) => [keyOf(row), row]));
      let known = await read();
      const missing = wanted.filter(
        ({ protection, row, price }) => !orders.has(placeOf(protection)) && !known.has(keyOf({ ...row, price })),
      );
      if (missing.length > 0) {
        const children = await childrenAt(
          chain,
          trader,
          missing.map(({ protection }) => protection.tradeIndex),
        );
        for (const { protection, row, price } of missing) {
          const child = childOf(children, protection);
          if (child === null) await add({ ...row, price, seen_at: at });
          else if (child.held === null) await add({ ...row, id: child.oid, price, seen_at: child.created_at });
          // The contract moved the stop loss when its order was filled: it stays the same order.
          else await rows(MOVE, { chain, trader, id: child.oid, price });
        }
        known = await read();
      }
      return wanted.flatMap(({ protection, row, price }): KnownProtection[] => {
        const found = holderOf(orders.get(placeOf(protection)), known.get(keyOf({ ...row, price })));
        return found ? [{ ...protection, id: found.id, seenAt: Number(found.seen_at) }] : [];
      });
    },
    async successors(chain, trader, orderIds) {
      if (orderIds.length === 0) return new Map();
      const ids = orderIds.map(String);
      const found = await rows<{ id: bigint; oid: bigint; since: bigint }>(SUCCESSORS, { chain, trader, ids });
      return new Map(found.map(({ id, oid, since }) => [id, { oid, since: Number(since) }]));
    },
    list: (chain, trader, limit) => placed(LISTED, { chain, trader, limit }),
    everOf: (chain, trader, id) => placed(EVER_OF, { chain, trader, id }),
    standing: (chain, trader, id) => placed(STANDING, { chain, trader, id }),
  };
}

interface Holder {
  readonly id: bigint;
  readonly order_key: string;
  readonly price: string;
  readonly seen_at: bigint;
}

/** A native order that set the level has it, unless a bot's order set it again at the same price. */
const holderOf = (native: Holder | undefined, row: Row | undefined): Holder | Row | undefined =>
  native === undefined || (row?.is_bots === true && row.seen_at >= native.seen_at) ? row : native;

/** A bot's TP/SL that came with an opening, by the index of the position or of the resting order. */
interface Child {
  readonly oid: bigint;
  readonly kind: Protection['kind'];
  readonly created_at: bigint;
  readonly place: bigint;
  readonly long: boolean;
  /** The price the bot requested. */
  readonly asked: string;
  /** Its price on chain when the position was opened, or where the contract moved it since; before that, its current one. */
  readonly stored: string | null;
  readonly is_open: boolean;
  /** The price under which its id is stored already. */
  readonly held: string | null;
  /** The change that sets it is under way. */
  readonly is_awaited: boolean;
}

/**
 * The newest of a kind is valid, unless its change was not made: a changed TP/SL is another order, and has an id once it is settled. The
 * contract may move a stop loss nearer, but no take profit.
 */
function childOf(children: readonly Child[], { tradeIndex, kind, price }: Protection): Child | null {
  const own = children.filter((child) => Number(child.place) === tradeIndex && child.kind === kind);
  const isNumbered = own.some(({ held }) => held !== null);
  const newest = own.find(({ held, is_awaited }) => held !== null || is_awaited || !isNumbered);
  if (newest === undefined) return null;
  const asked = BigInt(newest.asked);
  if (price === asked) return newest;
  const isNearer = kind === 'sl' && (newest.long ? price > asked : price < asked);
  // On a resting order a stored id keeps its price: a nearer price was set by another client.
  return isNearer && price.toString() === newest.stored && (newest.is_open || newest.held === null) ? newest : null;
}

/** A trade whose stop loss was not edited after its opening: only the contract can have moved it. */
const ONLY_MOVED = `(
    select positions.state from positions
    where positions.chain = :chain and positions.trader = :trader and positions.trade_index = chain_events.trade_index and not exists (
      select from chain_events edit where edit.chain = :chain and edit.trader = :trader and edit.trade_index = chain_events.trade_index
        and edit.kind = 'edited' and edit.event ->> 'field' = 'sl' and not edit.orphaned))`;

const CHILDREN = `
  with parents as (
    select order_id as id, trade_index as place, true as is_open, coalesce(${ONLY_MOVED}, event -> 'after') as stored from chain_events
    where chain = :chain and trader = :trader and trade_index = any(:indices) and kind = 'executed' and event ->> 'action' = 'open'
      and order_id is not null and not orphaned
    union all
    select id, substring(order_key from 9)::bigint, false, state from orders
    where chain = :chain and trader = :trader and order_key = any(cast(:keys as text[]))
  )
  select child.oid, child.terms -> 'order' -> 'style' ->> 'tpsl' as kind, child.created_at, parents.place,
    not (child.terms -> 'order' ->> 'isBuy')::boolean as long, child.terms -> 'order' -> 'style' -> 'trigger' ->> '$n' as asked,
    (select price::text from protections where id = child.oid) as held, parents.is_open,
    (child.action, child.item) in (${AWAITED_JOBS}) as is_awaited,
    parents.stored -> (child.terms -> 'order' -> 'style' ->> 'tpsl') ->> '$n' as stored
  from parents join exchange_orders child on child.chain = :chain and child.parent_order = parents.id
  order by child.oid desc`;

const MOVE = 'update protections set price = :price where chain = :chain and trader = :trader and id = :id returning id';

const HOLDERS = `
  select id, order_key, state -> 'price' ->> '$n' as price, (state ->> 'createdAt')::bigint as seen_at from orders
  where chain = :chain and trader = :trader and order_key = any(cast(:keys as text[]))`;

/** The index under which the levels of a trade are stored. */
const slotOf = (tradeIndex: string): string => `coalesce((
    select substring(order_key from 9)::bigint from chain_events
    where chain = :chain and trader = :trader and trade_index = ${tradeIndex} and kind = 'executed' and order_key like 'resting:%'
      and not orphaned limit 1), ${tradeIndex})`;

/**
 * Gives an order its levels, which an earlier order may have had: the first gets the order's id. Runs in the transaction that stores the
 * order, so that one that is not stored takes nothing.
 */
export const SHARE = `
  insert into protections as level (id, chain, trader, slot, kind, price, seen_at, set_by, job)
  select case when shared.is_first then cast(:oid as bigint) else nextval('entity_ids') end, cast(:chain as text), cast(:trader as text),
    ${slotOf('shared.trade_index')}, shared.kind, shared.price, cast(:at as bigint), case when not shared.is_first then cast(:oid as bigint) end, shared.job
  from jsonb_to_recordset(cast(:levels as jsonb)) as shared(trade_index bigint, kind text, price numeric, is_first boolean, job bigint)
  on conflict (chain, trader, slot, kind, price) do update set seen_at = excluded.seen_at, set_by = excluded.set_by,
    id = case when excluded.set_by is null then excluded.id else level.id end, job = excluded.job,
    former = case when exists (select from relay_jobs where relay_jobs.id = level.job and state <> 'mined') then coalesce(level.former, '[]')
      else '[]' end || jsonb_build_object('id', level.id, 'set_by', level.set_by, 'seen_at', level.seen_at, 'job', level.job)`;

/** The values of `SHARE`. */
export const shareValues = (
  { chain, trader, createdAt }: Pick<ExchangeRecord, 'chain' | 'trader' | 'createdAt'>,
  oid: bigint,
  levels: readonly (Protection & { readonly job: bigint })[],
): Values => ({
  ...{ chain, trader, oid, at: createdAt },
  levels: JSON.stringify(
    levels.map(({ tradeIndex, kind, price, job }, at) => ({
      ...{ trade_index: tradeIndex, kind, price: price.toString(), is_first: at === 0, job: job.toString() },
    })),
  ),
});

/** Whether an order of a bot has the level. */
const IS_BOTS = `exists (select from exchange_orders o where o.chain = level.chain and o.oid = ${OWNER})`;

/** A native order stays open while its level stands, also where a bot's order set the same price later: the contract does not record who set it. */
export const SUCCESSORS = `
  select native.id, ${OWNER} as oid, level.seen_at as since from orders native
  join protections level on level.chain = native.chain and level.trader = native.trader
    and level.slot = ${slotOf("(native.state ->> 'tradeIndex')::bigint")}
    and level.kind = case native.state ->> 'type' when 'limit' then 'tp' when 'stop' then 'sl' end
    and level.price = (native.state -> 'price' ->> '$n')::numeric and level.seen_at >= (native.state ->> 'createdAt')::bigint
  where native.id = any(cast(:ids as bigint[])) and native.chain = :chain and native.trader = :trader
    and native.state ->> 'action' = 'close' and ${OWNER} <> native.id and ${IS_BOTS}`;

const placeOf = ({ kind, tradeIndex, price }: Protection): string => `${levelKey(kind, tradeIndex)}/${price}`;

const KNOWN = `
  select ${OWNER} as id, slot, kind, price::text, seen_at, ${IS_BOTS} as is_bots from protections level
  where chain = :chain and trader = :trader and slot = any(:slots)`;

const keyOf = ({ slot, kind, price }: { slot: number | bigint; kind: string; price: string }): string => `${slot}/${kind}/${price}`;
