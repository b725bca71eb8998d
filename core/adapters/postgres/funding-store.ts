import type { Knex } from 'knex';
import type { FundingStore } from '../../ports/stores/funding.js';

interface Row {
  pair_index: number;
  time: bigint;
  rate: string;
  premium: string;
}

export function createFundingStore(db: Knex): FundingStore {
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
      const rows = await db<Row>('funding_hours')
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
