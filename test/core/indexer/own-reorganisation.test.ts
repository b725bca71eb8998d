import { venueOf, type Venue } from '../../../core/gateway.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { DEPTHS } from '../../harness/diamond/reorg-depths.js';
import { diamondCall, price } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { storedOrders } from '../../harness/traders/stored-orders.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
let venue: Venue;
let own: ReturnType<typeof storedOrders>;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  venue = venueOf(sandbox.gateway, CHAIN);
  own = storedOrders(sandbox, chain, venue);
});
afterAll(() => sandbox.stop());
beforeEach(() => {
  sandbox.controls.prices.jump(1, '3000');
  chain.setOraclePolicy(null, { mode: 'auto', delayMs: 50 });
});

const MARKET = { pairIndex: 1, openPrice: price(3000) };
const LIMIT = { pairIndex: 1, openPrice: price(1000), tradeType: 1 };

/** Blocks with nothing in them, so that a deep reorganisation reaches none of the preparations. */
const calm = () => chain.mine(6);

interface Scene {
  readonly id: bigint;
  readonly hash: `0x${string}`;
  /** What the order is before and after the transaction of the hash. */
  readonly before: 'prepared' | 'pending' | 'open';
  readonly after: 'pending' | 'open' | 'filled' | 'canceled' | 'rejected';
}

const SCENES: Readonly<Record<string, (trader: ChainTrader) => Promise<Scene>>> = {
  async 'a request'(trader) {
    chain.setOraclePolicy(1, { mode: 'hold' });
    const { id, data } = await own.place(trader, { trade: MARKET });
    await calm();
    return { id, hash: await own.send(trader, data), before: 'prepared', after: 'pending' };
  },
  async 'a resting order'(trader) {
    const { id, data } = await own.place(trader, { trade: LIMIT });
    await calm();
    return { id, hash: await own.send(trader, data), before: 'prepared', after: 'open' };
  },
  async 'a cancellation'(trader) {
    const { id, data } = await own.place(trader, { trade: LIMIT });
    await own.send(trader, data);
    await calm();
    return { id, hash: await own.send(trader, diamondCall('cancelOpenOrder', [0])), before: 'open', after: 'canceled' };
  },
  async 'a fill'(trader) {
    return answered(trader, { mode: 'auto', delayMs: 50 }, 'filled');
  },
  async 'a refusal'(trader) {
    return answered(trader, { mode: 'reject', reason: 6 }, 'rejected');
  },
};

/** The oracle's own transaction, found by the trader's answer. */
async function answered(
  trader: ChainTrader,
  policy: Parameters<ChainControls['setOraclePolicy']>[1],
  after: 'filled' | 'rejected',
): Promise<Scene> {
  chain.setOraclePolicy(1, { mode: 'hold' });
  const { id, data } = await own.place(trader, { trade: MARKET });
  await own.send(trader, data);
  await own.reaches(trader, id, 'pending');
  await calm();
  chain.setOraclePolicy(1, policy);
  await own.reaches(trader, id, after);
  const timeline = await sandbox.gateway.store.orders.timeline(CHAIN, (await own.find(trader, id)).order.trader, id);
  const hash = timeline?.events.at(-1)?.event.place.txHash;
  if (!hash) throw new Error('nothing answered');
  return { id, hash, before: 'pending', after };
}

describe('a reorganisation of an order made here', () => {
  // Each scene at every depth where there is time, otherwise at one of them in turn.
  const isSlow = process.env['SLOW_TESTS'] === '1';
  const depthsOf = (at: number): readonly number[] => (isSlow ? DEPTHS : DEPTHS.slice(at % DEPTHS.length).slice(0, 1));
  const cases = Object.entries(SCENES).flatMap(([kind, scene], at) => depthsOf(at).map((depth) => [kind, depth, scene] as const));

  it.each(cases)(
    'that takes back %s, %i blocks deep, leaves the order as the chain has it, and journals each step',
    async (_kind, depth, scene) => {
      const trader = await newTrader(chain);
      const { id, hash, before, after } = await scene(trader);
      await own.reaches(trader, id, after);
      const known = (await own.journal(trader)).length;
      // The oracle answers again by itself; what a trader sent is gone for good.
      chain.setOraclePolicy(1, { mode: 'hold' });
      await own.undo(trader, hash, depth, true);
      await own.reaches(trader, id, before);
      expect((await own.journal(trader)).slice(known)).toContain(`correction ${id} ${before}`);
      expect(await own.all(trader)).toHaveLength(1);
      await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    },
  );

  it.each(depthsOf(1))('%i blocks deep, its transactions mined again, keeps every id', async (depth) => {
    const trader = await newTrader(chain);
    const resting = await own.place(trader, { trade: LIMIT });
    const market = await own.place(trader, { trade: MARKET });
    await calm();
    await own.send(trader, resting.data);
    const hash = await own.send(trader, market.data);
    await own.reaches(trader, market.id, 'filled');
    await own.undo(trader, hash, depth, false);
    await own.reaches(trader, market.id, 'filled');
    await own.reaches(trader, resting.id, 'open');
    expect(await own.all(trader)).toHaveLength(2);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('gives places to other orders without mixing them up', async () => {
    const trader = await newTrader(chain);
    const [first, second] = [await own.place(trader, { trade: LIMIT }), await own.place(trader, { trade: LIMIT })];
    await calm();
    const hash = await own.send(trader, first.data);
    await own.send(trader, second.data);
    await own.reaches(trader, second.id, 'open');
    await own.undo(trader, hash, 1, true);
    await own.reaches(trader, first.id, 'prepared');
    await trader.open(LIMIT);
    await own.send(trader, second.data);
    await own.send(trader, first.data);
    await own.reaches(trader, first.id, 'open');
    const places = new Map((await own.all(trader)).map(({ id, orderKey }) => [id, orderKey]));
    expect([places.get(first.id), places.get(second.id)]).toEqual(['resting:2', 'resting:1']);
    expect(places.size).toBe(3);
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    await own.send(trader, diamondCall('cancelOpenOrder', [0]));
    await eventually(
      () => own.all(trader),
      (all) => all.filter(({ order }) => order.status === 'canceled').length === 1,
    );
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });
});
