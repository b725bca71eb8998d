import type { TraderFacts } from '../../relay/exchange-store.js';
import { statement } from './statement.js';
import { NOW_MS } from './migrations/migration.js';
import { readPosition } from './tracking-rows.js';

/** JSON as text: bigints in it survive only that way. */
export interface FactsRow {
  readonly positions: string;
  readonly busy: readonly number[];
  readonly leverage: string;
  readonly asked_at: bigint;
}

/** What is prepared for a trade is as good as pending: the relayer sends it the next moment. `whose` compares chain and trader of a table. */
export const factsOf = (whose: (table: string) => string): string => `
    (select coalesce(json_agg(json_build_array(trade_index, state::text) order by trade_index), '[]')::text from positions
     where ${whose('positions')} and is_open and state is not null) as positions,
    array(select (state->>'tradeIndex')::int from orders
     where ${whose('orders')} and is_live and status <> 'open' and state->>'tradeIndex' is not null) as busy,
    (select coalesce(json_agg(json_build_array(pair_index, leverage, is_cross)), '[]')::text from leverage_settings
     where ${whose('leverage_settings')}) as leverage,
    ${NOW_MS} as asked_at`;

export const FACTS = statement(`select ${factsOf(() => 'chain = :chain and trader = :trader')}`);

export function readFacts({ positions, busy, leverage, asked_at }: FactsRow): TraderFacts {
  const held = JSON.parse(positions) as [number, string][];
  const chosen = JSON.parse(leverage) as [number, number, boolean][];
  return {
    positions: held.flatMap(([tradeIndex, state]) => {
      const position = readPosition(state);
      return position === null ? [] : [{ tradeIndex, position }];
    }),
    askedAt: Number(asked_at),
    busy: new Set(busy),
    leverage: new Map(chosen.map(([pairIndex, times, isCross]) => [pairIndex, { leverage: times, isCross }])),
  };
}
