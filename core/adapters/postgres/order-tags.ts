import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import { shapeOf } from '../../domain/order-shape.js';
import type { Order } from '../../domain/order.js';
import type { HandedOut } from '../../ports/stores/orders.js';

export async function keepTag(
  trx: Knex,
  chain: ChainSlug,
  id: bigint,
  given: { readonly purpose: 'place' | 'replace'; readonly transaction: HandedOut; readonly order: Order },
): Promise<void> {
  const { tag, data, gas } = given.transaction;
  const row = { chain, tag: tag.toLowerCase(), order_id: id, purpose: given.purpose, shape: shapeOf(given.order), data, gas };
  await trx('order_tags').insert(row).onConflict(['chain', 'tag']).ignore();
}
