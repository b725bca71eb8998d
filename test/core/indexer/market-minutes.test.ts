import type { Knex } from 'knex';
import { connectDatabase } from '../../../core/adapters/postgres/connect-database.js';
import { createStore, type KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { migrate } from '../../../core/adapters/postgres/migrate.js';
import { MIGRATIONS } from '../../../core/adapters/postgres/migrations/registry.js';
import { encodeExact } from '../../../core/adapters/postgres/statement.js';
import { MINUTE_MS } from '../../../core/domain/candle.js';
import { venueOf, type Gateway, type Venue } from '../../../core/gateway.js';
import { COUNTED_AT_ONCE, countStored, CursorMovedError } from '../../../core/indexer/chain-steps.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { createEmptyTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { diamondCall, price, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
const ETH = 1;
/** Tenths of an ETH: an opening of 100 USDC at 10x and 2000 USD, in base units. */
const [HALF, TENTH] = [5n * 10n ** 17n, 10n ** 17n];

describe('the minutes of a market that is followed', () => {
  let sandbox: TestVenue;
  let chain: ChainControls;
  beforeAll(async () => {
    sandbox = await startOwnVenue();
    chain = firstChain(sandbox);
  });
  afterAll(() => sandbox.stop());

  const send = (trader: ChainTrader, data: `0x${string}`) => trader.send(chain.definition.diamond, data);
  const traded = async () => {
    const day = 24 * 60 * MINUTE_MS;
    const range = { chain: CHAIN, pairIndex: ETH, from: 0, to: Math.ceil(Date.now() / day + 1) * day, sizeMs: day } as const;
    const days = [...(await sandbox.gateway.store.candles.volumes(range)).values()];
    return {
      base: days.reduce((sum, { base }) => sum + base, 0n),
      trades: days.reduce((sum, { trades }) => sum + trades, 0),
    };
  };
  /** Spread and impact move sizes by less than a percent. */
  const near = (base: bigint, wanted: bigint): boolean => base * 100n > wanted * 98n && base * 100n < wanted * 102n;

  it('have every execution of any wallet that changes a size, and lose those of a lost branch', async () => {
    sandbox.controls.prices.jump(ETH, '2000');
    const trader = await newTrader(chain);
    const steps: readonly (readonly [bigint, number, () => Promise<unknown>])[] = [
      [HALF, 1, () => trader.open({ pairIndex: ETH, openPrice: price(2000) }, 50_000)],
      [HALF + TENTH, 2, () => send(trader, diamondCall('increasePositionSize', [0, usdc(20), 10_000, price(2000), 50_000]))],
      [HALF + 2n * TENTH, 3, () => send(trader, diamondCall('decreasePositionSize', [0, usdc(20), 0, price(2000)]))],
      [HALF + 2n * TENTH, 3, () => send(trader, diamondCall('updateLeverage', [0, 5_000]))],
      [2n * HALF + 2n * TENTH, 4, () => trader.close(0, price(2000))],
    ];
    for (const [base, trades, act] of steps) {
      await act();
      await eventually(
        () => trader.pending(),
        (pending) => pending === 0,
      );
      await eventually(traded, (found) => found.trades === trades && near(found.base, base));
    }
    const before = await traded();
    await chain.mine(6);
    const hash = await trader.open({ pairIndex: ETH, openPrice: price(2000) }, 50_000);
    await eventually(traded, ({ trades }) => trades === before.trades + 1);
    const { blockNumber } = await trader.client.getTransactionReceipt({ hash });
    await chain.reorg(Number((await trader.client.getBlockNumber()) - blockNumber) + 1, true);
    await eventually(traded, ({ trades }) => trades === before.trades);
    expect(await traded()).toEqual(before);
  });

  it('are the sum of what is stored, each execution counted once', async () => {
    const { gateway } = sandbox;
    const { db } = gateway.store as KnexStore;
    await eventually(
      async () => (await db('chain_events').where({ is_fill: true }).whereRaw('counted = orphaned')).length,
      (uncounted) => uncounted === 0,
    );
    expect(venueOf(gateway, CHAIN).state.followed.fault).toBeNull();
  });
});

describe('a database of the release before', () => {
  const PAIR = 4;
  const START = Date.UTC(2026, 0, 5);
  const STORED = 2 * COUNTED_AT_ONCE + 7;
  let database: TestDatabase;
  let db: Knex;
  const log = createRecordedLog();
  const stores: KnexStore[] = [];

  /** As the release before stores an execution: it knows nothing of minutes. */
  const STORE = `insert into chain_events (chain, event_key, trader, kind, block_number, log_index, is_fill, event) values (?, ?, ?, 'executed', ?, 0, true, ?)`;
  const store = async (first: number, count: number): Promise<void> => {
    for (let nth = first; nth < first + count; nth += 1) {
      const place = { blockNumber: BigInt(nth), blockHash: '0x1', txHash: `0x${nth}`, logIndex: 0, at: START + (nth % 10) * MINUTE_MS };
      const sizes = { sizeToken: 10n ** 18n, collateralPriceUsd: 10n ** 8n, entryPriceUsd: 10n ** 8n };
      const event = { kind: 'executed', action: 'open', trader: '0xt', tradeIndex: nth, terms: { pairIndex: PAIR }, place, ...sizes };
      await db.raw(STORE, [CHAIN, `event ${nth}`, '0xt', nth, encodeExact(event)]);
    }
  };
  const cursor = { startBlock: 0n, number: 5_000n, hash: '0x1' } as const;
  const replica = (): [Gateway, Venue] => {
    const own = createStore({ log, url: database.url });
    stores.push(own);
    return [{ store: own } as unknown as Gateway, { definition: { slug: CHAIN } } as unknown as Venue];
  };
  const countAll = async ([gateway, venue]: [Gateway, Venue]): Promise<number> => {
    for (let steps = 1; ; steps += 1) if (!(await countStored(gateway, venue, cursor))) return steps;
  };
  const minutes = async () =>
    (await db<{ time: bigint; base: string; trades: number }>('market_minutes').orderBy('time')).map(({ time, base, trades }) => [
      (Number(time) - START) / MINUTE_MS,
      BigInt(base) / 10n ** 18n,
      trades,
    ]);
  const expected = (total: number) =>
    Array.from({ length: 10 }, (_, minute) => {
      const trades = Math.floor(total / 10) + (minute < total % 10 ? 1 : 0);
      return [minute, BigInt(trades), trades];
    });

  beforeAll(async () => {
    database = await createEmptyTestDatabase();
    await migrate({ url: database.url, log, migrations: MIGRATIONS.slice(0, 3) });
    db = connectDatabase({ url: database.url, log });
    await db('chain_cursors').insert({ chain: CHAIN, start_block: 0, block_number: 5_000, block_hash: '0x1' });
    await store(0, STORED);
    await migrate({ url: database.url, log });
  });
  afterAll(async () => {
    for (const each of stores) await each.close();
    await db.destroy();
    await database.drop();
  });

  it('is counted in short steps, goes on where a process ended, and by two replicas at once still counts each execution once', async () => {
    const [first, second] = [replica(), replica()];
    expect(await countStored(...first, cursor)).toBe(true);
    expect((await minutes()).reduce((sum, [, , trades]) => sum + Number(trades), 0)).toBe(COUNTED_AT_ONCE);
    await Promise.all([countAll(first), countAll(second)]);
    expect(await minutes()).toEqual(expected(STORED));
    expect(await countAll(replica())).toBe(1);
    expect(await minutes()).toEqual(expected(STORED));
  });

  it('may be written by that release again: what it adds, takes back and restores is counted by the next one', async () => {
    await store(STORED, 3);
    await db.raw('update chain_events set orphaned = true where block_number < 10');
    const again = replica();
    await countAll(again);
    const without = (await minutes()).reduce((sum, [, , trades]) => sum + Number(trades), 0);
    expect(without).toBe(STORED + 3 - 10);
    await db.raw('update chain_events set orphaned = false where block_number < 10');
    await countAll(again);
    expect(await minutes()).toEqual(expected(STORED + 3));
  });

  it('is left alone by a replica whose cursor another one has moved', async () => {
    const [gateway, venue] = replica();
    await expect(countStored(gateway, venue, { ...cursor, number: 4_999n })).rejects.toThrow(CursorMovedError);
  });
});
