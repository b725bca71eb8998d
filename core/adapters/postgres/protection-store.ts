import type { Knex } from 'knex';
import { AWAITED_WITH_JOBS, IS_AWAITED } from './exchange-sql.js';
import {
  copyTo,
  FOLLOW_OPENING,
  IS_DISPLACED,
  IS_NEWEST_MINED,
  IS_OWNER,
  IS_SET,
  isNativeLater,
  nativeSince,
  isNatives,
  hasNotFailed,
  levelsOf,
  newestFirst,
  onTrades,
  OWNER,
  PLACE,
  rowsOf,
  slotOf,
} from './level-sql.js';
import { levelKey } from '../../domain/order-machine.js';
import type { KnownProtection, PastProtection, Protection, ProtectionStore } from '../../ports/stores/protections.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { ExchangeRecord } from '../../ports/stores/exchange.js';
import type { Address } from '../../types.js';
import { askAll, lock, statement, type Values } from './statement.js';

interface LevelRow {
  readonly id: bigint;
  readonly kind: Protection['kind'];
  readonly price: string;
  readonly seen_at: bigint;
}

interface Row extends LevelRow {
  readonly slot: bigint;
  /** An order of a bot has it. */
  readonly is_bots: boolean;
  /** A native order set it later. */
  readonly is_natives: boolean;
  /** It came with an opening that has another number since a reorganisation. */
  readonly is_displaced: boolean;
}

interface PlacedRow extends LevelRow {
  readonly place: bigint;
  readonly is_set: boolean;
  readonly taken_over_at: bigint | null;
}

/** The index of the resting order that opened a position, from its opening execution. */
const ORIGINS = `
  select trade_index, substring(order_key from 9)::bigint as slot from chain_events
  where chain = :chain and trader = :trader and trade_index = any(:indices) and kind = 'executed' and order_key like 'resting:%'
    and not orphaned`;

const PLACED = `level.owner as id, level.kind, level.price::text, level.seen_at, ${PLACE} as place`;
const TAKEN = `taken.chain = level.chain and taken.trader = level.trader and taken.order_key = level.kind || ':' || ${PLACE}
      and taken.kind in ('guarded', 'guardMoved') and not taken.orphaned
      and (taken.event -> 'terms' -> 'openPrice' ->> '$n')::numeric = level.price`;
/**
 * When a native order first had the same price, of those that set one later. Read from its events, because an order that is over is not
 * found by its trade. Each order is compared once, however many events it has: hence the `offset`.
 */
const TAKEN_OVER_AT = `(
    select min((taken.event -> 'place' ->> 'at')::bigint) from (
      select native.id, ${nativeSince({ native: 'native', place: PLACE })} as since from orders native
      where native.id = any(array(select distinct taken.order_id from chain_events taken where ${TAKEN})) offset 0) native
    join chain_events taken on taken.order_id = native.id
    where ${TAKEN} and array[taken.block_number, taken.log_index] >= native.since)`;
const PAST = `${PLACED}, exists (
    select from positions where positions.chain = level.chain and positions.trader = level.trader and positions.is_open
      and positions.trade_index = ${PLACE} and ${IS_SET}) as is_set, ${TAKEN_OVER_AT} as taken_over_at`;

const OWN = { chain: ':chain', trader: ':trader', oid: ':id' };

export const LISTED = `
  select ${PAST} from level_owners level
  where level.chain = :chain and level.trader = :trader and ${IS_OWNER} and level.owner = any(array(
    select distinct level.owner from level_owners level
    where level.chain = :chain and level.trader = :trader and ${IS_OWNER} order by level.owner desc limit :limit))
  order by level.owner desc, level.slot, level.id desc`;

export const EVER_OF = `
  select ${PAST} from level_owners level where ${rowsOf(OWN)} and ${IS_OWNER}
  order by level.slot, level.id desc`;

/** The contract may move a stop loss while its order is under way: then its trade has it at either price. */
export const STANDING = `
  select distinct on (place, level.kind) ${PLACED}, true as is_set, null as taken_over_at from ${levelsOf(OWN)} and (${IS_SET}
    or exists (select from exchange_orders o where o.chain = :chain and o.oid = :id and ${IS_AWAITED}))
  order by place, level.kind, (${IS_SET}) desc, level.id`;

const isAwaited = (oid: string): string =>
  `exists (select from exchange_orders o where o.chain = :chain and o.oid = ${oid} and ${IS_AWAITED})`;

/** Its trade has the level, or is about to get it, while a later order is about to set the same one. */
export const IS_CONTESTED = `
  select exists (
    select from ${onTrades(OWN)} and (${IS_SET} and ${IS_NEWEST_MINED} or ${hasNotFailed('level')} and ${isAwaited(':id')})
      and ${OWNER} <> :id and ${isAwaited(OWNER)}) as is_contested`;

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

  /** Under a lock, because a concurrent request may number the same TP/SL. */
  const add = async (row: NewOwner): Promise<void> => {
    await askAll(db, [lock(`levels of ${row.trader} on ${row.chain}`), { asked: ADD, values: { ...row } }]);
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
      const levels = JSON.stringify(wanted.map(({ row: { slot, kind }, price }) => ({ slot, kind, price })));
      const read = async (): Promise<Map<string, Row>> =>
        new Map((await rows<Row>(KNOWN, { chain, trader, levels })).map((row) => [keyOf(row), row]));
      const followOpenings = (owners: readonly bigint[]) => rows(FOLLOW_OPENING, { chain, trader, owners: owners.map(String) });
      let known = await read();
      const displaced = [...known.values()].filter(({ is_displaced }) => is_displaced);
      if (displaced.length > 0) {
        await followOpenings(displaced.map(({ id }) => id));
        known = await read();
      }
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
          if (child === null) await add({ ...row, price, owner: null, job: null, seenAt: at });
          else if (!child.is_held) await add({ ...row, price, owner: child.oid, job: child.job, seenAt: Number(child.created_at) });
          else {
            await followOpenings([child.oid]);
            // The contract moved the stop loss when its order was filled: it stays the same order.
            await rows(MOVE, { chain, trader, id: child.oid, price });
          }
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
    async laterThan({ chain, trader, action, item, createdAt: at }, orderIds) {
      if (orderIds.length === 0) return new Set();
      const found = await rows<{ id: bigint }>(LATER_THAN, { chain, trader, action, item, at, ids: orderIds.map(String) });
      return new Set(found.map(({ id }) => id));
    },
    list: (chain, trader, limit) => placed(LISTED, { chain, trader, limit }),
    everOf: (chain, trader, id) => placed(EVER_OF, { chain, trader, id }),
    standing: (chain, trader, id) => placed(STANDING, { chain, trader, id }),
    isContested: async (chain, trader, id) =>
      (await rows<{ is_contested: boolean }>(IS_CONTESTED, { chain, trader, id })).some(({ is_contested }) => is_contested),
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
  native === undefined || (row?.is_bots === true && !row.is_natives) ? row : native;

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
  /** It has a level already, at this price or another. */
  readonly is_held: boolean;
  /** The change that sets it, while it is under way. */
  readonly job: bigint | null;
}

/**
 * The newest of a kind is valid, unless its change was not made: a changed TP/SL is another order, and has an id once it is settled. The
 * contract may move a stop loss nearer, but no take profit.
 */
function childOf(children: readonly Child[], { tradeIndex, kind, price }: Protection): Child | null {
  const own = children.filter((child) => Number(child.place) === tradeIndex && child.kind === kind);
  const isNumbered = own.some(({ is_held }) => is_held);
  const newest = own.find(({ is_held, job }) => is_held || job !== null || !isNumbered);
  if (newest === undefined) return null;
  const asked = BigInt(newest.asked);
  if (price === asked) return newest;
  const isNearer = kind === 'sl' && (newest.long ? price > asked : price < asked);
  // On a resting order a stored id keeps its price: a nearer price was set by another client.
  return isNearer && price.toString() === newest.stored && (newest.is_open || !newest.is_held) ? newest : null;
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
    exists (select from level_owners level where ${rowsOf({ ...OWN, oid: 'child.oid' })} and ${hasNotFailed('level')}) as is_held, parents.is_open,
    awaited.job,
    parents.stored -> (child.terms -> 'order' -> 'style' ->> 'tpsl') ->> '$n' as stored
  from parents join exchange_orders child on child.chain = :chain and child.parent_order = parents.id
  left join (${AWAITED_WITH_JOBS}) awaited on awaited.parent = child.action and awaited.item = child.item
  order by child.oid desc`;

const MOVE = copyTo(rowsOf(OWN), 'cast(:price as numeric)');

/** A level that was found on chain and that no order has yet. */
interface NewOwner {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly slot: number;
  readonly kind: Protection['kind'];
  readonly price: string;
  /** The TP/SL that came with an opening; null: the level gets a number of its own. */
  readonly owner: bigint | null;
  readonly job: bigint | null;
  readonly seenAt: number;
}

const ADD = statement(`
  insert into level_owners (chain, trader, slot, kind, price, owner, job, seen_at)
  select cast(:chain as text), cast(:trader as text), cast(:slot as bigint), cast(:kind as text), cast(:price as numeric),
    coalesce(cast(:owner as bigint), nextval('entity_ids')), coalesce(cast(:job as bigint), 0), cast(:seenAt as bigint)
  where not exists (
    select from level_owners level where level.chain = cast(:chain as text) and level.trader = cast(:trader as text)
      and level.slot = cast(:slot as bigint) and level.kind = cast(:kind as text) and level.price = cast(:price as numeric) and ${hasNotFailed('level')})
  on conflict do nothing`);

const HOLDERS = `
  select id, order_key, state -> 'price' ->> '$n' as price, (state ->> 'createdAt')::bigint as seen_at from orders
  where chain = :chain and trader = :trader and order_key = any(cast(:keys as text[]))`;

/**
 * Gives an order its levels, which an earlier order may have had. Runs in the transaction that stores the order, so that one that is not
 * stored takes nothing.
 */
export const SHARE = `
  insert into level_owners (chain, trader, slot, kind, price, owner, job, seen_at)
  select cast(:chain as text), cast(:trader as text), ${slotOf('shared.trade_index')}, shared.kind, shared.price, cast(:oid as bigint), shared.job,
    cast(:at as bigint)
  from jsonb_to_recordset(cast(:levels as jsonb)) as shared(trade_index bigint, kind text, price numeric, job bigint)`;

/** The values of `SHARE`. */
export const shareValues = (
  { chain, trader, createdAt }: Pick<ExchangeRecord, 'chain' | 'trader' | 'createdAt'>,
  oid: bigint,
  levels: readonly (Protection & { readonly job: bigint })[],
): Values => ({
  ...{ chain, trader, oid, at: createdAt },
  levels: JSON.stringify(
    levels.map(({ tradeIndex, kind, price, job }) => ({ trade_index: tradeIndex, kind, price: price.toString(), job: job.toString() })),
  ),
});

/** Whether an order of a bot has the level. */
const IS_BOTS = `exists (select from exchange_orders o where o.chain = level.chain and o.oid = level.owner)`;

const NATIVE_TRADE = "(native.state ->> 'tradeIndex')::bigint";
const NATIVE_KIND = "case native.state ->> 'type' when 'limit' then 'tp' when 'stop' then 'sl' end";

/** Of native orders those that set their level after an order that also opens, which has no row in `level_owners`. */
export const LATER_THAN = `
  select native.id from orders native cross join lateral (
    select native.chain, native.trader, ${NATIVE_KIND} as kind, cast(:at as bigint) as seen_at) level
  where native.id = any(cast(:ids as bigint[])) and native.chain = :chain and native.trader = :trader
    and ${isNativeLater({
      ...{ native: 'native', place: NATIVE_TRADE },
      isOwn: `exists (
        select from relay_jobs job where job.id = sent.job_id and job.parent = cast(:action as bigint)
          and (job.context ->> 'item')::integer = cast(:item as integer))`,
    })}`;

/** A native order stays open while its level stands, also where a bot's order set the same price later: the contract does not record who set it. */
export const SUCCESSORS = `
  select native.id, level.owner as oid, level.seen_at as since from orders native
  join level_owners level on level.chain = native.chain and level.trader = native.trader
    and level.slot = ${slotOf(NATIVE_TRADE)}
    and level.kind = ${NATIVE_KIND}
    and level.price = (native.state -> 'price' ->> '$n')::numeric and not ${isNativeLater({ native: 'native', place: NATIVE_TRADE })}
  where native.id = any(cast(:ids as bigint[])) and native.chain = :chain and native.trader = :trader
    and native.state ->> 'action' = 'close' and level.owner <> native.id and ${IS_BOTS} and ${IS_OWNER}`;

const placeOf = ({ kind, tradeIndex, price }: Protection): string => `${levelKey(kind, tradeIndex)}/${price}`;

/** Looks for the newest of each level only, as any number of orders may have set it. */
export const KNOWN = `
  select level.owner as id, level.slot, level.kind, level.price::text, level.seen_at, ${IS_BOTS} as is_bots,
    ${isNatives(PLACE)} as is_natives, ${IS_DISPLACED} as is_displaced
  from jsonb_to_recordset(cast(:levels as jsonb)) as wanted(slot bigint, kind text, price numeric) cross join lateral (
    select * from level_owners row
    where row.chain = :chain and row.trader = :trader and row.slot = wanted.slot and row.kind = wanted.kind and row.price = wanted.price
      and ${hasNotFailed('row')}
    order by ${newestFirst('row')} limit 1
  ) level`;

const keyOf = ({ slot, kind, price }: { slot: number | bigint; kind: string; price: string }): string => `${slot}/${kind}/${price}`;
