import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import type { ClosingSlippageStore, OwedClosingSlippage } from '../../ports/stores/closing-slippages.js';

interface Row {
  id: bigint;
  chain: ChainSlug;
  trader: Address;
  agent: Address;
  action: bigint;
  item: number;
  oid: bigint;
  order_id: bigint | null;
  trade_index: bigint | null;
  slippage_p: number;
  tries: number;
}

const COLUMNS = 'id, chain, trader, agent, action, item, oid, order_id, trade_index, slippage_p, tries';

/** Each method is one atomic statement. */
export function createClosingSlippageStore(db: Knex): ClosingSlippageStore {
  const rows = async <Found>(sql: string, values: Record<string, unknown>): Promise<Found[]> =>
    (await db.raw<{ rows: Found[] }>(sql, values as never)).rows;

  return {
    takeDue: async (chain, now, againAt) =>
      (await rows<Row>(TAKE_DUE, { chain, now, againAt })).map(({ order_id, trade_index, slippage_p, ...row }) => ({
        ...row,
        orderId: order_id,
        tradeIndex: trade_index === null ? null : Number(trade_index),
        closingSlippageP: BigInt(slippage_p),
      })),
    async tried(chain, id, againAt) {
      await rows('update pending_closing_slippages set tries = tries + 1, due_at = :againAt where chain = :chain and id = :id', {
        chain,
        id,
        againAt,
      });
    },
    async settle(chain, id) {
      await rows('delete from pending_closing_slippages where chain = :chain and id = :id', { chain, id });
    },
  };
}

/** The values of `OWE`. */
export const oweValues = (
  { closingSlippageP, ...owed }: Omit<OwedClosingSlippage, 'id' | 'tries'>,
  dueAt: number,
): Record<string, unknown> => ({
  ...owed,
  slippageP: Number(closingSlippageP),
  dueAt,
});

/** Kept until it is set or its position is gone. */
export const OWE = `
  insert into pending_closing_slippages (chain, trader, agent, action, item, oid, order_id, trade_index, slippage_p, due_at)
  values (:chain, :trader, :agent, :action, :item, :oid, :orderId, :tradeIndex, :slippageP, :dueAt)`;

const TAKE_DUE = `
  update pending_closing_slippages set due_at = :againAt where id in (
    select owed.id from pending_closing_slippages owed
    left join orders on orders.chain = owed.chain and orders.id = owed.order_id
    where owed.chain = :chain and owed.due_at <= :now and (owed.order_id is null or not coalesce(orders.is_live, false))
    order by owed.due_at limit 50 for update of owed skip locked)
  returning ${COLUMNS}`;
