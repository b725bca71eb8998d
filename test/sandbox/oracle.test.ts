import { createPublicClient, encodeFunctionData, http, type Hex } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { createOrderBook, type OrderBook } from '../../sandbox/oracle/order-book.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** The oracle and the keeper under everything that can happen to a chain and to them. */

/** `npm run test:slow` takes more seeds, more steps and a larger crowd. */
const isSlow = process.env['SLOW_TESTS'] === '1';
const SEEDS = isSlow ? [7, 23, 29] : [29];
const STEPS = isSlow ? 35 : 12;
const CROWD = isSlow ? { traders: 5, orders: 10 } : { traders: 2, orders: 4 };

let sandbox: TestVenue;
beforeAll(async () => (sandbox = await startOwnVenue()));
afterAll(() => sandbox.stop());

const venue = () => {
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('no chain');
  return first;
};
const oracle = (body: object) => sandbox.post('/sandbox/oracle', body);
const onChain = (body: object) => sandbox.post('/sandbox/chain', body);
const setPrice = (value: number) => sandbox.post('/sandbox/price', { market: 'BTC/USD', price: String(value) });

beforeEach(async () => {
  await onChain({ action: 'gas', baseFeeGwei: 0.1 });
  await setPrice(60_000);
  await oracle({ mode: 'auto', delayMs: 50 });
});

/** Seeded, so that a failure can be looked at again. */
function createDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

describe('the oracle', () => {
  it('answers what waits once its delay is taken back, refuses at the price of now, and answers at any base fee', async () => {
    await oracle({ mode: 'auto', delayMs: 3_600_000 });
    const trader = await newTrader(venue());
    await trader.open();
    await onChain({ action: 'mine', blocks: 5 });
    expect(await trader.pending()).toBe(1);
    await oracle({ mode: 'auto', delayMs: 0 });
    await trader.event('MarketExecuted');

    await setPrice(59_000); // not the price of its last answer
    await oracle({ mode: 'reject', reason: 'SLIPPAGE' });
    await trader.close(0, price(60_000));
    await trader.event('MarketCloseCanceled');
    const { priceData } = await trader.event('PriceReceived');
    expect((BigInt(String(priceData)) >> 168n) & (2n ** 56n - 1n)).toBe(price(59_000));

    await oracle({ mode: 'hold' });
    await trader.open({ openPrice: price(59_000) });
    await onChain({ action: 'gas', baseFeeGwei: 100_000 }); // the highest that can be set
    await oracle({ mode: 'auto' });
    await eventually(
      () => trader.trades(),
      (trades) => trades.length === 2,
    );
  });

  it('answers a crowd in one block, each order once', async () => {
    const traders = await Promise.all(Array.from({ length: CROWD.traders }, () => newTrader(venue())));
    await onChain({ action: 'mining', paused: true });
    const nonces = await Promise.all(traders.map(({ client, account }) => client.getTransactionCount({ address: account.address })));
    for (const [at, trader] of traders.entries())
      for (let order = 0; order < CROWD.orders; order++) await raw(trader, (nonces[at] ?? 0) + order, opening(10_000_000n));
    await onChain({ action: 'mining', paused: false });
    const filled = await eventually(
      () => Promise.all(traders.map((trader) => trader.trades())),
      (all) => all.flat().length === CROWD.traders * CROWD.orders,
    );
    expect(filled.map((own) => own.map(({ index }) => index))).toEqual(
      traders.map(() => Array.from({ length: CROWD.orders }, (_, index) => index)),
    );
  });
});

const opening = (collateralAmount: bigint, changes: object = {}): Hex => {
  const trade = {
    ...{ user: venue().definition.diamond, index: 0, pairIndex: 0, leverage: 10_000, long: true, isOpen: true, collateralIndex: 3 },
    ...{ tradeType: 0, collateralAmount, openPrice: price(60_000), tp: 0n, sl: 0n, isCounterTrade: false, positionSizeToken: 0n },
    __placeholder: 0,
    ...changes,
  };
  return encodeFunctionData({
    abi: diamondAbi,
    functionName: 'openTrade',
    args: [trade, 5000, '0x0000000000000000000000000000000000000000'],
  });
};

async function raw({ account, client }: ChainTrader, nonce: number, data: Hex): Promise<void> {
  const { chainId, diamond } = venue().definition;
  const fees = { gas: 2_000_000n, maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 0n };
  const signed = await account.signTransaction({ type: 'eip1559', chainId, nonce, ...fees, to: diamond, data });
  await client.request({ method: 'eth_sendRawTransaction', params: [signed] });
}

describe.each(SEEDS)('after any mix of orders, reorganisations, pauses and jumps (seed %d)', (seed) => {
  it('every order is resolved once, and the book that followed the events is what the contract holds', async () => {
    const roll = createDice(seed);
    const traders = await Promise.all(Array.from({ length: 4 }, () => newTrader(venue(), { usdc: '100000' })));
    await onChain({ action: 'mine', blocks: 20 }); // no reorganisation reaches the funding
    const follower = await createFollower();
    for (let step = 0; step < STEPS; step++) {
      const trader = traders[roll(traders.length)];
      if (trader) await act(trader, roll);
      if (roll(2) === 0) await follower.follow();
    }
    await oracle({ mode: 'auto', delayMs: 0 });
    await eventually(
      async () => (await Promise.all(traders.map((trader) => trader.pending()))).reduce((sum, count) => sum + count, 0),
      (pending) => pending === 0,
    );
    await onChain({ action: 'mining', paused: true });
    await follower.follow();
    const followed = contents(follower.book);
    await follower.book.rebuild();
    expect(followed).toEqual(contents(follower.book));
    await onChain({ action: 'mining', paused: false });
    expect(sandbox.log.entries.filter(({ event }) => event === 'oracle.answer-failed' || event === 'keeper.failed')).toEqual([]);
  });
});

async function act(trader: ChainTrader, roll: (sides: number) => number): Promise<void> {
  const kind = roll(10);
  if (kind < 5) return trade(trader, roll);
  if (kind < 7) await onChain({ action: 'reorg', depth: 1 + roll(5), drop: roll(2) === 0 });
  else if (kind === 7) await setPrice(59_400 + roll(1200));
  else if (kind === 8) await oracle([{ mode: 'hold' }, { mode: 'auto', delayMs: roll(300) }, { mode: 'reject' }][roll(3)] ?? {});
  else {
    await onChain({ action: 'mining', paused: true });
    await onChain({ action: 'reorg', depth: 1 + roll(3), drop: true });
    await onChain({ action: 'mining', paused: false });
  }
}

async function trade(trader: ChainTrader, roll: (sides: number) => number): Promise<void> {
  const nonce = await trader.client.getTransactionCount({ address: trader.account.address, blockTag: 'pending' });
  const [first] = await trader.trades();
  const protect = { tp: price(60_500 + roll(300)), sl: price(59_500 - roll(300)) };
  const data =
    first?.tradeType === 0 && roll(2) === 0
      ? encodeFunctionData({ abi: diamondAbi, functionName: 'closeTradeMarket', args: [first.index, price(60_000)] })
      : opening(50_000_000n, { ...protect, tradeType: roll(3), openPrice: price(60_000 + roll(400) - 200), leverage: 2000 + roll(60_000) });
  await raw(trader, nonce, data);
}

/** A second book beside the oracle's own, kept true in the same way. */
async function createFollower(): Promise<{ book: OrderBook; follow(): Promise<void> }> {
  const client = createPublicClient({ transport: http(venue().rpcUrl), cacheTime: 0 });
  const book = createOrderBook(client, venue().definition.diamond);
  let seen = await rebuild();
  return {
    book,
    async follow() {
      const head = await client.getBlock();
      if (head.hash === seen.hash) return;
      const known = await client.getBlock({ blockNumber: seen.number }).catch(() => null);
      if (known?.hash !== seen.hash) return void (seen = await rebuild());
      await book.refresh(seen.number + 1n, head.number);
      seen = head;
    },
  };

  /** Resolves with the block it was read at. A later block, read in part, could be reorganised away without a change below it. */
  async function rebuild(): Promise<{ readonly hash: Hex; readonly number: bigint }> {
    const head = await client.getBlock();
    await book.rebuild();
    return (await client.getBlock()).hash === head.hash ? head : rebuild();
  }
}

const contents = ({ trades, requests }: OrderBook): unknown => ({
  requests: [...requests.keys()].sort(),
  trades: [...trades]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, { openPrice, tp, sl, leverage, collateralAmount, tradeType }]) => ({
      ...{ key, openPrice, tp, sl, leverage, collateralAmount, tradeType },
    })),
});
