import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { HandedOut, KnownOrder } from '../../ports/stores/orders.js';
import type { Address, Hex } from '../../types.js';
import { ORDER_COLUMNS, storedOrder, type OrderRow } from './order-rows.js';

interface KnownRow extends OrderRow {
  readonly fingerprint: Hex | null;
  readonly tag: Hex | null;
  readonly data: Hex | null;
  readonly gas: bigint | null;
  readonly former_data: readonly Hex[];
  readonly hashes: readonly Hex[];
}

const SELECT = `
  select ${ORDER_COLUMNS}, fingerprint, given.tag, given.data, given.gas,
    array(
      select data from order_tags where order_id = orders.id and purpose = 'place' and order_tags.id < given.tag_id order by order_tags.id
    ) as former_data,
    array(select hash from order_hashes where order_id = orders.id order by order_hashes.id) as hashes
  from orders left join lateral (
    select id as tag_id, tag, data, gas from order_tags where order_id = orders.id and purpose = 'place' order by order_tags.id desc limit 1
  ) given on true
  where orders.chain = :chain and orders.state is not null`;

/** Orders and how they got to the chain; `condition` must never contain client input. */
export async function knownOrders(
  db: Knex,
  chain: ChainSlug,
  condition: string,
  values: Readonly<Record<string, unknown>>,
): Promise<KnownOrder[]> {
  const { rows } = await db.raw<{ rows: KnownRow[] }>(`${SELECT} and ${condition}`, { chain, ...values } as never);
  return rows.flatMap((row): KnownOrder[] => {
    const { id, orderKey, agent, repeatOf, order } = storedOrder(row);
    const { fingerprint, hashes, former_data: formerData } = row;
    return order === null ? [] : [{ id, order, orderKey, agent, fingerprint, repeatOf, transaction: handedOut(row), formerData, hashes }];
  });
}

const handedOut = ({ tag, data, gas }: KnownRow): HandedOut | null => (tag === null || data === null ? null : { tag, data, gas });

export async function knownByClientId(db: Knex, chain: ChainSlug, trader: Address, clientId: string) {
  return (await knownOrders(db, chain, 'trader = :trader and client_id = :clientId', { trader, clientId }))[0] ?? null;
}

export async function knownById(db: Knex, chain: ChainSlug, id: bigint): Promise<KnownOrder> {
  const [stored] = await knownOrders(db, chain, 'id = :id', { id });
  if (!stored) throw new Error(`order ${id} was stored and is not there`);
  return stored;
}
