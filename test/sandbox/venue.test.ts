import { createPublicClient, encodeFunctionData, http } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { newTrader } from '../harness/traders/chain-trader.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** The venue as a trader meets it: through the node, with a wallet. */

const NO_TRADES = 0;
let sandbox: TestVenue;

beforeAll(async () => (sandbox = await startOwnVenue()));
afterAll(() => sandbox.stop());

const chain = () => {
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('no chain');
  return first;
};
const setPrice = (market: string, value: string) => sandbox.post('/sandbox/price', { market, price: value });
const oracle = (body: object) => sandbox.post('/sandbox/oracle', body);

beforeEach(async () => {
  await setPrice('BTC/USD', '60000');
  await oracle({ mode: 'auto', delayMs: 50 });
});

describe('the sandbox venue', () => {
  it('fills a market order, pays out its close, refuses with the reason it was given, and treats one market apart', async () => {
    const trader = await newTrader(chain());
    await trader.open();
    expect(await trader.event('MarketExecuted')).toMatchObject({ open: true, oraclePrice: price(60_000) });
    const [position] = await trader.trades();
    await setPrice('BTC/USD', '61200');
    await trader.close(position?.index ?? -1, price(61_200));
    await eventually(
      () => trader.trades(),
      (trades) => trades.length === NO_TRADES,
    );
    expect(await trader.event('MarketExecuted')).toMatchObject({ open: false });
    expect(await trader.usdc()).toBeGreaterThan(10_000_000_000n);

    await oracle({ mode: 'reject', reason: 'EXPOSURE_LIMITS' });
    await trader.open({ openPrice: price(61_200) });
    expect(await trader.event('MarketOpenCanceled')).toMatchObject({ cancelReason: 6 });

    await oracle({ mode: 'auto' });
    await oracle({ mode: 'hold', market: 'ETH-USD' });
    await setPrice('ETH/USD', '3000');
    await trader.open({ pairIndex: 1, openPrice: price(3_000) });
    await trader.open({ openPrice: price(61_200) });
    await eventually(
      () => trader.trades(),
      (trades) => trades.length === 1,
    );
    expect(await trader.pending()).toBe(1);

    await oracle({ mode: 'auto', market: 'ETH-USD' }); // what waited is answered, at the price of its own market
    await eventually(
      () => trader.trades(),
      (trades) => trades.length === 2,
    );
    expect(await trader.pending()).toBe(0);
    const eth = (await trader.trades()).find(({ pairIndex }) => pairIndex === 1)?.index ?? -1;
    const data = encodeFunctionData({ abi: diamondAbi, functionName: 'decreasePositionSize', args: [eth, 40_000_000n, 0, price(3_000)] });
    await trader.send(chain().definition.diamond, data);
    expect(await trader.event('PositionSizeDecreaseExecuted')).toMatchObject({ cancelReason: 0, oraclePrice: price(3_000) });
  });

  it('fires a limit order at its price, not before, into a new trade index', async () => {
    const trader = await newTrader(chain());
    await trader.open({ tradeType: 1, openPrice: price(59_000) });
    await sandbox.post('/sandbox/chain', { action: 'mine', blocks: 5 });
    expect((await trader.trades()).map(({ tradeType }) => tradeType)).toEqual([1]);
    await setPrice('BTC/USD', '58990');
    expect(await trader.event('LimitExecuted')).toMatchObject({ orderType: 2, limitIndex: 0, index: 1 });
    expect((await trader.trades()).map(({ tradeType, index }) => [tradeType, index])).toEqual([[0, 1]]);
  });

  it('fires a stop order when the price gets worse', async () => {
    const trader = await newTrader(chain());
    await trader.open({ tradeType: 2, openPrice: price(61_000) });
    await setPrice('BTC/USD', '61010');
    expect(await trader.event('LimitExecuted')).toMatchObject({ orderType: 3 });
  });

  it.each([
    ['take profit', '66100', 4],
    ['stop loss', '57900', 5],
  ])('closes a position at its %s', async (_name, level, orderType) => {
    const trader = await newTrader(chain());
    await trader.open({ tp: price(66_000), sl: price(58_000) });
    await trader.event('MarketExecuted');
    await setPrice('BTC/USD', level);
    expect(await trader.event('LimitExecuted')).toMatchObject({ orderType });
    expect(await trader.trades()).toHaveLength(NO_TRADES);
  });

  it('liquidates a position whose collateral is lost', async () => {
    const trader = await newTrader(chain());
    await trader.open();
    await trader.event('MarketExecuted');
    await setPrice('BTC/USD', '54000');
    expect(await trader.event('LimitExecuted')).toMatchObject({ orderType: 6, amountSentToTrader: 0n });
  });

  it('gives no answer while a market is shut', async () => {
    await sandbox.post('/sandbox/market', { market: 'SOL/USD', isOpen: false });
    await setPrice('SOL/USD', '150');
    const trader = await newTrader(chain());
    await trader.open({ pairIndex: 2, openPrice: price(150) });
    await sandbox.post('/sandbox/chain', { action: 'mine', blocks: 20 });
    expect(await trader.pending()).toBe(1);
    await sandbox.post('/sandbox/market', { market: 'SOL/USD', isOpen: true });
    await trader.event('MarketExecuted');
  });

  it('answers again a request whose answer was reorganised away, and goes on answering', async () => {
    await oracle({ mode: 'hold' });
    const trader = await newTrader(chain());
    await trader.open();
    await sandbox.post('/sandbox/chain', { action: 'mine', blocks: 10 });
    await oracle({ mode: 'auto' });
    await trader.event('MarketExecuted');
    await sandbox.post('/sandbox/chain', { action: 'reorg', depth: 2, drop: true });
    await eventually(
      () => trader.trades(),
      (trades) => trades.length === 1,
    );
    await trader.open();
    await eventually(
      () => trader.trades(),
      (trades) => trades.length === 2,
    );
  });

  it('lets a request time out by blocks, and the trader take the collateral back', async () => {
    await oracle({ mode: 'hold' });
    const trader = await newTrader(chain());
    const before = await trader.usdc();
    await trader.open();
    expect(await trader.usdc()).toBe(before - 100_000_000n);
    await sandbox.post('/sandbox/chain', { action: 'mine', blocks: 200 });
    await trader.send(chain().definition.diamond, `0xb6919540${'0'.repeat(64)}`);
    expect(await trader.usdc()).toBe(before);
  });
});

describe('the levers of the sandbox', () => {
  it('fund any address', async () => {
    const address = '0x00000000000000000000000000000000000abcde';
    const { body } = await sandbox.post('/sandbox/faucet', { address, usdc: '12.5', dai: '3', eth: '0.25' });
    expect((body as { txHashes: string[] }).txHashes).toHaveLength(3);
    const client = createPublicClient({ transport: http(chain().rpcUrl) });
    expect(await client.getBalance({ address })).toBe(250_000_000_000_000_000n);
  });

  it('pass a request on to the node, for pages that reach no other port', async () => {
    const { body } = await sandbox.post('/sandbox/rpc', { method: 'eth_chainId' });
    expect(body).toEqual({ result: `0x${chain().definition.chainId.toString(16)}` });
    expect((await sandbox.post('/sandbox/rpc', { method: 'eth_getTransactionReceipt', params: [`0x${'1'.repeat(64)}`] })).body).toEqual({
      result: null,
    });
  });

  it.each([
    ['X-Forwarded-For', '192.0.2.7'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['Forwarded', 'for=192.0.2.7'],
  ])('refuse a caller whom a proxy brings: %s %s', async (name, value) => {
    const { body } = await sandbox.get('/sandbox', { [name]: value });
    expect(body).toMatchObject({ code: 'UNSUPPORTED', message: expect.stringContaining('from its own machine only') });
    expect(JSON.stringify(body)).not.toContain('privateKey');
  });

  it('make fresh traders with a delegate', async () => {
    const delegate = sandbox.controls.accounts.agent.address;
    const { status, body } = await sandbox.post('/sandbox/accounts', { delegate });
    expect(status).toBe(200);
    expect(body).toEqual({ address: expect.stringMatching(/^0x/), privateKey: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
  });

  it('describe the venue, demo accounts funded and delegated', async () => {
    const { body } = await sandbox.get('/sandbox');
    expect(body).toMatchObject({
      seed: 'diamond',
      chains: [
        {
          chain: 'arbitrum-sepolia',
          chainId: 421614,
          rpcUrl: chain().rpcUrl,
          backendUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+/),
          pricingUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+/),
          globalUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+/),
          diamond: chain().definition.diamond,
          collaterals: expect.arrayContaining([expect.objectContaining({ symbol: 'USDC', decimals: 6, index: 3 })]),
        },
      ],
      accounts: [{ role: 'trader' }, { role: 'agent' }, { role: 'hl-trader' }, { role: 'hl-agent' }],
    });
  });

  it.each([
    ['/sandbox/price', { market: 'NOPE/USD', price: '1' }, 'market'],
    ['/sandbox/price', { market: 'BTC/USD', price: '1e5' }, 'price'],
    ['/sandbox/price', { market: 'BTC/USD', price: '0' }, 'price'],
    ['/sandbox/price', { market: 'BTC/USD' }, 'price'],
    ['/sandbox/price', { market: 'BTC/USD', price: '1', walk: true }, 'price'],
    ['/sandbox/oracle', { mode: 'sometimes' }, 'mode'],
    ['/sandbox/faucet', { address: '0x12', usdc: '1' }, 'address'],
    ['/sandbox/faucet', { address: `0x${'1'.repeat(40)}`, usdc: '-1' }, 'usdc'],
    ['/sandbox/chain', { action: 'reorg', depth: 0 }, 'depth'],
    ['/sandbox/chain', { action: 'explode' }, 'action'],
    ['/sandbox/rpc', { method: 'hardhat_setBalance' }, 'method'],
    ['/sandbox/rpc', { method: 'eth_call', params: {} }, 'params'],
    ['/sandbox/market', { market: 'BTC/USD', isOpen: true, extra: 1 }, ''],
  ])('refuse %s %j and name what is wrong', async (path, body, field) => {
    const reply = await sandbox.post(path, body);
    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { issues: expect.arrayContaining([expect.objectContaining({ path: field })]) },
    });
  });

  it('say in a sentence what the venue cannot do', async () => {
    const { status, body } = await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '9999999' });
    expect([status, body]).toEqual([
      422,
      expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining('does not fit') }),
    ]);
  });

  it.each([
    ['/sandbox/accounts', { eth: '0' }, 'insufficient funds for gas'],
    ['/sandbox/faucet', { address: `0x${'1'.repeat(40)}`, eth: '999999999999999' }, 'insufficient funds for gas'],
    ['/sandbox/faucet', { address: `0x${'1'.repeat(40)}`, usdc: '0.0000001' }, 'USDC has 6 decimals'],
    ['/sandbox/rpc', { method: 'eth_sendRawTransaction', params: ['0x12'] }, ''],
  ])('pass on why %s cannot do %j', async (path, body, reason) => {
    const reply = await sandbox.post(path, body);
    expect([reply.status, reply.body]).toEqual([
      422,
      expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining(reason) }),
    ]);
  });

  it('refuse a chain that is not running', async () => {
    const { status, body } = await sandbox.post('/sandbox/chain', { action: 'mine', chain: 'base' });
    expect([status, body]).toEqual([404, expect.objectContaining({ code: 'CHAIN_NOT_FOUND' })]);
  });
});
