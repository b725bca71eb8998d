import type { Knex } from 'knex';
import type { OrderKey } from '../../domain/chain-event.js';
import type { Address, Hex } from '../../types.js';
import { logKey, tradeRefKey, type TrackingStore, type TrackingUnit } from '../../ports/stores/tracking.js';
import { ask, inSteps } from './statement.js';
import { followerName, type LeaseKeeper } from './lease-keeper.js';
import { checkpointRows, tradeRefs } from './tracking-rows.js';
import { KNOWN_EVENTS, PASS, WAITING } from './tracking-sql.js';
import { createTrackingUnit, readCursor, type CursorRow } from './tracking-unit.js';

export interface TrackingStoreParts {
  readonly db: Knex;
  readonly leases: LeaseKeeper;
}

export function createTrackingStore({ db, leases }: TrackingStoreParts): TrackingStore {
  return {
    cursor: async (chain) =>
      readCursor(
        await db<CursorRow>('chain_cursors')
          .where({ chain } as never)
          .first(),
      ),
    async checkpoints(chain, below, limit) {
      const rows = await db<{ block_number: bigint; block_hash: Hex }>('chain_checkpoints')
        .where({ chain } as never)
        .andWhere('block_number', '<', below)
        .orderBy('block_number', 'desc')
        .limit(limit);
      return rows.map(({ block_number, block_hash }) => ({ number: block_number, hash: block_hash }));
    },
    async knownTrades(chain, refs) {
      if (refs.length === 0) return new Set();
      const { rows } = await db.raw<{ rows: { trader: Address; trade_index: bigint }[] }>(
        `select positions.trader, positions.trade_index from positions
         join jsonb_to_recordset(:refs::jsonb) as wanted(trader text, trade_index bigint)
           on wanted.trader = positions.trader and wanted.trade_index = positions.trade_index
         where chain = :chain and state is not null`,
        { chain, refs: tradeRefs(refs) },
      );
      return new Set(rows.map(({ trader, trade_index }) => tradeRefKey({ trader, tradeIndex: Number(trade_index) })));
    },
    async isBackfilled(chain, trader) {
      // With a start block of 0 nothing is older than the index.
      const { rows } = await db.raw<{ rows: [{ is_backfilled: boolean }] }>(
        `select exists (select from backfilled_traders where chain = :chain and trader = :trader)
           or exists (select from chain_cursors where chain = :chain and start_block = 0) as is_backfilled`,
        { chain, trader },
      );
      return rows[0].is_backfilled;
    },
    async knownLogs(chain, places) {
      if (places.length === 0) return new Set();
      const rows = await ask<{ event_key: string }>(db, KNOWN_EVENTS, { chain, keys: places.map(logKey) });
      return new Set(rows.map(({ event_key }) => event_key));
    },
    async pass(chain, from, { number, hash }, passed) {
      const given = [...passed.filter((block) => block.number !== number), { number, hash }];
      const [row] = await ask<{ moved: boolean }>(db, PASS, {
        chain,
        number,
        hash,
        fromNumber: from.number,
        fromHash: from.hash,
        passed: checkpointRows(given),
      });
      return row?.moved === true;
    },
    async waiting(chain, upToBlock) {
      const [row] = await ask<{ unanswered: boolean; sent: boolean }>(db, WAITING, { chain, upToBlock });
      return row ?? { unanswered: false, sent: false };
    },
    async unanswered(chain, upToBlock) {
      const rows = await db<{ trader: Address; order_key: OrderKey; requested_block: bigint }>('orders')
        .where({ chain, status: 'pending' } as never)
        .andWhere('requested_block', '<=', upToBlock)
        .orderBy('requested_block')
        .select('trader', 'order_key', 'requested_block');
      return rows.map(({ trader, order_key, requested_block }) => ({ trader, orderKey: order_key, requestedBlock: requested_block }));
    },
    change: <Result>(chain: Parameters<TrackingStore['cursor']>[0], work: (unit: TrackingUnit) => Promise<Result>) =>
      inSteps(db, (steps) => work(createTrackingUnit(steps, chain))),
    lease: (chain) => leases.lease(followerName(chain)),
  };
}
