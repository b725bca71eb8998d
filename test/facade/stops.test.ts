import { Wallet } from 'ethers';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { ChainControls } from '../../sandbox/controls.js';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { answersUntil, answersWhenKnown } from '../harness/venue/answer-hold.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const BTC = 0;
const PRICE = 60_000;
/** The contract's number for it. */
const SLIPPAGE = 3;

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
});
afterAll(() => sandbox.stop());
beforeEach(() => jumpTo(PRICE));

async function jumpTo(price: number): Promise<void> {
  sandbox.controls.prices.jump(BTC, String(price));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (oracle) => oracle === units(price),
  );
}

interface Bot {
  readonly trader: ChainTrader;
  readonly address: `0x${string}`;
  send(action: Record<string, unknown>): Promise<Status[]>;
}

/** Followed by the cause where the contract's figures give one. */
const UNMATCHED = /^Order could not immediately match against any resting orders\.(?: .*)? asset=0$/;

type Status = string | Record<string, Record<string, unknown>>;

async function newBot(usdc?: string): Promise<Bot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox, usdc);
  return {
    trader,
    address: address.toLowerCase() as `0x${string}`,
    async send(action) {
      const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action));
      return (body as { response: { data: { statuses: Status[] } } }).response.data.statuses;
    },
  };
}

const units = (price: number) => BigInt(price) * 10n ** 10n;
const limit = (tif: string) => ({ limit: { tif } });
const orders = (...list: object[]) => ({ type: 'order', orders: list, grouping: 'na' });
const withLevels = (...list: object[]) => ({ type: 'order', orders: list, grouping: 'normalTpsl' });
const buy = (s: string, changes: object = {}) =>
  order({ a: BTC, b: true, p: String(PRICE * 1.05), s, r: false, t: limit('Ioc'), ...changes });
const sell = (s: string, changes: object = {}) => buy(s, { b: false, p: String(PRICE * 0.95), ...changes });
const level = (tpsl: 'tp' | 'sl', triggerPx: string, p: string, isMarket = true) =>
  sell('0.1', { r: true, p, t: { trigger: { isMarket, triggerPx, tpsl } } });

const trades = ({ trader }: Bot, count: number) =>
  eventually(
    () => trader.trades(),
    ({ length }) => length === count,
  );
const closingSlippageOf = async ({ trader }: Bot, index: number): Promise<number> => {
  const { diamond: address } = chain.definition;
  const args = [trader.account.address, index] as const;
  return (await trader.client.readContract({ address, abi: diamondAbi, functionName: 'getTradeInfo', args })).maxSlippageP;
};
const closingSlippageBecomes = (bot: Bot, index: number, expected: number) =>
  eventually(
    () => closingSlippageOf(bot, index),
    (now) => now === expected,
  );

describe('levels that a position is opened with', () => {
  it('are followed into a gap as far as their own limit says', async () => {
    const bot = await newBot();
    const [parent, ...children] = await bot.send(withLevels(buy('0.1'), level('tp', '70000', '69000'), level('sl', '55000', '49500')));
    expect(parent).toMatchObject({ filled: { oid: expect.any(Number) } });
    expect(children).toEqual(['waitingForTrigger', 'waitingForTrigger']);
    const [trade] = await trades(bot, 1);
    expect(trade).toMatchObject({ tp: units(70_000), sl: units(55_000) });
    await closingSlippageBecomes(bot, Number(trade?.index), 10_000);
    // Six percent through the stop: the contract's own percent would leave the position to its liquidation.
    await jumpTo(51_700);
    await trades(bot, 0);
    // A market order that names no worst price is followed as an exchange follows it.
    await jumpTo(PRICE);
    await bot.send(withLevels(buy('0.1'), level('sl', '55000', '55000')));
    const [another] = await trades(bot, 1);
    await closingSlippageBecomes(bot, Number(another?.index), 10_000);
  });

  it('have their closing slippage also when the order rested first', async () => {
    const bot = await newBot();
    const [rested] = await bot.send(withLevels(buy('0.1', { p: '58000', t: limit('Gtc') }), level('sl', '50000', '40000')));
    expect(rested).toMatchObject({ resting: { oid: expect.any(Number) } });
    await trades(bot, 1);
    await jumpTo(57_500);
    const [opened] = await eventually(
      () => bot.trader.trades(),
      ([only]) => only?.tradeType === 0,
    );
    await closingSlippageBecomes(bot, Number(opened?.index), 20_000);
    await jumpTo(44_000);
    await trades(bot, 0);
  });

  it.each([
    ['as reduce-only', true],
    ['without being called reduce-only', false],
  ])('have the closing slippage of their change, made while the order rested, %s', async (_, r) => {
    const bot = await newBot();
    const c = `0x${'b7'.repeat(16)}`;
    const near = { ...level('sl', '51000', '50900', false), c };
    await bot.send(withLevels(buy('0.1', { p: '58000', t: limit('Gtc') }), near));
    await eventually(
      () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address),
      ([only]) => only?.order.status === 'open',
    );
    const modifies = [{ oid: c, order: { ...level('sl', '50000', '40000'), r, c } }];
    expect(await bot.send({ type: 'batchModify', modifies })).toMatchObject([{ resting: { cloid: c } }]);
    await jumpTo(57_500);
    const [opened] = await eventually(
      () => bot.trader.trades(),
      ([only]) => only?.tradeType === 0,
    );
    await closingSlippageBecomes(bot, Number(opened?.index), 20_000);
  });

  it('that the contract’s own closing slippage is enough for cost no transaction', async () => {
    const bot = await newBot();
    await bot.send(withLevels(buy('0.1'), level('sl', '55000', '54900', false)));
    const [trade] = await trades(bot, 1);
    const owed = await sandbox.gateway.store.closingSlippages.takeDue(FACADE_CHAIN, Number.MAX_SAFE_INTEGER, 0);
    expect(owed.filter(({ trader }) => trader === bot.address)).toEqual([]);
    expect(await closingSlippageOf(bot, Number(trade?.index))).toBe(0);
  });
});

describe('a close with a tight limit', () => {
  it('leaves the stop loss its closing slippage, whether it is refused or executed', async () => {
    const bot = await newBot();
    await bot.send(orders(buy('0.2')));
    const [before] = await trades(bot, 1);
    await bot.send(orders({ ...level('sl', '55000', '49500'), s: '0.2' }));
    await closingSlippageBecomes(bot, Number(before?.index), 10_000);
    await eventually(
      () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.address),
      ([listed]) => listed?.position.slippageP === 10_000n,
    );
    const close = () => bot.send(orders(sell('0.1', { r: true, p: String(PRICE * 0.998) })));
    let answer: Promise<Status[]>;
    try {
      chain.setOraclePolicy(BTC, { mode: 'reject', reason: SLIPPAGE });
      expect(await close()).toEqual([{ error: expect.stringMatching(UNMATCHED) as string }]);
      expect(await closingSlippageOf(bot, Number(before?.index))).toBe(10_000);
      // The contract refuses it as well when the market has moved beyond it.
      chain.setOraclePolicy(BTC, { mode: 'hold' });
      answersWhenKnown(sandbox);
      answer = close();
      await eventually(
        () => bot.trader.pending(),
        (count) => count === 1,
      );
      sandbox.controls.prices.jump(BTC, String(PRICE * 0.995));
    } finally {
      chain.setOraclePolicy(BTC, { mode: 'auto' });
    }
    expect(await answer).toEqual([{ error: expect.stringMatching(UNMATCHED) as string }]);
    await jumpTo(PRICE);
    expect(await close()).toMatchObject([{ filled: {} }]);
    expect(await closingSlippageOf(bot, Number(before?.index))).toBe(10_000);
    await jumpTo(51_700);
    await trades(bot, 0);
  });
});

describe('a flip', () => {
  it.each([
    ['is below the minimum', '0.0999', '0.1'],
    ['is more than there is margin for', '0.01', '1'],
  ])('whose opening %s closes, and is reported as filled that far', async (_, held, asked) => {
    const bot = await newBot('3000');
    await bot.send(orders(buy(held)));
    await trades(bot, 1);
    const [flipped] = await bot.send(orders(sell(asked)));
    expect(flipped).toMatchObject({ filled: { oid: expect.any(Number) } });
    expect(Number((flipped as Record<string, Record<string, unknown>>)['filled']?.['totalSz'])).toBeCloseTo(Number(held), 3);
    await trades(bot, 0);
    expect(await sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address)).toEqual([]);
  });

  it('with a stop loss on the wrong side neither closes nor opens, and one whose close the oracle refuses opens nothing', async () => {
    const bot = await newBot('3000');
    await bot.send(orders(buy('0.01')));
    await trades(bot, 1);
    const [flipped] = await bot.send(withLevels(sell('0.02'), { ...level('sl', '50000', '50000'), b: true, s: '0.02' }));
    expect(flipped).toEqual({ error: 'Invalid TP/SL price. asset=0' });
    expect(await bot.trader.trades()).toMatchObject([{ long: true }]);
    chain.setOraclePolicy(BTC, { mode: 'reject', reason: SLIPPAGE });
    const [refused] = await bot.send(orders(sell('0.03'))).finally(() => chain.setOraclePolicy(BTC, { mode: 'auto' }));
    expect(refused).toEqual({ error: expect.stringMatching(UNMATCHED) as string });
    expect(await sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address)).toEqual([]);
    expect(await bot.trader.trades()).toMatchObject([{ long: true }]);
  });

  it('whose close is not answered in time closes, and opens nothing afterwards', async () => {
    const bot = await newBot();
    await bot.send(orders(buy('0.1')));
    await trades(bot, 1);
    chain.setOraclePolicy(BTC, { mode: 'hold' });
    const answers = answersUntil(sandbox);
    const sent = bot.send(orders(sell('0.3')));
    try {
      await eventually(
        () => bot.trader.pending(),
        (pending) => pending === 1,
      );
      answers.end();
      const [waiting] = await sent;
      expect(waiting).toMatchObject({ resting: { oid: expect.any(Number) } });
    } finally {
      answers.end();
      chain.setOraclePolicy(BTC, { mode: 'auto' });
    }
    await trades(bot, 0);
    await eventually(
      () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address),
      ({ length }) => length === 0,
    );
    expect(await bot.trader.pending()).toBe(0);
    expect(await bot.trader.trades()).toEqual([]);
  });
});
