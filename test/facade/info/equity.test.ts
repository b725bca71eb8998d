import { Wallet } from 'ethers';
import fc from 'fast-check';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { diamondCall, price, tokenCall, usdc } from '../../harness/diamond/diamond-calls.js';
import { order, orderAction, postExchange, signL1 } from '../../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { hlSocket } from '../../harness/hyperliquid/socket.js';
import { eventually } from '../../harness/time/eventually.js';
import { agentTrader, BUSY_AGENTS, prepared, type AgentTrader, type Answer, type Prepared } from '../../harness/traders/agent-trader.js';
import { newFacadeTrader, type FacadeTrader } from '../../harness/traders/facade-trader.js';
import { agentsOf, authorization, domainOf, signWith } from '../../harness/traders/master-wallet.js';
import { answeredAtOnce } from '../../harness/venue/answer-hold.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const BTC = 0;
const PRICE = 60_000;
const TIMEOUT_BLOCKS = 200;
const START = 20_000;

let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;

beforeAll(async () => {
  sandbox = await startOwnVenue(BUSY_AGENTS);
  chain = firstChain(sandbox);
  info = hlInfo(sandbox);
  await priceBecomes(PRICE);
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

/** The gateway believes a jump of more than a fifth after a second: until then a resting order would be one at the market. */
function priceBecomes(wanted: number): Promise<unknown> {
  sandbox.controls.prices.jump(BTC, String(wanted));
  return eventually(
    () => sandbox.gateway.venues.get(chain.definition.slug)?.feed.lastPrice(BTC)?.oracle,
    (now) => now === price(wanted),
  );
}

interface State {
  readonly marginSummary: { readonly accountValue: string; readonly totalRawUsd: string };
  readonly withdrawable: string;
}

/** One wallet on both APIs: its agent signs for the relayer, and its own key for the native API. */
interface BothApis extends FacadeTrader {
  readonly native: AgentTrader;
  readonly send: (action: Record<string, unknown>) => Promise<unknown>;
  readonly state: () => Promise<State>;
  readonly equity: () => Promise<number>;
}

async function newTrader(funds = String(START)): Promise<BothApis> {
  const facade = await newFacadeTrader(sandbox, funds);
  const wallet = new Wallet(facade.trader.privateKey);
  const domain = await domainOf(sandbox);
  const body = await authorization(domain, signWith(wallet, domain), { trader: wallet.address, agent: wallet.address });
  expect(await agentsOf(sandbox).create(body)).toMatchObject({ status: 201 });
  const state = (): Promise<State> => info.ask<State>('clearinghouseState', { user: facade.address });
  return {
    ...facade,
    native: agentTrader(sandbox, chain, facade.trader, wallet),
    state,
    equity: async () => Number((await state()).marginSummary.accountValue),
    send: async (action) =>
      (await postExchange(sandbox.url, chain.definition.slug, await signL1(new Wallet(facade.agentKey), action))).body,
  };
}

/** At the market by default; the oracle's answer is not waited for while it is held back. */
const buy = (s: string, changes: object = {}) =>
  order({ a: BTC, b: true, p: String(PRICE * 1.05), s, r: false, t: { limit: { tif: 'Ioc' } }, ...changes });
const rest = (s: string) => buy(s, { p: '50000', t: { limit: { tif: 'Gtc' } } });
const NATIVE = { market: 'BTC/USD', side: 'long', type: 'limit', price: '40000', leverage: '10' };
const atOnce = (bot: BothApis, action: Record<string, unknown>): Promise<unknown> => answeredAtOnce(sandbox, () => bot.send(action));
const holdOracle = (): void => chain.setOraclePolicy(null, { mode: 'hold' });
const pendingBecomes = ({ trader }: BothApis, count: number): Promise<unknown> =>
  eventually(
    () => trader.pending(),
    (pending) => pending === count,
  );
const tradesBecome = ({ trader }: BothApis, count: number): Promise<unknown> =>
  eventually(
    () => trader.trades(),
    ({ length }) => length === count,
  );
/** The gateway has indexed what the chain holds. */
const positionsBecome = ({ native }: BothApis, count: number): Promise<unknown> =>
  eventually(
    () => sandbox.gateway.store.account.openPositions(chain.definition.slug, native.trader.account.address.toLowerCase() as `0x${string}`),
    ({ length }) => length === count,
  );

const pendingOf = ({ address }: BothApis) =>
  ({ address: chain.definition.diamond, abi: diamondAbi, functionName: 'getPendingOrders', args: [address] }) as const;

describe('the equity of an account', () => {
  it('counts a resting order of either API, and stays what it was when it is canceled', async () => {
    const bot = await newTrader();
    expect((await bot.state()).marginSummary).toEqual({
      accountValue: '20000.0',
      totalNtlPos: '0.0',
      totalRawUsd: '20000.0',
      totalMarginUsed: '0.0',
    });
    await bot.send(orderAction(rest('0.3')));
    await bot.native.place({ ...NATIVE, size: '0.1' }, 'open');
    await tradesBecome(bot, 2);
    const [left, { marginSummary, withdrawable }] = await Promise.all([bot.trader.usdc(), bot.state()]);
    expect(left).toBeLessThan(usdc(17_000));
    expect([marginSummary.accountValue, marginSummary.totalRawUsd]).toEqual(['20000.0', '20000.0']);
    await eventually(bot.state, ({ withdrawable: shown }) => Number(shown) === Number(left) / 1e6);
    expect(Number(withdrawable)).toBeLessThanOrEqual(Number(left) / 1e6);
    const { body } = await bot.native.call('getAccount', 'GET', `/account/${bot.address}`);
    const [own] = (body['balances'] as Record<string, string>[]).filter(({ collateral }) => collateral === 'USDC');
    expect(Number(own?.['balance']) + Number(own?.['inOrders'])).toBe(START);
    for (const { id } of (await bot.native.openOrders()) as { id: string }[]) await bot.native.send(prepared(await bot.native.cancel(id)));
    expect(await bot.trader.usdc()).toBe(usdc(START));
    expect(await bot.equity()).toBe(START);
  });

  it('counts an opening that the oracle does not answer, until it is taken back', async () => {
    const bot = await newTrader();
    holdOracle();
    await atOnce(bot, orderAction(buy('0.2')));
    await pendingBecomes(bot, 1);
    expect(await bot.trader.usdc()).toBeLessThan(usdc(18_000));
    expect(await bot.equity()).toBe(START);
    await chain.mine(TIMEOUT_BLOCKS);
    expect(await bot.equity()).toBe(START);
    // The relayer takes back what it asked for.
    await pendingBecomes(bot, 0);
    expect([await bot.trader.usdc(), await bot.equity()]).toEqual([usdc(START), START]);
  });

  it('counts added margin, a lower leverage and a size increase, also after their trade is gone', async () => {
    const bot = await newTrader();
    for (let count = 1; count <= 3; count += 1) {
      await bot.send(orderAction(buy('0.1')));
      await positionsBecome(bot, count);
    }
    const before = await bot.equity();
    holdOracle();
    expect(await atOnce(bot, { type: 'updateIsolatedMargin', asset: BTC, isBuy: true, ntli: 500_000_000 })).toMatchObject({
      status: 'err',
      response: expect.stringMatching(/^The change of margin is pending: .* oid=\d+$/) as string,
    });
    await pendingBecomes(bot, 1);
    const trades = await bot.trader.trades();
    const [added, raised] = [usdc(1_000), usdc(700)];
    const diamond = chain.definition.diamond;
    const [margin] = await bot.trader.client.readContract(pendingOf(bot));
    const changed = margin?.trade.index;
    const [first = 0, second = 0] = trades.map(({ index }) => index).filter((index) => index !== changed);
    await bot.trader.send(diamond, diamondCall('increasePositionSize', [first, added, 5_000, price(PRICE), 1_000]));
    const [deleveraged] = trades.filter(({ index }) => index === second);
    const leverage = Math.round((5_000 * Number(deleveraged?.collateralAmount)) / Number((deleveraged?.collateralAmount ?? 0n) + raised));
    await bot.trader.send(diamond, diamondCall('updateLeverage', [second, leverage]));
    await pendingBecomes(bot, 3);
    const own = (await bot.trader.client.readContract(pendingOf(bot))).filter(({ index }) => index !== margin?.index);
    expect(await bot.trader.usdc()).toBeLessThan(usdc(15_000));
    expect(await bot.equity()).toBeCloseTo(before, 0);
    // All trades are liquidated; what the requests took is the trader's all the same.
    await priceBecomes(PRICE / 2);
    await tradesBecome(bot, 0);
    const wallet = Number(await bot.trader.usdc()) / 1e6;
    expect(await bot.equity()).toBeGreaterThan(wallet + 2_100);
    expect((await bot.equity()) - wallet).toBeLessThan(2_250);
    await chain.mine(TIMEOUT_BLOCKS);
    const kept = await bot.equity();
    for (const { index } of own) await bot.trader.send(diamond, diamondCall('cancelOrderAfterTimeout', [index]));
    await pendingBecomes(bot, 0);
    expect(Number(await bot.trader.usdc()) / 1e6).toBe(kept);
    expect(await bot.equity()).toBe(kept);
    await priceBecomes(PRICE);
  });

  it('is the whole balance, while only what the allowance covers can be withdrawn or traded', async () => {
    const bot = await newTrader();
    const { address = '0x' } = chain.collaterals.find(({ symbol }) => symbol === 'USDC') ?? {};
    await bot.trader.send(address, tokenCall('approve', [chain.definition.diamond, usdc(3_000)]));
    await eventually(bot.state, ({ withdrawable }) => withdrawable === '3000.0');
    expect(await bot.equity()).toBe(START);
    await bot.send(orderAction(rest('0.2')));
    await tradesBecome(bot, 1);
    await eventually(bot.state, ({ withdrawable }) => Number(withdrawable) < 1_100 && Number(withdrawable) > 0);
    expect(await bot.equity()).toBe(START);
  });

  it('is not lowered by an opening that is not mined, which what can be withdrawn is', async () => {
    const bot = await newTrader();
    await chain.pauseMining(true);
    try {
      await atOnce(bot, orderAction(rest('0.3')));
      const { marginSummary, withdrawable } = await bot.state();
      expect([marginSummary.accountValue, await bot.trader.usdc()]).toEqual(['20000.0', usdc(START)]);
      expect(Number(withdrawable)).toBeLessThan(17_100);
      await chain.pauseMining(false);
      await tradesBecome(bot, 1);
      await eventually(bot.state, (state) => state.withdrawable === withdrawable);
    } finally {
      await chain.pauseMining(false);
    }
  });

  it('is the same on the socket, for web pages and in the portfolio', async () => {
    const bot = await newTrader();
    await bot.send(orderAction(rest('0.3')));
    await tradesBecome(bot, 1);
    const user = bot.address;
    const { clearinghouseState } = await info.ask<{ clearinghouseState: State }>('webData2', { user });
    const [[, { accountValueHistory }]] = await info.ask<[[string, { accountValueHistory: [number, string][] }]]>('portfolio', { user });
    const socket = await hlSocket(sandbox.url);
    await socket.subscribe('clearinghouseState', { user });
    const { clearinghouseState: sent } = await socket.find<{ clearinghouseState: State }>('clearinghouseState');
    expect([clearinghouseState.marginSummary.accountValue, accountValueHistory[0]?.[1], sent.marginSummary.accountValue]).toEqual(
      Array.from({ length: 3 }, () => '20000.0'),
    );
    await socket.close();
  });
});

const NOTIONAL = 6_000;
/** Fees, spread and price impact of one execution are far below the least collateral that an order moves, which is a tenth. */
const COST_OF_EXECUTION = NOTIONAL * 0.01;
/** Funding and borrowing between two readings. */
const HOLDING = 0.5;

interface Life {
  readonly kind: (typeof KINDS)[number];
  readonly choice: number;
}
const KINDS = [
  'rest',
  'rest natively',
  'open',
  'open natively',
  'lower leverage',
  'add margin',
  'take margin',
  'cancel',
  'answer',
  'close',
] as const;

const ANSWER: Life = { kind: 'answer', choice: 0 };
/** What changes a position needs one. */
const BEGINNING: readonly Life[] = [{ kind: 'open', choice: 0 }, { kind: 'open natively', choice: 0 }, ANSWER];

/** The oracle is held back, so that every request stays one until `answer`; a step that cannot be done does nothing. */
async function live(bot: BothApis, { kind, choice }: Life): Promise<void> {
  const size = String(NOTIONAL / PRICE);
  const positions = await bot.native.positions();
  const position = positions[choice % (positions.length || 1)];
  switch (kind) {
    case 'rest':
      return void (await bot.send(orderAction(rest(size))));
    case 'rest natively':
      return sent(bot, await bot.native.create({ ...NATIVE, size }));
    case 'open':
      return void (await atOnce(bot, orderAction(buy(size))));
    case 'open natively':
      return sent(bot, await bot.native.create({ ...NATIVE, type: 'market', price: String(PRICE), size }));
    case 'lower leverage':
      if (position !== undefined) await sent(bot, await bot.native.adjust(String(position['id']), { leverage: '3' }));
      return;
    case 'add margin':
    case 'take margin': {
      const ntli = kind === 'add margin' ? 300_000_000 : -100_000_000;
      return void (await atOnce(bot, { type: 'updateIsolatedMargin', asset: BTC, isBuy: true, ntli }));
    }
    case 'cancel': {
      const resting = (await bot.native.openOrders()).filter(({ status }) => status === 'open');
      const one = resting[choice % (resting.length || 1)];
      if (one !== undefined) await sent(bot, await bot.native.cancel(String(one['id'])));
      return;
    }
    case 'close':
      if (position !== undefined) await sent(bot, await bot.native.close(String(position['id'])));
      return;
    case 'answer':
      chain.setOraclePolicy(null, { mode: 'auto' });
      await chain.mine(1);
      await pendingBecomes(bot, 0);
      return holdOracle();
  }
}

/** A refusal is a step, too: what is refused must not move the sum either. */
async function sent(bot: BothApis, { body }: Answer): Promise<void> {
  const transaction = body['transaction'] as Prepared | null | undefined;
  if (transaction) await bot.native.send(transaction).catch(() => undefined);
}

/** The sum as the native API shows it, whose two answers may be of two blocks. */
async function nativeEquity({ native, address }: BothApis): Promise<number> {
  const [{ body }, positions] = await Promise.all([native.call('getAccount', 'GET', `/account/${address}`), native.positions()]);
  const balances = (body['balances'] as Record<string, string>[]).filter(({ collateral }) => collateral === 'USDC');
  const sum = (values: readonly unknown[]): number => values.reduce((total: number, value) => total + Number(value), 0);
  return (
    sum(balances.flatMap(({ balance, inOrders }) => [balance, inOrders])) +
    sum(positions.flatMap(({ collateral, unrealizedPnl }) => [collateral, unrealizedPnl]))
  );
}

describe('over any lives of orders on both APIs', () => {
  it('only fees, price impact and transfers of the trader move the equity, at every moment', async () => {
    const step = fc.record({ kind: fc.constantFrom(...KINDS), choice: fc.nat(7) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 8 }), async (steps) => {
        const bot = await newTrader();
        holdOracle();
        let level = await bot.equity();
        expect(level).toBe(START);
        for (const step of [...BEGINNING, ...steps, ANSWER]) {
          const executed = step.kind === 'answer' ? await bot.trader.pending() : 0;
          const during = watchEquity(bot);
          await live(bot, step);
          const seen = [...(await during.end()), await bot.equity()];
          const lowest = level - executed * COST_OF_EXECUTION - HOLDING;
          for (const equity of seen) {
            expect({ step, equity, isTooLow: equity < lowest }).toEqual({ step, equity, isTooLow: false });
            expect({ step, equity, isTooHigh: equity > level + HOLDING }).toEqual({ step, equity, isTooHigh: false });
          }
          level = seen.at(-1) ?? level;
          expect(Math.abs((await nativeEquity(bot)) - level)).toBeLessThan(HOLDING);
        }
        const { address = '0x' } = chain.collaterals.find(({ symbol }) => symbol === 'USDC') ?? {};
        const gone = tokenCall('transfer', [chain.definition.diamond, usdc(123)]);
        await bot.trader.send(address, gone);
        expect(Math.abs(level - 123 - (await bot.equity()))).toBeLessThan(HOLDING);
      }),
      { numRuns: 4, seed: 36, endOnFailure: true },
    );
  });
});

/** Reads the equity again and again while something happens. */
function watchEquity(bot: BothApis) {
  const seen: number[] = [];
  let isOver = false;
  const reading = eventually(
    async () => seen.push(await bot.equity()),
    () => isOver,
  );
  return {
    async end(): Promise<readonly number[]> {
      isOver = true;
      await reading;
      return seen;
    },
  };
}
