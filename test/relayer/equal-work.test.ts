import { Wallet } from 'ethers';
import type { Address } from '../../core/types.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startSecondGateway, type SecondGateway } from '../harness/venue/second-gateway.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const TOKEN = 'a-token-of-sixteen-or-more';
const BTC = 0;
const AT_ONCE = 8;

let sandbox: TestVenue;
let beside: SecondGateway;

beforeAll(async () => {
  // Nothing is mined while they wait, so each of them is answered what is known when its time is up.
  sandbox = await startOwnVenue({ OPERATOR_TOKEN: TOKEN, RATE_LIMIT_AGENT_WRITES: '1000', FACADE_HOLD_MS: '500' });
  sandbox.controls.prices.jump(BTC, '60000');
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (seen) => seen === 60_000n * 10n ** 10n,
  );
  beside = await startSecondGateway(sandbox, { relays: true });
  await eventually(
    () => beside.get('/ready'),
    ({ status }) => status === 200,
  );
});
afterEach(() => firstChain(sandbox).pauseMining(false));
afterAll(async () => {
  await beside.stop();
  await sandbox.stop();
});

type Status = string | Record<string, Record<string, unknown>> | { error: string };

async function send({ agentKey }: FacadeTrader, action: Record<string, unknown>, url = sandbox.url): Promise<Status[]> {
  const { body } = await postExchange(url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action));
  return (body as { response: { data: { statuses: Status[] } } }).response.data.statuses;
}

const ioc = { limit: { tif: 'Ioc' } };
const buy = (changes: object = {}) => order({ a: BTC, b: true, p: '63000', s: '0.1', r: false, t: ioc, ...changes });
const close = buy({ b: false, p: '57000', r: true });
const place = (bot: FacadeTrader, wire: object, url?: string) => send(bot, { type: 'order', orders: [wire], grouping: 'na' }, url);

/** The same of many at once, through two replicas, in one block's time. */
async function atOnce(ask: (url: string) => Promise<Status[]>): Promise<Status[]> {
  await firstChain(sandbox).pauseMining(true);
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => ask(at % 2 ? beside.url : sandbox.url)));
  await firstChain(sandbox).pauseMining(false);
  return answers.flat();
}

async function transactionsOf({ address }: FacadeTrader): Promise<number> {
  const { body } = await sandbox.call(`/relayer/rules/${FACADE_CHAIN}/${address}`, { headers: { Authorization: `Bearer ${TOKEN}` } });
  return (body as { use: { transactions: number } }).use.transactions;
}

const held = ({ trader }: FacadeTrader, count: number) =>
  eventually(
    () => trader.trades(),
    (trades) => trades.length === count,
  );

/** An order rests, as the books say, which all replicas share. */
const open = ({ address }: FacadeTrader) =>
  eventually(
    () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, address.toLowerCase() as Address),
    (orders) => orders.some(({ order: { status } }) => status === 'open'),
  );

/** The books have its position. */
const known = ({ address }: FacadeTrader) =>
  eventually(
    () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, address.toLowerCase() as Address),
    (positions) => positions.length === 1,
  );

describe('the same asked for many times at once', () => {
  it('is one transaction where an order is canceled', async () => {
    const bot = await newFacadeTrader(sandbox);
    const [rests] = await place(bot, buy({ p: '50000', t: { limit: { tif: 'Gtc' } } }));
    await open(bot);
    const { oid } = (rests as { resting: { oid: number } }).resting;
    const answers = await atOnce((url) => send(bot, { type: 'cancel', cancels: [{ a: BTC, o: oid }] }, url));
    expect(answers).toEqual(answers.map(() => ({ error: expect.stringMatching(/^Order is executing, /) })));
    await held(bot, 0);
    expect(await transactionsOf(bot)).toBe(2);
  });

  it('is one transaction where a position is closed, and the others may try again', async () => {
    const bot = await newFacadeTrader(sandbox);
    await place(bot, buy());
    await known(bot);
    const answers = await atOnce((url) => place(bot, close, url));
    const busy = { error: expect.stringMatching(/^Another order is executing on this position; retry in a moment\. asset=0$/) };
    const taken = { resting: { oid: expect.any(Number) } };
    expect(answers.sort((one) => ('resting' in Object(one) ? -1 : 1))).toEqual([taken, ...Array.from({ length: AT_ONCE - 1 }, () => busy)]);
    await held(bot, 0);
    expect(await transactionsOf(bot)).toBe(2);
  });

  it('can be asked for again once it is over', async () => {
    const bot = await newFacadeTrader(sandbox);
    for (const p of ['50000', '51000']) {
      const [rests] = await place(bot, buy({ p, t: { limit: { tif: 'Gtc' } } }));
      const { oid } = (rests as { resting: { oid: number } }).resting;
      // On a slow machine the answers come before the transactions are mined.
      await open(bot);
      await send(bot, { type: 'cancel', cancels: [{ a: BTC, o: oid }] });
      await held(bot, 0);
    }
    expect(await transactionsOf(bot)).toBe(4);
  });
});

describe('a part of a position', () => {
  it('that could not pay its own fee is not sent, because the contract would cancel it', async () => {
    const bot = await newFacadeTrader(sandbox);
    await place(bot, buy());
    await known(bot);
    const text = /^Order must have minimum value of \$10\. The least collateral here is \d+(\.\d+)? USD\. asset=0$/;
    expect(await place(bot, buy({ b: false, p: '57000', r: true, s: '0.00001' }))).toEqual([{ error: expect.stringMatching(text) }]);
    expect(await transactionsOf(bot)).toBe(1);
    expect(await place(bot, buy({ b: false, p: '57000', r: true, s: '0.01' }))).toEqual([
      expect.not.objectContaining({ error: expect.anything() }),
    ]);
    expect(await transactionsOf(bot)).toBe(2);
  });
});
