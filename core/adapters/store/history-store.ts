import type { Knex } from 'knex';
import type { OrderKey } from '../../domain/chain-event.js';
import { NEWEST_FILLS, type HistoryStore, type SeenFill, type SeenOrder, type TakenBack } from '../../facade/history-store.js';
import type { Hex } from '../../ports.js';
import { readEvent, readOrder } from './tracking-rows.js';

interface OrderRow {
  id: bigint;
  state: string;
  order_key: OrderKey | null;
  is_relayed: boolean;
}

interface FillRow {
  id: bigint;
  event: string;
  order_id: bigint | null;
  is_relayed: boolean;
}

const ORDERS = `
  select orders.id, orders.state::text, orders.order_key, coalesce(agents.mode = 'relayed', false) as is_relayed from orders
  left join agents on agents.chain = orders.chain and agents.agent = orders.agent
  where orders.chain = :chain and orders.trader = :trader and orders.state is not null
    and (orders.status not in ('prepared', 'expired') or agents.mode = 'relayed')`;

const AT = `((event -> 'place' ->> 'at')::bigint)`;
const OWN_FILLS = `chain_events.chain = :chain and chain_events.trader = :trader and is_fill and not orphaned and event ->> 'action' <> 'leverage'`;

/**
 * The page is cut before anything is joined to it, so that its cost does not grow with what is stored. Events of a gateway that did not
 * note the order yet are found by their place on chain.
 */
const fillsSql = (way: 'asc' | 'desc'): string => `
  with page as materialized (
    select * from chain_events where ${OWN_FILLS} and ${AT} between :from and :to
    order by ${AT} ${way}, block_number ${way}, log_index ${way} limit :limit
  )
  select page.id, event::text, orders.id as order_id, coalesce(agents.mode = 'relayed', false) as is_relayed
  from page
  left join orders on orders.id = coalesce(page.order_id, (
    select id from orders known where known.chain = page.chain and known.trader = page.trader and known.order_key = page.order_key
  ), (
    select hit.order_id from chain_events hit where hit.chain = page.chain and hit.trader = page.trader and hit.trade_index = page.trade_index
      and hit.kind = 'guardHit' and not hit.orphaned and hit.block_number = page.block_number and hit.log_index = page.log_index limit 1
  ))
  left join agents on agents.chain = orders.chain and agents.agent = orders.agent
  order by ${AT} ${way}, page.block_number ${way}, page.log_index ${way}`;

const NEWEST = `
  select event, ${AT} as at from chain_events where ${OWN_FILLS} and ${AT} > :after
  order by ${AT} desc, block_number desc, log_index desc limit ${NEWEST_FILLS}`;

const field = (name: string): string => `coalesce((event -> '${name}' ->> '$n')::numeric, 0)`;
/** 1e8; what has no price of its own was sized by none. */
const PRICE_USD = `coalesce((event -> 'collateralPriceUsd' ->> '$n')::numeric, 100000000)`;
/** 1e18 base units. */
const BASE = `${field('sizeToken')} * ${PRICE_USD} / 100000000`;

const MOVED = `
  select (event -> 'terms' ->> 'pairIndex')::integer as pair_index,
    trunc(sum(${BASE} * case when (event ->> 'action' in ('open', 'increase')) = (event -> 'terms' ->> 'long')::boolean then 1 else -1 end))::text as base
  from (${NEWEST}) as newest group by 1`;

const TOTALS = `
  select (at / 86400000)::integer as day, (event -> 'terms' ->> 'collateralIndex')::integer as collateral_index,
    trunc(sum(${BASE} * ${field('price')} / 10000000000))::text as volume, sum(${field('netPnl')})::text as pnl
  from (${NEWEST}) as newest group by 1, 2 order by 1`;

const LAST_EXECUTIONS = `
  select last.event::text from unnest(cast(:tradeIndices as bigint[])) as wanted(trade_index) cross join lateral (
    select event from chain_events
    where chain = :chain and trader = :trader and trade_index = wanted.trade_index and is_fill and not orphaned
    order by block_number desc, log_index desc limit 1
  ) last`;

/** Taken off twice, it was the first that did it. */
const LEVEL_END = `
  with edits as (
    select event, block_number, log_index, ${field('value')} as level from chain_events
    where chain = :chain and trader = :trader and trade_index = :tradeIndex and kind = 'edited' and event ->> 'field' = :kind and not orphaned
  )
  select event -> 'place' ->> 'txHash' as hash from edits
  where (block_number, log_index) > all (select block_number, log_index from edits where level <> 0)
  order by block_number, log_index limit 1`;

/** Sent, and not known to have come to nothing. */
const TAKEN_BACK = `
  select order_id, purpose from relay_jobs
  where chain = :chain and order_id = any(:ids::bigint[]) and purpose in ('scheduled-cancel', 'reclaim')
    and state not in ('queued', 'numbered', 'refused', 'replaced', 'reverted')`;

const KNOWN = `
  select exists (select from orders where chain = :chain and trader = :trader)
    or exists (select from positions where chain = :chain and trader = :trader) as known`;

export function createHistoryStore(db: Knex): HistoryStore {
  const rows = async <Row>(sql: string, values: Record<string, unknown>): Promise<Row[]> =>
    (await db.raw<{ rows: Row[] }>(sql, values as never)).rows;

  return {
    liveOrders: async (chain, trader) => seen(await rows(`${ORDERS} and orders.is_live order by orders.id desc`, { chain, trader })),
    orders: async (chain, trader, limit) => seen(await rows(`${ORDERS} order by orders.id desc limit :limit`, { chain, trader, limit })),
    order: async (chain, trader, id) => seen(await rows(`${ORDERS} and orders.id = :id`, { chain, trader, id }))[0] ?? null,
    async ordersOf(chain, trader, ids) {
      const sql = `${ORDERS} and orders.id = any(:ids::bigint[]) order by orders.id desc`;
      return ids.length === 0 ? [] : seen(await rows(sql, { chain, trader, ids: ids.map(String) }));
    },
    async orderAt(chain, trader, key) {
      const sql = `${ORDERS} and (orders.home_key = :key or orders.order_key = :key) order by orders.id desc limit 1`;
      return seen(await rows(sql, { chain, trader, key }))[0] ?? null;
    },
    async lastExecutions(chain, trader, tradeIndices) {
      if (tradeIndices.length === 0) return new Map();
      const found = await rows<{ event: string }>(LAST_EXECUTIONS, { chain, trader, tradeIndices });
      const events = found.map(({ event }) => readEvent(event));
      return new Map(events.flatMap((event) => (event.kind === 'executed' ? [[event.tradeIndex, event] as const] : [])));
    },
    async levelEnd(chain, trader, { tradeIndex, kind }) {
      const [end] = await rows<{ hash: Hex }>(LEVEL_END, { chain, trader, tradeIndex, kind });
      return end?.hash ?? null;
    },
    async takenBack(chain, orderIds) {
      if (orderIds.length === 0) return new Map();
      const found = await rows<{ order_id: bigint; purpose: TakenBack }>(TAKEN_BACK, { chain, ids: orderIds.map(String) });
      return new Map(found.map(({ order_id, purpose }) => [order_id, purpose]));
    },
    async fills(chain, trader, { from, to, limit, newestFirst }) {
      const sql = fillsSql(newestFirst ? 'desc' : 'asc');
      return (await rows<FillRow>(sql, { chain, trader, from, to, limit })).flatMap(seenFill);
    },
    async movedAfter(chain, trader, after) {
      const found = await rows<{ pair_index: number; base: string }>(MOVED, { chain, trader, after });
      return new Map(found.map(({ pair_index, base }) => [pair_index, BigInt(base)]));
    },
    async totals(chain, trader, since) {
      const found = await rows<{ day: number; collateral_index: number; volume: string; pnl: string }>(TOTALS, {
        chain,
        trader,
        after: since - 1,
      });
      return found.map(({ day, collateral_index, volume, pnl }) => ({
        day,
        collateralIndex: collateral_index,
        volumeUsd: BigInt(volume),
        netPnl: BigInt(pnl),
      }));
    },
    isKnown: async (chain, trader) => (await rows<{ known: boolean }>(KNOWN, { chain, trader }))[0]?.known ?? false,
  };
}

const seen = (rows: readonly OrderRow[]): SeenOrder[] =>
  rows.flatMap(({ id, state, order_key, is_relayed }) => {
    const order = readOrder(state);
    return order === null ? [] : [{ id, order, orderKey: order_key, isRelayed: is_relayed }];
  });

function seenFill({ id, event, order_id, is_relayed }: FillRow): SeenFill[] {
  const executed = readEvent(event);
  return executed.kind === 'executed' ? [{ id, executed, by: order_id === null ? null : { id: order_id, isRelayed: is_relayed } }] : [];
}
