import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { AssetStore, AssetUnits } from '../../ports/stores/assets.js';

interface Row {
  pair_index: number;
  symbol: string;
  sz_decimals: number;
  multiplier: number;
}

export function createAssetStore(db: Knex): AssetStore {
  const all = async (chain: ChainSlug): Promise<AssetUnits[]> =>
    (await db<Row>('asset_units').where({ chain } as never)).map(({ pair_index, symbol, sz_decimals, multiplier }) => ({
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
