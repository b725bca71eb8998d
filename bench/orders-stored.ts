import pg from 'pg';
import type { AgentCaller } from '../core/access/caller.js';
import { getOrder, listOpenOrders } from '../core/account/list-orders.js';
import type { ChainEvent } from '../core/domain/chain-event.js';
import { venueOf, type Gateway } from '../core/gateway.js';
import type { Address } from '../core/types.js';
import { applyFresh } from '../core/indexer/apply-events.js';
import { median } from './median.js';

const CHAIN = 'arbitrum-sepolia';
const TURNS = 400;
const READS = ['getOrder', 'listOpenOrders', 'event'] as const;
type Timings = Record<(typeof READS)[number], number>;

export interface StoredOptions {
  readonly gateway: Gateway;
  /** Of its database: filling it takes longer than any statement of the gateway may. */
  readonly url: string;
  readonly trader: Address;
  /** The order that is copied and asked for. */
  readonly id: string;
}

/** How long reads and an event take with few and with many orders stored: milliseconds at the median. */
export async function measureStored({ gateway, url, trader, id }: StoredOptions, sizes: readonly number[]): Promise<Timings[]> {
  const db = new pg.Client(url);
  await db.connect();
  const measured: Timings[] = [];
  let stored = 0;
  for (const size of sizes) {
    await store(db, id, stored, size);
    stored = size;
    measured.push(await time(gateway, trader, id));
  }
  await db.end();
  return measured;
}

/** Copies of one order with its event and its tag, of five thousand other traders. */
async function store(db: pg.Client, id: string, from: number, to: number): Promise<void> {
  const range = [from + 1, to, id];
  const other = `'0xee' || lpad(to_hex(n % 5000), 38, '0')`;
  await db.query(
    `insert into orders (chain, trader, order_key, first_key, status, is_live, requested_block, state, agent)
     select chain, ${other}, 'resting:' || n, 'resting:' || n, case when n % 50 = 0 then status else 'filled' end, n % 50 = 0, requested_block, state, agent
     from orders, generate_series($1::int, $2::int) n where orders.id = $3`,
    range,
  );
  await db.query(
    `insert into chain_events (chain, event_key, trader, kind, order_key, trade_index, block_number, log_index, is_fill, event, order_id)
     select chain, 'bench/' || n, ${other}, kind, 'resting:' || n, null, block_number, log_index, false, event, 900000000000 + n
     from (select * from chain_events where order_id = $3 order by id limit 1) template, generate_series($1::int, $2::int) n`,
    range,
  );
  await db.query(
    `insert into order_tags (chain, tag, order_id, purpose, shape, data, gas)
     select chain, '0x' || md5(n::text), 900000000000 + n, purpose, shape, data, gas
     from (select * from order_tags where order_id = $3 limit 1) template, generate_series($1::int, $2::int) n`,
    range,
  );
  for (const table of ['orders', 'chain_events', 'order_tags']) await db.query(`vacuum analyze ${table}`);
}

async function time(gateway: Gateway, trader: Address, id: string): Promise<Timings> {
  const venue = venueOf(gateway, CHAIN);
  const caller = { trader } as AgentCaller;
  const work: Record<(typeof READS)[number], (turn: number) => Promise<unknown>> = {
    getOrder: () => getOrder(gateway, venue, caller, id),
    listOpenOrders: () => listOpenOrders(gateway, venue, trader),
    event: (turn) => applyAndUndo(gateway, trader, turn),
  };
  const took: Record<(typeof READS)[number], number[]> = { getOrder: [], listOpenOrders: [], event: [] };
  for (let turn = -20; turn < TURNS; turn += 1)
    for (const name of READS) {
      const since = performance.now();
      await work[name](turn);
      if (turn >= 0) took[name].push(performance.now() - since);
    }
  return { getOrder: median(took.getOrder), listOpenOrders: median(took.listOpenOrders), event: median(took.event) };
}

class Undone extends Error {}

/** A resting order made outside the gateway, taken in as the follower does, and taken back with its transaction. */
async function applyAndUndo({ store: { tracking } }: Gateway, trader: Address, turn: number): Promise<void> {
  const index = 1_000_000 + turn;
  const terms = {
    pairIndex: 0,
    collateralIndex: 3,
    long: true,
    leverage: 10_000n,
    collateralAmount: 10n ** 8n,
    openPrice: 10n ** 14n,
    tp: 0n,
    sl: 0n,
  };
  const hash = `0x${index.toString(16).padStart(64, '0')}` as const;
  const event: ChainEvent = {
    kind: 'rested',
    type: 'limit',
    trader,
    orderKey: `resting:${index}`,
    tradeIndex: index,
    terms,
    slippageP: 1_000n,
    sizeCollateral: 10n ** 9n,
    sizeToken: null,
    place: { blockNumber: 10n ** 9n, blockHash: hash, txHash: hash, logIndex: 0, at: 0 },
  };
  const undone = tracking.change(CHAIN, async (unit) => {
    await applyFresh(unit, [event]);
    throw new Undone();
  });
  await undone.catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error;
  });
}
