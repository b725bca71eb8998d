import type { Knex } from 'knex';
import type {
  AssetStore,
  AssetUnits,
  ClosingSlippageStore,
  FacadeStore,
  FundingStore,
  OwedClosingSlippage,
} from '../../ports/stores/facade.js';
import { withFaults } from './faults.js';
import { createHistoryStore } from './history-store.js';
import { createTriggerStore } from './trigger-store.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { LeverageStore } from '../../ports/stores/exchange.js';
import type { Address } from '../../types.js';

export const createFacadeStore = (db: Knex): FacadeStore => ({
  assets: withFaults({ ...createAssetStore(db) }),
  leverage: withFaults({ ...createLeverageStore(db) }),
  triggers: withFaults({ ...createTriggerStore(db) }),
  history: withFaults({ ...createHistoryStore(db) }),
  funding: withFaults({ ...createFundingStore(db) }),
});

interface AssetRow {
  pair_index: number;
  symbol: string;
  sz_decimals: number;
  multiplier: number;
}

function createAssetStore(db: Knex): AssetStore {
  const all = async (chain: ChainSlug): Promise<AssetUnits[]> =>
    (await db<AssetRow>('asset_units').where({ chain } as never)).map(({ pair_index, symbol, sz_decimals, multiplier }) => ({
      pairIndex: pair_index,
      symbol,
      szDecimals: sz_decimals,
      multiplier,
    }));
  return {
    all,
    async fix(chain, units) {
      const rows = units.map(({ pairIndex, symbol, szDecimals, multiplier }) => ({
        chain,
        pair_index: pairIndex,
        symbol,
        sz_decimals: szDecimals,
        multiplier,
      }));
      if (rows.length > 0) await db('asset_units').insert(rows).onConflict(['chain', 'pair_index', 'symbol']).ignore();
      return all(chain);
    },
  };
}

interface LeverageRow {
  pair_index: number;
  leverage: number;
  is_cross: boolean;
  action: bigint | null;
  action_leverage: number | null;
}

function createLeverageStore(db: Knex): LeverageStore {
  return {
    async of(chain, trader) {
      const rows = await db<LeverageRow>('leverage_settings').where({ chain, trader } as never);
      return new Map(
        rows.map(({ pair_index, leverage, is_cross, action, action_leverage }) => [
          pair_index,
          { leverage, isCross: is_cross, action: action_leverage === leverage ? action : null },
        ]),
      );
    },
    async set(chain, trader, pairIndex, { leverage, isCross, action = null }) {
      await db('leverage_settings')
        .insert({ chain, trader, pair_index: pairIndex, leverage, is_cross: isCross, action, action_leverage: leverage })
        .onConflict(['chain', 'trader', 'pair_index'])
        .merge();
    },
  };
}

interface FundingRow {
  pair_index: number;
  time: bigint;
  rate: string;
  premium: string;
}

function createFundingStore(db: Knex): FundingStore {
  return {
    async record(chain, hours) {
      if (hours.length === 0) return;
      const rows = hours.map(({ pairIndex, time, rate, premium }) => ({
        chain,
        pair_index: pairIndex,
        time,
        rate: rate.toString(),
        premium: premium.toString(),
      }));
      await db('funding_hours').insert(rows).onConflict(['chain', 'pair_index', 'time']).ignore();
    },
    async between(chain, pairIndex, from, to, limit) {
      const rows = await db<FundingRow>('funding_hours')
        .where({ chain, pair_index: pairIndex } as never)
        .whereBetween('time', [from, to] as never)
        .orderBy('time')
        .limit(limit);
      return rows.map(({ pair_index, time, rate, premium }) => ({
        pairIndex: pair_index,
        time: Number(time),
        rate: BigInt(rate),
        premium: BigInt(premium),
      }));
    },
  };
}

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

export const DUE_SLIPPAGES = `
    select owed.id from pending_closing_slippages owed
    left join orders on orders.chain = owed.chain and orders.id = owed.order_id
    where owed.chain = cast(:chain as text) and owed.due_at <= cast(:now as bigint) and (owed.order_id is null or not coalesce(orders.is_live, false))`;

const TAKE_DUE = `
  update pending_closing_slippages set due_at = :againAt where id in (${DUE_SLIPPAGES}
    order by owed.due_at limit 50 for update of owed skip locked)
  returning ${COLUMNS}`;
