import type { Knex } from 'knex';
import type { OrderKey } from '../../domain/chain-event.js';
import type { OrderType } from '../../domain/order.js';
import { NEWEST_FILLS, type HistoryStore, type SeenOrder, type StoredFill, type TakenBack } from '../../ports/stores/history.js';
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
  order_type: OrderType | null;
  opening: string | null;
  before: string | null;
  after: string | null;
}

const ORDERS = `
  select orders.id, orders.state::text, orders.order_key, coalesce(agents.mode = 'relayed', false) as is_relayed from orders
  left join agents on agents.chain = orders.chain and agents.agent = orders.agent
  where orders.chain = :chain and orders.trader = :trader and orders.state is not null
    and (orders.status not in ('prepared', 'expired') or agents.mode = 'relayed')`;

const OWN_FILLS = `chain_events.chain = :chain and chain_events.trader = :trader and is_fill and not orphaned and event ->> 'action' <> 'leverage'`;

const AT = `((event -> 'place' ->> 'at')::bigint)`;

/** Of `chain_events`. */
const FILL_COLUMNS = `id, chain, trader, trade_index, order_id as linked_order, order_key, block_number, log_index, ${AT} as at, event::text as event,
    net_before::text as before, net_after::text as after`;

/**
 * The fills of `page`, a select of FILL_COLUMNS, each with its order; one that was stored without its order is joined by order key. The page is
 * cut before joins, so that its cost does not grow with the table.
 */
const withOrders = (page: string, way: 'asc' | 'desc'): string => `
  with page as materialized (${page})
  select page.*, orders.id as order_id, coalesce(agents.mode = 'relayed', false) as is_relayed, orders.state ->> 'type' as order_type,
    case when agents.mode is distinct from 'relayed' and orders.state ->> 'action' in ('open', 'increase') and orders.state -> 'asked' is not null
      then orders.state::text end as opening
  from page
  left join orders on orders.id = coalesce(page.linked_order, (
    select id from orders known where known.chain = page.chain and known.trader = page.trader and known.order_key = page.order_key
  ), (
    select hit.order_id from chain_events hit where hit.chain = page.chain and hit.trader = page.trader and hit.trade_index = page.trade_index
      and hit.kind = 'guardHit' and not hit.orphaned and hit.block_number = page.block_number and hit.log_index = page.log_index limit 1
  ))
  left join agents on agents.chain = orders.chain and agents.agent = orders.agent
  order by page.at ${way}, page.block_number ${way}, page.log_index ${way}`;

export const fillsSql = (way: 'asc' | 'desc'): string =>
  withOrders(
    `select ${FILL_COLUMNS} from chain_events where ${OWN_FILLS} and ${AT} between :from and :to
     order by ${AT} ${way} fetch first (cast(:limit as bigint)) rows with ties`,
    way,
  );

/** The newest fills of one market, each with the number of fills of its trader that precede it in its second. */
export const TAPE = withOrders(
  `select ${FILL_COLUMNS}, (
       select count(*)::integer from chain_events other
       where other.chain = fill.chain and other.trader = fill.trader and other.is_fill and not other.orphaned
         and other.event ->> 'action' <> 'leverage'
         and (other.event -> 'place' ->> 'at')::bigint = (fill.event -> 'place' ->> 'at')::bigint
         and (other.block_number, other.log_index) < (fill.block_number, fill.log_index)
     ) as earlier
   from chain_events fill
   where chain = :chain and is_fill and not orphaned and event ->> 'action' <> 'leverage' and (event -> 'terms' ->> 'pairIndex')::integer = :pairIndex
   order by ${AT} desc, block_number desc, log_index desc limit :limit`,
  'desc',
);

const FIRST_FILL = `
  select min(${AT})::text as at from chain_events where chain = :chain and trader = :trader and order_id = any(:ids::bigint[]) and is_fill and not orphaned`;
const FILL_AT = `select ${AT}::text as at from chain_events where ${OWN_FILLS} and id = :id`;

/** Withdrawn profit is missing in what the later close pays. Each half has an index of its own. */
const NEWEST = `
  (select event, ${AT} as at from chain_events where ${OWN_FILLS} and ${AT} > :after
  order by ${AT} desc, block_number desc, log_index desc limit ${NEWEST_FILLS})
  union all
  (select event, ${AT} as at from chain_events
  where chain = :chain and trader = :trader and kind = 'executed' and event ->> 'action' = 'withdraw' and not orphaned and ${AT} > :after
  order by ${AT} desc limit ${NEWEST_FILLS})`;

/** 1e8; 1 where the event has no collateral price. */
const PRICE_USD = `coalesce((event -> 'collateralPriceUsd' ->> '$n')::numeric, 100000000)`;

const field = (name: string): string => `coalesce((event -> '${name}' ->> '$n')::numeric, 0)`;

/** 1e18 base units. */
const BASE = `${field('sizeToken')} * ${PRICE_USD} / 100000000`;

const TOTALS = `
  select (at / 86400000)::integer as day, (event -> 'terms' ->> 'collateralIndex')::integer as collateral_index,
    trunc(sum(${BASE} * ${field('price')} / 10000000000))::text as volume, sum(${field('netPnl')})::text as pnl
  from (${NEWEST}) as newest group by 1, 2 order by 1`;

const LAST_EXECUTIONS = `
  select last.event::text, nullif(last.order_id, 0) as order_id
  from unnest(cast(:tradeIndices as bigint[])) as wanted(trade_index) cross join lateral (
    select event, order_id from chain_events
    where chain = :chain and trader = :trader and trade_index = wanted.trade_index and is_fill and not orphaned
    order by block_number desc, log_index desc limit 1
  ) last`;

const EXECUTIONS_OF = `
  select first.id, first.event::text from unnest(cast(:tradeIndices as bigint[])) as wanted(trade_index) cross join lateral (
    select id, event, block_number, log_index from chain_events
    where chain = :chain and trader = :trader and trade_index = wanted.trade_index and kind = 'executed' and not orphaned
    order by block_number, log_index limit cast(:limit as integer)
  ) first
  order by first.block_number, first.log_index`;

/** Jobs that were sent and have not failed. */
const TAKEN_BACK = `
  select order_id, purpose from relay_jobs
  where chain = :chain and order_id = any(:ids::bigint[]) and purpose in ('scheduled-cancel', 'reclaim')
    and state not in ('queued', 'assigned', 'refused', 'replaced', 'reverted')`;

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
      const sql = `${ORDERS} and (orders.first_key = :key or orders.order_key = :key) order by orders.id desc limit 1`;
      return seen(await rows(sql, { chain, trader, key }))[0] ?? null;
    },
    async restingAt(chain, trader, slots) {
      if (slots.length === 0) return new Map();
      const keys = slots.map((slot) => `resting:${slot}`);
      const sql = `select found.*, (found.place)::bigint as slot from (
        select listed.*, substring(coalesce(placed.first_key, placed.order_key) from 9) as place from (${ORDERS}
          and (orders.first_key = any(cast(:keys as text[])) or orders.order_key = any(cast(:keys as text[])))) listed
        join orders placed on placed.id = listed.id) found order by id`;
      const found = await rows<OrderRow & { slot: bigint }>(sql, { chain, trader, keys });
      return new Map(found.flatMap((row) => seen([row]).map((order) => [Number(row.slot), order] as const)));
    },
    async lastExecutions(chain, trader, tradeIndices) {
      if (tradeIndices.length === 0) return new Map();
      const found = await rows<{ event: string; order_id: bigint | null }>(LAST_EXECUTIONS, { chain, trader, tradeIndices });
      return new Map(
        found.flatMap(({ event, order_id }) => {
          const executed = readEvent(event);
          return executed.kind === 'executed' ? [[executed.tradeIndex, { executed, orderId: order_id }] as const] : [];
        }),
      );
    },
    async executionsOf(chain, trader, tradeIndices, limit) {
      if (tradeIndices.length === 0) return [];
      const found = await rows<{ id: bigint; event: string }>(EXECUTIONS_OF, { chain, trader, tradeIndices, limit });
      return found.flatMap(({ id, event }) => {
        const executed = readEvent(event);
        return executed.kind === 'executed' ? [{ id, executed }] : [];
      });
    },
    async takenBack(chain, orderIds) {
      if (orderIds.length === 0) return new Map();
      const found = await rows<{ order_id: bigint; purpose: TakenBack }>(TAKEN_BACK, { chain, ids: orderIds.map(String) });
      return new Map(found.map(({ order_id, purpose }) => [order_id, purpose]));
    },
    async fills(chain, trader, { from, to, limit, newestFirst }) {
      const sql = fillsSql(newestFirst ? 'desc' : 'asc');
      return (await rows<FillRow>(sql, { chain, trader, from, to, limit })).flatMap(storedFill);
    },
    async tape(chain, pairIndex, limit) {
      const found = await rows<FillRow & { earlier: number }>(TAPE, { chain, pairIndex, limit });
      return found.flatMap((row) => storedFill(row).map((fill) => ({ ...fill, earlier: row.earlier })));
    },
    async firstFillAt(chain, trader, orderIds) {
      if (orderIds.length === 0) return null;
      return readTime(await rows(FIRST_FILL, { chain, trader, ids: orderIds.map(String) }));
    },
    fillAt: async (chain, trader, id) => readTime(await rows(FILL_AT, { chain, trader, id })),
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

const readTime = ([row]: readonly { at: string | null }[]): number | null => (row?.at ? Number(row.at) : null);

const readAmount = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

function storedFill({ id, event, order_id, is_relayed, order_type, opening, before, after }: FillRow): StoredFill[] {
  const executed = readEvent(event);
  if (executed.kind !== 'executed') return [];
  const type = order_type ?? 'market';
  const by = order_id === null ? null : { id: order_id, isRelayed: is_relayed, type, opening: readOrder(opening) };
  return [{ id, executed, by, before: readAmount(before), after: readAmount(after) }];
}
