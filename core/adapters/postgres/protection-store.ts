import type { Knex } from 'knex';
import { AWAITED_JOBS } from './exchange-sql.js';
import { levelKey } from '../../domain/order-machine.js';
import type { KnownProtection, Protection, ProtectionStore } from '../../ports/stores/protections.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

interface Row {
  id: bigint;
  slot: bigint;
  kind: Protection['kind'];
  price: string;
  seen_at: bigint;
}

/** The index of the resting order that opened a position, from its opening execution. */
const ORIGINS = `
  select trade_index, substring(order_key from 9)::bigint as slot from chain_events
  where chain = :chain and trader = :trader and trade_index = any(:indices) and kind = 'executed' and order_key like 'resting:%'
    and not orphaned`;

const LISTED = `
  select id, slot, kind, price::text, seen_at, coalesce((
    select trade_index from chain_events heir
    where heir.chain = known.chain and heir.trader = known.trader and heir.order_key = 'resting:' || known.slot and heir.kind = 'executed'
      and not heir.orphaned limit 1
  ), slot) as place
  from (select * from protections where chain = :chain and trader = :trader order by id desc limit :limit) known
  order by id desc`;

const HEIR = `
  select trade_index from chain_events
  where chain = :chain and trader = :trader and order_key = :key and kind = 'executed' and not orphaned limit 1`;

export function createProtectionStore(db: Knex): ProtectionStore {
  const rows = async <Found>(sql: string, values: Record<string, unknown>): Promise<Found[]> =>
    (await db.raw<{ rows: Found[] }>(sql, values as never)).rows;

  const originsOf = async (chain: ChainSlug, trader: Address, indices: readonly number[]): Promise<Map<number, number>> => {
    const found = await rows<{ trade_index: bigint; slot: bigint }>(ORIGINS, { chain, trader, indices });
    return new Map(found.map(({ trade_index, slot }) => [Number(trade_index), Number(slot)]));
  };

  /** A TP/SL set by one of our orders has that order's id. */
  const ordersAt = async (chain: ChainSlug, trader: Address, protections: readonly Protection[]) => {
    const found = await rows<{ id: bigint; order_key: string; price: string; seen_at: bigint }>(HOLDERS, {
      chain,
      trader,
      keys: protections.map(({ kind, tradeIndex }) => levelKey(kind, tradeIndex)),
    });
    return new Map(found.map((order) => [`${order.order_key}/${order.price}`, order]));
  };

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
        const found = orders.get(placeOf(protection)) ?? known.get(keyOf({ ...row, price }));
        return found ? [{ ...protection, id: found.id, seenAt: Number(found.seen_at) }] : [];
      });
    },
    renumber: async (chain, trader, id, at) => (await rows<{ id: bigint }>(RENUMBER, { chain, trader, id, at }))[0]?.id ?? null,
    async list(chain, trader, limit) {
      const found = await rows<Row & { place: bigint }>(LISTED, { chain, trader, limit });
      return found.map(({ id, place, kind, price, seen_at }) => ({
        id,
        tradeIndex: Number(place),
        kind,
        price: BigInt(price),
        seenAt: Number(seen_at),
      }));
    },
    async find(chain, trader, id) {
      const [row] = await rows<Row>(`${PROTECTIONS} and id = :id`, { chain, trader, id });
      if (!row) return null;
      const [heir] = await rows<{ trade_index: bigint }>(HEIR, { chain, trader, key: `resting:${row.slot}` });
      return {
        id: row.id,
        tradeIndex: Number(heir?.trade_index ?? row.slot),
        kind: row.kind,
        price: BigInt(row.price),
        seenAt: Number(row.seen_at),
      };
    },
  };
}

/** A bot's TP/SL that came with an opening, by the index of the position or of the resting order. */
interface Child {
  readonly oid: bigint;
  readonly kind: Protection['kind'];
  readonly created_at: bigint;
  readonly place: bigint;
  readonly long: boolean;
  /** The price the bot requested. */
  readonly asked: string;
  /** Its price on chain when the position was opened; before that, its current one. */
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

const CHILDREN = `
  with parents as (
    select order_id as id, trade_index as place, true as is_open, event -> 'after' as stored from chain_events
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

const RENUMBER = `
  update protections set id = nextval('entity_ids'), seen_at = :at where chain = :chain and trader = :trader and id = :id returning id`;

const placeOf = ({ kind, tradeIndex, price }: Protection): string => `${levelKey(kind, tradeIndex)}/${price}`;

const PROTECTIONS = 'select id, slot, kind, price::text, seen_at from protections where chain = :chain and trader = :trader';
const KNOWN = `${PROTECTIONS} and slot = any(:slots)`;

const keyOf = ({ slot, kind, price }: { slot: number | bigint; kind: string; price: string }): string => `${slot}/${kind}/${price}`;
