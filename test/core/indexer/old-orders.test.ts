import { listOpenOrders } from '../../../core/account/list-orders.js';
import { venueOf, type Gateway, type Venue } from '../../../core/gateway.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { diamondCall, price, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway, type SecondGateway } from '../../harness/venue/second-gateway.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

/** A gateway that begins to follow the chain in the middle of its life. */

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
let database: TestDatabase;
let young: SecondGateway;
let gateway: Gateway;
let venue: Venue;
let trader: ChainTrader;
let edited: ChainTrader;
let moved: ChainTrader;
/** The block times of the three orders that `trader` left behind. */
let made: number[];

async function blockTime(hash: `0x${string}`): Promise<number> {
  const { blockNumber } = await trader.client.getTransactionReceipt({ hash });
  return Number((await trader.client.getBlock({ blockNumber })).timestamp) * 1000;
}

const send = (by: ChainTrader, data: `0x${string}`) => by.send(chain.definition.diamond, data);

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  for (const [pair, at] of [
    [1, '3000'],
    [4, '14'],
  ] as const)
    sandbox.controls.prices.jump(pair, at);
  trader = await newTrader(chain);
  edited = await newTrader(chain);
  moved = await newTrader(chain);
  await moved.open({ pairIndex: 1, tradeType: 1, openPrice: price(1000) });
  for (const one of [trader, edited]) {
    await one.open({ pairIndex: 1, openPrice: price(3000) }, 50_000);
    await eventually(
      () => one.trades(),
      (trades) => trades.length === 1,
    );
  }
  const limit = await trader.open({ pairIndex: 1, tradeType: 1, openPrice: price(1000), sl: price(1) });
  chain.setOraclePolicy(4, { mode: 'hold' });
  chain.setOraclePolicy(1, { mode: 'hold' });
  const opening = await trader.open({ pairIndex: 4, openPrice: price(14) });
  const closing = await trader.close(0, price(3000));
  made = await Promise.all([limit, opening, closing].map(blockTime));
  await chain.mine(3);
  await chain.pauseMining(true); // it has to begin on a chain where nothing happens
  database = await createTestDatabase();
  const startBlock = (await trader.client.getBlockNumber()) - 1n; // the last block can be taken back and the one before is still known
  const { config } = sandbox;
  const chains = config.chains.map((one) => ({ ...one, startBlock }));
  young = await startSecondGateway({ ...sandbox, config: { ...config, chains, database: { kind: 'server', url: database.url } } });
  gateway = young.gateway;
  venue = venueOf(gateway, CHAIN);
  await eventually(
    () => venue.state.followed.caughtUpAt,
    (at) => at !== null,
  );
  await chain.pauseMining(false);
});
afterAll(async () => {
  await young.stop();
  await database.drop();
  await sandbox.stop();
});

const open = (of: ChainTrader) => listOpenOrders(gateway, venue, lowerOf(of));
const rows = async (of: ChainTrader) =>
  (await gateway.store.account.liveOrders(CHAIN, lowerOf(of))).map(({ id, orderKey }) => `${id} ${orderKey ?? ''}`);

describe('an order that was open before the indexer started', () => {
  it('is listed on the first request, once, with the time it was made', async () => {
    expect(await gateway.store.account.liveOrders(CHAIN, lowerOf(trader))).toEqual([]);
    await Promise.all([open(trader), open(trader), open(trader)]);
    const orders = await open(trader);
    expect(orders.map(({ status, type, reduceOnly }) => `${status} ${type} ${reduceOnly}`).sort()).toEqual([
      'open limit false',
      'pending market false',
      'pending market true',
    ]);
    expect(orders.map(({ createdAt }) => createdAt).sort()).toEqual(made.sort());
    const [id] = await rows(trader);
    expect(id).toMatch(/^\d+ /);
    await expectViewEqualsChain(gateway, CHAIN, trader);
  });

  it('is found again under its id when the chain takes back the block it was looked up at', async () => {
    await chain.pauseMining(true);
    const head = await moved.client.getBlockNumber();
    await eventually(
      () => venue.state.followed.block,
      (block) => block === head,
    );
    expect(await open(moved)).toHaveLength(1);
    const before = await rows(moved);
    await chain.reorg(1, false);
    await chain.pauseMining(false);
    await eventually(
      () => gateway.store.tracking.isBackfilled(CHAIN, lowerOf(moved)),
      (met) => !met,
    );
    expect(await open(moved)).toHaveLength(1);
    expect(await rows(moved)).toEqual(before);
    await expectViewEqualsChain(gateway, CHAIN, moved);
  });

  it('is looked up once', async () => {
    await open(trader);
    const before = await rows(trader);
    await open(trader);
    await open(trader);
    expect(await rows(trader)).toEqual(before);
    expect(await gateway.store.tracking.isBackfilled(CHAIN, lowerOf(trader))).toBe(true);
  });

  it('is followed from then on: amended, timed out since it was made, answered late', async () => {
    await open(trader);
    await send(trader, diamondCall('updateOpenOrder', [1, price(1100), 0n, 0n, 1000]));
    await expectViewEqualsChain(gateway, CHAIN, trader);
    await chain.mine(venue.feed.config().marketOrdersTimeoutBlocks);
    await eventually(
      () => open(trader),
      (orders) => orders.filter(({ status }) => status === 'timed_out').length === 2,
    );
    chain.setOraclePolicy(1, { mode: 'auto', delayMs: 50 });
    chain.setOraclePolicy(4, { mode: 'auto', delayMs: 50 });
    await eventually(
      () => open(trader),
      (orders) => orders.length === 1,
    );
    await expectViewEqualsChain(gateway, CHAIN, trader);
  });

  it('has its figures from before the blocks that change them', async () => {
    await send(edited, diamondCall('updateTp', [0, price(4000)]));
    await send(edited, diamondCall('decreasePositionSize', [0, usdc(30), 0, price(3000)]));
    await expectViewEqualsChain(gateway, CHAIN, edited);
    const [fill] = await eventually(
      () => gateway.store.account.fillsBefore(CHAIN, lowerOf(edited), null, 10),
      (fills) => fills.length === 1,
    );
    expect(fill?.executed).toMatchObject({ action: 'decrease', collateral: usdc(30) });
  });
});
