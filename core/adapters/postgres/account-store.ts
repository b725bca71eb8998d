import type { Knex } from 'knex';
import type { OrderKey } from '../../domain/chain-event.js';
import type { AccountStore, ListedFill, ListedOrder, ListedPosition } from '../../ports/stores/account.js';
import { readEvent, readOrder, readPosition } from './tracking-rows.js';

interface OrderRow {
  id: bigint;
  order_key: OrderKey | null;
  state: string;
}

interface FillRow {
  id: bigint;
  event: string;
}

interface PositionRow {
  id: bigint;
  trade_index: bigint;
  state: string;
}

const ORDERS = 'select id, order_key, state::text from orders where chain = :chain and trader = :trader and state is not null';
const FILLS = 'select id, event::text from chain_events where chain = :chain and trader = :trader and is_fill and not orphaned';

export function createAccountStore(db: Knex): AccountStore {
  const rows = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as never)).rows;

  return {
    liveOrders: async (chain, trader) => listed(await rows(`${ORDERS} and is_live order by id desc`, { chain, trader })),
    async ordersBefore(chain, trader, before, limit) {
      const below = before === null ? '' : 'and id < :before';
      return listed(await rows(`${ORDERS} ${below} order by id desc limit :limit`, { chain, trader, before, limit }));
    },
    async endedOrders(chain, trader, limit) {
      const ended = `status in ('filled', 'rejected', 'timed_out') order by (state ->> 'updatedAt')::bigint desc limit :limit`;
      return listed(await rows(`${ORDERS} and ${ended}`, { chain, trader, limit }));
    },
    order: async (chain, trader, id) => listed(await rows(`${ORDERS} and id = :id`, { chain, trader, id }))[0] ?? null,
    async fillsBefore(chain, trader, before, limit) {
      // Clients choose the cursor; a number that fits no column must find nothing instead of failing.
      const below = before === null ? '' : 'and (block_number, log_index) < (cast(:block as bigint), cast(:logIndex as bigint))';
      const sql = `${FILLS} ${below} order by block_number desc, log_index desc limit :limit`;
      const found = await rows<FillRow>(sql, { chain, trader, block: before?.block, logIndex: before?.logIndex, limit });
      return found.flatMap(({ id, event }): ListedFill[] => {
        const executed = readEvent(event);
        return executed.kind === 'executed' ? [{ id, executed }] : [];
      });
    },
    async openPositions(chain, trader) {
      const sql = `select id, trade_index, state::text from positions
        where chain = :chain and trader = :trader and is_open and state is not null order by trade_index`;
      return (await rows<PositionRow>(sql, { chain, trader })).flatMap(({ id, trade_index, state }): ListedPosition[] => {
        const position = readPosition(state);
        return position === null ? [] : [{ id, tradeIndex: Number(trade_index), position }];
      });
    },
    async goneUnread(chain, trader) {
      const found = await rows<PositionRow>(GONE_UNREAD, { chain, trader });
      return found.flatMap(({ id, trade_index, state }): ListedPosition[] => {
        const position = readPosition(state);
        return position === null ? [] : [{ id, tradeIndex: Number(trade_index), position }];
      });
    },
    async positionsAt(chain, trader, tradeIndices) {
      if (tradeIndices.length === 0) return new Map();
      const sql =
        'select id, trade_index, state::text from positions where chain = :chain and trader = :trader and trade_index = any(:tradeIndices)';
      const found = await rows<PositionRow>(sql, { chain, trader, tradeIndices });
      return new Map(
        found.flatMap(({ trade_index, state }) => {
          const position = readPosition(state);
          return position === null ? [] : [[Number(trade_index), position] as const];
        }),
      );
    },
    async positionIds(chain, trader, tradeIndices) {
      const wanted = [...new Set(tradeIndices)];
      const sql = 'select id, trade_index from positions where chain = :chain and trader = :trader and trade_index = any(:wanted)';
      const read = async (): Promise<Map<number, bigint>> =>
        new Map((await rows<PositionRow>(sql, { chain, trader, wanted })).map(({ id, trade_index }) => [Number(trade_index), id]));
      const known = wanted.length === 0 ? new Map<number, bigint>() : await read();
      const missing = wanted.filter((index) => !known.has(index));
      if (missing.length === 0) return known;
      const fresh = missing.map((trade_index) => ({ chain, trader, trade_index, is_open: false }));
      await db('positions').insert(fresh).onConflict(['chain', 'trader', 'trade_index']).ignore();
      return read();
    },
  };
}

/** Usually no transaction waits, and no position is read. */
const GONE_UNREAD = `
  select id, trade_index, state::text from positions
  where chain = :chain and trader = :trader and not is_open and exists (select from unread_transactions where chain = :chain and settled_at is null)
    and state ->> 'goneIn' in (select tx_hash from unread_transactions where chain = :chain and settled_at is null)
  order by trade_index`;

const listed = (rows: readonly OrderRow[]): ListedOrder[] =>
  rows.flatMap(({ id, order_key, state }) => {
    const order = readOrder(state);
    return order === null ? [] : [{ id, orderKey: order_key, order }];
  });
