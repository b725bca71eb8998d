import type { Knex } from 'knex';
import { levelKey } from '../../domain/level.js';
import type { KnownProtection, Protection, ProtectionStore } from '../../facade/protection-store.js';
import type { ChainSlug } from '../../chains.js';
import type { Address } from '../../ports.js';

interface Row {
  id: bigint;
  slot: bigint;
  kind: Protection['kind'];
  price: string;
  seen_at: bigint;
}

/** The resting slot that a position grew out of, read from the execution that opened it. */
const ORIGINS = `
  select trade_index, substring(order_key from 9)::bigint as slot from chain_events
  where chain = :chain and trader = :trader and trade_index = any(:indices) and kind = 'executed' and order_key like 'resting:%'
    and not orphaned`;

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

  /** A level that was set by an order of ours is that order. */
  const ordersAt = async (chain: ChainSlug, trader: Address, protections: readonly Protection[]) => {
    const found = await rows<{ id: bigint; order_key: string; price: string; seen_at: bigint }>(HOLDERS, {
      chain,
      trader,
      keys: protections.map(({ kind, tradeIndex }) => levelKey(kind, tradeIndex)),
    });
    return new Map(found.map((order) => [`${order.order_key}/${order.price}`, order]));
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
        const fresh = missing.map(({ row, price }) => ({ ...row, price, seen_at: at }));
        await db('protections').insert(fresh).onConflict(['chain', 'trader', 'slot', 'kind', 'price']).ignore();
        known = await read();
      }
      return wanted.flatMap(({ protection, row, price }): KnownProtection[] => {
        const found = orders.get(placeOf(protection)) ?? known.get(keyOf({ ...row, price }));
        return found ? [{ ...protection, id: found.id, seenAt: Number(found.seen_at) }] : [];
      });
    },
    renumber: async (chain, trader, id, at) => (await rows<{ id: bigint }>(RENUMBER, { chain, trader, id, at }))[0]?.id ?? null,
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

const HOLDERS = `
  select id, order_key, state -> 'price' ->> '$n' as price, (state ->> 'createdAt')::bigint as seen_at from orders
  where chain = :chain and trader = :trader and order_key = any(cast(:keys as text[]))`;

const RENUMBER = `
  update protections set id = nextval('entity_ids'), seen_at = :at where chain = :chain and trader = :trader and id = :id returning id`;

const placeOf = ({ kind, tradeIndex, price }: Protection): string => `${levelKey(kind, tradeIndex)}/${price}`;

const PROTECTIONS = 'select id, slot, kind, price::text, seen_at from protections where chain = :chain and trader = :trader';
const KNOWN = `${PROTECTIONS} and slot = any(:slots)`;

const keyOf = ({ slot, kind, price }: { slot: number | bigint; kind: string; price: string }): string => `${slot}/${kind}/${price}`;
