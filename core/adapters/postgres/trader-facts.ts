import type { TraderFacts } from '../../ports/stores/exchange.js';
import { statement } from './statement.js';
import { NOW_MS } from './migrations/migration.js';
import { readPosition } from './tracking-rows.js';

/** JSON as text, because the driver's JSON parser would lose bigints. */
export interface FactsRow {
  readonly positions: string;
  readonly busy: readonly number[];
  readonly leverage: string;
  readonly asked_at: bigint;
}

/** Requested size of the opening order and its executed size in the contract's tokens; null if not placed through the facade. */
const OPENED = `(
  select json_build_array(leg.size_base::text, opened.event -> 'sizeToken' ->> '$n')
  from chain_events opened join exchange_legs leg on leg.chain = opened.chain and leg.order_id = opened.order_id and leg.role = 'open'
  where opened.chain = positions.chain and opened.trader = positions.trader and opened.trade_index = positions.trade_index
    and opened.is_fill and not opened.orphaned and opened.event -> 'sizeToken' ->> '$n' is not null limit 1)`;

/** A prepared order counts as pending, because the relayer sends it at once. `whose` compares chain and trader of a table. */
export const factsOf = (owner: (table: string) => string): string => `
    (select coalesce(json_agg(json_build_array(trade_index, state::text, ${OPENED}) order by trade_index), '[]')::text from positions
     where ${owner('positions')} and is_open and state is not null) as positions,
    array(select (state->>'tradeIndex')::int from orders
     where ${owner('orders')} and is_live and status <> 'open' and state->>'tradeIndex' is not null) as busy,
    (select coalesce(json_agg(json_build_array(pair_index, leverage, is_cross)), '[]')::text from leverage_settings
     where ${owner('leverage_settings')}) as leverage,
    ${NOW_MS} as asked_at`;

export const FACTS = statement(`select ${factsOf(() => 'chain = :chain and trader = :trader')}`);

export function readFacts({ positions, busy, leverage, asked_at }: FactsRow): TraderFacts {
  const held = JSON.parse(positions) as [number, string, [string, string] | null][];
  const chosen = JSON.parse(leverage) as [number, number, boolean][];
  return {
    positions: held.flatMap(([tradeIndex, state, opened]) => {
      const position = readPosition(state);
      const opening = opened && { askedBase: BigInt(opened[0]), sizeToken: BigInt(opened[1]) };
      return position === null ? [] : [{ tradeIndex, position, opening }];
    }),
    askedAt: Number(asked_at),
    busy: new Set(busy),
    leverage: new Map(chosen.map(([pairIndex, times, isCross]) => [pairIndex, { leverage: times, isCross }])),
  };
}
