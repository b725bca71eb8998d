import type { Knex } from 'knex';
import type { LeverageStore } from '../../ports/stores/leverage.js';

interface Row {
  pair_index: number;
  leverage: number;
  is_cross: boolean;
}

export function createLeverageStore(db: Knex): LeverageStore {
  return {
    async of(chain, trader) {
      const rows = await db<Row>('leverage_settings').where({ chain, trader } as never);
      return new Map(rows.map(({ pair_index, leverage, is_cross }) => [pair_index, { leverage, isCross: is_cross }]));
    },
    async set(chain, trader, pairIndex, { leverage, isCross }) {
      await db('leverage_settings')
        .insert({ chain, trader, pair_index: pairIndex, leverage, is_cross: isCross })
        .onConflict(['chain', 'trader', 'pair_index'])
        .merge();
    },
  };
}
