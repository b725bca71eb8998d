import { listFills, listOrderHistory } from '../../../core/account/list-orders.js';
import { venueOf, type Gateway } from '../../../core/gateway.js';
import { listEvents } from '../../../core/account/list-events.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { createTestDatabase } from '../../harness/database/test-database.js';
import { diamondCall, price, usdc } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway } from '../../harness/venue/second-gateway.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
const traders: ChainTrader[] = [];

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
});
afterAll(() => sandbox.stop());

const send = (trader: ChainTrader, data: `0x${string}`) => trader.send(chain.definition.diamond, data);
const orders = (gateway: Gateway, trader: ChainTrader) => gateway.store.account.ordersBefore(CHAIN, lowerOf(trader), null, 500);

async function settled(trader: ChainTrader): Promise<void> {
  await eventually(
    () => trader.pending(),
    (pending) => pending === 0,
  );
  await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
}

async function opened(trader: ChainTrader): Promise<void> {
  await trader.open({ pairIndex: 1, openPrice: price(3000) }, 50_000);
  await settled(trader);
}

/** What happens to a trader with a position (index 0) and a resting order (index 1). */
const KINDS: Readonly<Record<string, (trader: ChainTrader) => Promise<`0x${string}`>>> = {
  'an amendment': (trader) => send(trader, diamondCall('updateOpenOrder', [1, price(1100), 0n, 0n, 1000])),
  'a take profit': (trader) => send(trader, diamondCall('updateTp', [0, price(4000)])),
  'an increase': (trader) => send(trader, diamondCall('increasePositionSize', [0, usdc(50), 10_000, price(3000), 50_000])),
  'a decrease': (trader) => send(trader, diamondCall('decreasePositionSize', [0, usdc(30), 0, price(3000)])),
  'a leverage change': (trader) => send(trader, diamondCall('updateLeverage', [0, 5_000])),
  'a request': (trader) => trader.open({ pairIndex: 1, openPrice: price(3000) }, 50_000),
  'a new resting order': (trader) => trader.open({ pairIndex: 1, tradeType: 1, openPrice: price(1000) }),
  'a cancellation': (trader) => send(trader, diamondCall('cancelOpenOrder', [1])),
  'a close': (trader) => trader.close(0, price(3000)),
};

/** Where there is time each case has a trader of its own; otherwise one goes through all of them, and none takes place 0 away from the next. */
const isSlow = process.env['SLOW_TESTS'] === '1';
let shared: Promise<ChainTrader> | null = null;
const nextTrader = (): Promise<ChainTrader> => (isSlow ? withBoth() : (shared ??= withBoth()));
async function withBoth(): Promise<ChainTrader> {
  const trader = await newTrader(chain);
  traders.push(trader);
  await opened(trader);
  await trader.open({ pairIndex: 1, tradeType: 1, openPrice: price(1000) });
  await settled(trader);
  return trader;
}

describe('a reorganisation', () => {
  // Both fates of every kind where there is time, otherwise one in turn of those that no test of orders made here has.
  const kinds = Object.keys(KINDS).filter((kind) => isSlow || (kind !== 'a request' && kind !== 'a cancellation'));
  const cases = kinds.flatMap((kind, at) =>
    [[kind, (at % 5) + 1, 'mined again', false] as const, [kind, ((at + 2) % 5) + 1, 'lost', true] as const].filter(
      ([, , , drop]) => isSlow || drop === (at % 2 === 0),
    ),
  );

  it.each(cases)('of %s, %i blocks deep, its transactions %s, leaves our view equal to the chain', async (kind, depth, _fate, drop) => {
    sandbox.controls.prices.jump(1, '3000');
    const trader = await nextTrader();
    await chain.mine(6); // nothing of what was done before goes with it
    const before = new Map((await orders(sandbox.gateway, trader)).map(({ orderKey, id }) => [orderKey, id]));
    const hash = await KINDS[kind]?.(trader);
    const { blockNumber } = await trader.client.getTransactionReceipt({ hash: hash ?? '0x' });
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    const above = Number((await trader.client.getBlockNumber()) - blockNumber);
    await chain.reorg(above + depth, drop);
    if (isSlow) await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
    await settled(trader);
    for (const { orderKey, id } of await orders(sandbox.gateway, trader)) if (before.has(orderKey)) expect(id).toBe(before.get(orderKey));
  });

  it('of withdrawn profit takes its journal entry back', async () => {
    sandbox.controls.prices.jump(1, '3000');
    const trader = await nextTrader();
    sandbox.controls.prices.jump(1, '3100');
    const hash = await send(trader, diamondCall('withdrawPositivePnl', [0, usdc(1)]));
    const entriesOf = async (of: string): Promise<number[]> => {
      const { data } = await listEvents(sandbox.gateway, venueOf(sandbox.gateway, CHAIN), lowerOf(trader), { after: 0, limit: 500 });
      return data.flatMap((event) =>
        event.kind === of || (event.kind === 'correction' && event.data.of === of) ? [Number((event.data as { id: unknown }).id)] : [],
      );
    };
    const [id] = await eventually(
      () => entriesOf('withdrawal'),
      (ids) => ids.length === 1,
    );
    const { blockNumber } = await trader.client.getTransactionReceipt({ hash });
    await chain.reorg(Number((await trader.client.getBlockNumber()) - blockNumber) + 1, true);
    await eventually(
      () => entriesOf('withdrawal'),
      (ids) => String(ids) === String([id, id]),
    );
    await expectViewEqualsChain(sandbox.gateway, CHAIN, trader);
  });

  it('is logged', () => {
    expect(sandbox.log.entries.filter(({ event }) => event === 'chain.reorganised').length).toBeGreaterThan(0);
  });
});

describe('what the follower stored', () => {
  const rowsOf = async (gateway: Gateway, trader: ChainTrader) => ({
    orders: (await orders(gateway, trader))
      .map(({ orderKey, order }) => ({ orderKey, ...order }))
      .sort((a, b) => (a.orderKey ?? '').localeCompare(b.orderKey ?? '')),
    positions: (await gateway.store.account.openPositions(CHAIN, lowerOf(trader))).map(({ tradeIndex, position }) => ({
      tradeIndex,
      ...position,
    })),
    fills: (await gateway.store.account.fillsBefore(CHAIN, lowerOf(trader), null, 500)).map(({ executed }) => executed),
  });
  const caughtUp = (gateway: Gateway) => {
    const target = venueOf(sandbox.gateway, CHAIN).state.head?.block.number ?? 0n;
    return eventually(
      () => venueOf(gateway, CHAIN).state.followed.block ?? -1n,
      (block) => block >= target,
    );
  };

  it('is what a fresh database learns from the chain alone', async () => {
    const database = await createTestDatabase();
    const config = { ...sandbox.config, database: { kind: 'server' as const, url: database.url } };
    const fresh = await startSecondGateway({ ...sandbox, config });
    try {
      await caughtUp(fresh.gateway);
      expect(traders.length).toBeGreaterThan(0);
      for (const trader of traders) expect(await rowsOf(fresh.gateway, trader)).toEqual(await rowsOf(sandbox.gateway, trader));
    } finally {
      await fresh.stop();
      await database.drop();
    }
  });

  it('is served alike by a second gateway on the same database, each fill once', async () => {
    const second = await startSecondGateway(sandbox);
    try {
      const trader = await newTrader(chain);
      await opened(trader);
      await caughtUp(second.gateway);
      await eventually(
        () => rowsOf(second.gateway, trader),
        (rows) => rows.fills.length === 1,
      );
      const page = await listOrderHistory(second.gateway, venueOf(second.gateway, CHAIN), lowerOf(trader), { limit: 10 });
      expect(page).toEqual(await listOrderHistory(sandbox.gateway, venueOf(sandbox.gateway, CHAIN), lowerOf(trader), { limit: 10 }));
      expect((await listFills(second.gateway, venueOf(second.gateway, CHAIN), lowerOf(trader), { limit: 10 })).data).toHaveLength(1);
    } finally {
      await second.stop();
    }
  });
});
