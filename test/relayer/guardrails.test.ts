import { generatePrivateKey } from 'viem/accounts';
import { Wallet } from 'ethers';
import type { Address } from '../../core/types.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import type { RuleSet } from '../../core/config/rules.js';
import { createSigningGuard } from '../../relayer/policy.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { venueDatabase } from '../harness/venue/venue-database.js';
import { startSecondGateway, whenReady, type SecondGateway } from '../harness/venue/second-gateway.js';
import { approveAgent, order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { startOwnVenue, type Reply, type TestVenue } from '../harness/venue/own-venue.js';

const isSlow = process.env['SLOW_TESTS'] === '1';
const TOKEN = 'a-token-of-sixteen-or-more';
const BTC = 0;
const ETH = 1;
const NOBODY: Address = `0x${'12'.repeat(20)}`;

let sandbox: TestVenue;
let beside: SecondGateway;

beforeAll(async () => {
  sandbox = await startOwnVenue({ OPERATOR_TOKEN: TOKEN, RATE_LIMIT_AGENT_WRITES: '1000' });
  await price(BTC, 60_000);
  await price(ETH, 3_000);
  beside = await startSecondGateway(sandbox, { relays: true });
  await whenReady(beside);
});
afterAll(async () => {
  await beside.stop();
  await sandbox.stop();
});

async function price(market: number, value: number): Promise<void> {
  sandbox.controls.prices.jump(market, String(value));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(market)?.oracle,
    (seen) => seen === BigInt(value) * 10n ** 10n,
  );
}

const operator = (method: string, path: string, body?: unknown): Promise<Reply> =>
  sandbox.call(`/relayer/rules${path}`, {
    method,
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

async function setRules({ address }: FacadeTrader, rules: RuleSet, chain: string = FACADE_CHAIN): Promise<void> {
  expect(await operator('PUT', `/${chain}/${address}`, rules)).toMatchObject({ status: 200, body: { rules } });
}

async function send({ agentKey }: FacadeTrader, action: Record<string, unknown>, url = sandbox.url): Promise<unknown> {
  const { status, body } = await postExchange(url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action));
  expect(status).toBe(200);
  return body;
}

type Status = Record<string, Record<string, unknown>> | { error: string };
const statuses = (body: unknown) => (body as { response: { data: { statuses: Status[] } } }).response.data.statuses;
const place = async (trader: FacadeTrader, orders: object[], url?: string) =>
  statuses(await send(trader, { type: 'order', orders, grouping: 'na' }, url));

const limit = (tif: string) => ({ limit: { tif } });
const buy = (s: string, changes: object = {}) => order({ a: BTC, b: true, p: '63000', s, r: false, t: limit('Ioc'), ...changes });
/** 5,000 USD of notional each, and a little less than the limit. */
const resting = (changes: object = {}) => buy('0.1', { p: '50000', t: limit('Gtc'), ...changes });
const closing = (s: string) => buy(s, { b: false, p: '57000', r: true });
const stopLoss = (s: string, triggerPx = '55000') =>
  buy(s, { b: false, r: true, p: '50000', t: { trigger: { isMarket: true, triggerPx, tpsl: 'sl' } } });
const oidOf = (status: Status | undefined): number => (status as { resting: { oid: number } }).resting.oid;
const filledSize = ([status]: Status[]): number => Number((status as { filled?: { totalSz: string } }).filled?.totalSz);
const isTaken = (status: Status): boolean => 'resting' in status || 'filled' in status;
const held = ({ trader }: FacadeTrader, count: number) =>
  eventually(
    () => trader.trades(),
    (trades) => trades.length === count,
  );
async function alertsOf({ address }: FacadeTrader): Promise<object[]> {
  const { body } = await sandbox.call('/relayer/alerts', { headers: { Authorization: `Bearer ${TOKEN}` } });
  return (body as { open: { subject: string }[] }).open.filter(({ subject }) => subject === address.toLowerCase());
}
const rateLimit = async (user: string): Promise<unknown> =>
  (await sandbox.post(`/hl/${FACADE_CHAIN}/info`, { type: 'userRateLimit', user })).body;
const refusal = (text: string) => [{ error: expect.stringMatching(new RegExp(`^${text} asset=\\d+$`)) }];
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
const WAY_OUT = String.raw`Cancels and reduce-only orders are still taken\.`;

/** Of a wallet without a sender. */
async function queueMany(job: RelayJob, count: number): Promise<void> {
  const { id } = await sandbox.gateway.store.relay.queue({ ...job, wallet: NOBODY, orderId: null }, Date.now());
  const database = await venueDatabase(sandbox);
  const columns = 'chain, wallet, trader, purpose, parent, order_id, data, gas, context, not_after, state, created_at';
  await database.query(
    `insert into relay_jobs (${columns}) select ${columns} from relay_jobs, generate_series(2, ${count}) where chain = $1 and id = $2`,
    [FACADE_CHAIN, id],
  );
  await database.end();
}

describe('a bound on the open notional', () => {
  it('refuses what would pass it, names both figures, and never stops the way out', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { maxOpenNotionalUsd: '10000' });
    expect((await place(bot, [buy('0.1')])).every(isTaken)).toBe(true);
    await held(bot, 1);
    const text = String.raw`Order would increase open interest while open interest is capped\. Open notional \$\d+(\.\d+)?, this order \$\d+(\.\d+)?, limit \$10000\.`;
    expect(await place(bot, [buy('0.1')])).toEqual(refusal(text));
    expect((await place(bot, [stopLoss('0.1')])).every(isTaken)).toBe(true);
    expect((await place(bot, [closing('0.1')])).every(isTaken)).toBe(true);
    await held(bot, 0);
    expect((await place(bot, [buy('0.1')])).every(isTaken)).toBe(true);
  });

  it('is kept by orders that come at once through two replicas, and is answered order by order in a batch', async () => {
    const [bot, other] = [await newFacadeTrader(sandbox), await newFacadeTrader(sandbox)];
    await setRules(bot, { maxOpenNotionalUsd: '10000' });
    const sent = Array.from({ length: 4 }, (_, at) => place(bot, [resting()], at % 2 ? beside.url : sandbox.url));
    const answers = (await Promise.all(sent)).flat();
    expect(answers.filter(isTaken)).toHaveLength(2);
    expect(await held(bot, 2)).toHaveLength(2);
    await setRules(other, { maxOpenNotionalUsd: '5000' });
    const batch = await place(other, [buy('0.1', { a: 999 }), resting(), resting()]);
    expect(batch.map(isTaken)).toEqual([false, true, false]);
    expect(batch[2]).toEqual({ error: expect.stringMatching(/^Order would increase open interest .* asset=0$/) });
  });

  it('counts a changed order once, and leaves the old one where the new one is too large', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { maxOpenNotionalUsd: '6000' });
    const [first] = await place(bot, [resting()]);
    const change = async (oid: number, wire: object) =>
      statuses(await send(bot, { type: 'batchModify', modifies: [{ oid, order: wire }] }));
    const [moved] = await change(oidOf(first), resting({ p: '51000' }));
    expect(moved).toMatchObject({ resting: { oid: expect.any(Number) } });
    expect(await change(oidOf(moved), resting({ s: '0.2' }))).toEqual(refusal('Order would increase open interest .*'));
    expect(await change(oidOf(moved), buy('0.2'))).toEqual(refusal('Order would increase open interest .*'));
    expect(await held(bot, 1)).toMatchObject([{ tradeType: 1 }]);
    await setRules(bot, { maxOpenNotionalUsd: '1000' });
    expect((await change(oidOf(moved), resting({ s: '0.05' }))).every(isTaken)).toBe(true);
  });
});

describe('what a trader can pay for', () => {
  it('is what is opened: of many orders in one body, with the collateral of one, one is sent', async () => {
    const bot = await newFacadeTrader(sandbox, '1100');
    const answers = await place(
      bot,
      Array.from({ length: isSlow ? 39 : 6 }, () => resting()),
    );
    expect(answers.filter(isTaken)).toHaveLength(1);
    expect(answers.slice(1)).toEqual(
      answers.slice(1).map(() => ({ error: expect.stringMatching(/^Insufficient margin to place order\. .* asset=0$/) as string })),
    );
    await held(bot, 1);
    const sent = await sandbox.gateway.store.relay.jobsOfOrder(FACADE_CHAIN, BigInt(oidOf(answers[0])));
    expect(sent).toHaveLength(1);
    expect(await rateLimit(bot.address)).toMatchObject({ nRequestsUsed: 1 });
  });

  it('is shared by bodies that come at once through two replicas', async () => {
    const bot = await newFacadeTrader(sandbox, '2100');
    const sent = Array.from({ length: 4 }, (_, at) => place(bot, [resting()], at % 2 ? beside.url : sandbox.url));
    expect((await Promise.all(sent)).flat().filter(isTaken)).toHaveLength(2);
    await held(bot, 2);
    expect(await rateLimit(bot.address)).toMatchObject({ nRequestsUsed: 2 });
  });

  it('is used by the change of an order only as far as it grows', async () => {
    const bot = await newFacadeTrader(sandbox, '2100');
    const placed = await place(bot, [resting(), resting({ p: '49000' })]);
    const modifies = placed.map((status, at) => ({ oid: oidOf(status), order: resting({ p: String(48_000 + at) }) }));
    expect(statuses(await send(bot, { type: 'batchModify', modifies })).every(isTaken)).toBe(true);
  });
});

describe('a flip', () => {
  const sell = (s: string) => buy(s, { b: false, p: '57000' });

  it('needs free exposure for what is left of it, because it opens only after it has closed, and closes also without free exposure', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { maxOpenNotionalUsd: '7000' });
    expect((await place(bot, [buy('0.1')])).every(isTaken)).toBe(true);
    await held(bot, 1);
    expect((await place(bot, [sell('0.2')])).every(isTaken)).toBe(true);
    await eventually(
      () => bot.trader.trades(),
      ([only, ...others]) => only?.long === false && others.length === 0,
    );
    expect(filledSize(await place(bot, [buy('0.3')]))).toBeCloseTo(0.1, 3);
    await held(bot, 0);
    expect(await sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address.toLowerCase() as Address)).toEqual([]);
  });
});

describe('a bound on orders per minute', () => {
  it('is shared by replicas, says when the next one is taken, and leaves closing and canceling alone', async () => {
    const bot = await newFacadeTrader(sandbox);
    expect((await place(bot, [buy('0.1')])).every(isTaken)).toBe(true);
    await held(bot, 1);
    await setRules(bot, { ordersPerMinute: 3 });
    const sent = Array.from({ length: 6 }, (_, at) => place(bot, [resting()], at % 2 ? beside.url : sandbox.url));
    const answers = (await Promise.all(sent)).flat();
    const taken = answers.filter(isTaken);
    expect(taken).toHaveLength(2);
    const text = String.raw`Too many cumulative requests sent \(4 > 3\) in the last minute\. The next order can be sent at ${TIME}\. ${WAY_OUT}`;
    expect(await place(bot, [buy('0.1', { a: ETH, p: '3150', s: '1' })])).toEqual(refusal(text));
    const cancels = taken.map((status) => ({ a: BTC, o: oidOf(status) }));
    expect(statuses(await send(bot, { type: 'cancel', cancels }))).toEqual(['success', 'success']);
    expect((await place(bot, [closing('0.1')])).every(isTaken)).toBe(true);
    await held(bot, 0);
  });
});

describe('a daily quota of transactions', () => {
  it('stops openings, is shown by userRateLimit, and never stops cancels and closings', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { dailyTransactions: 3 });
    expect(await rateLimit(bot.address)).toEqual({ cumVlm: '0.0', nRequestsUsed: 0, nRequestsCap: 3, nRequestsSurplus: 0 });
    const answers = (await Promise.all([place(bot, [buy('0.1')]), place(bot, [resting()], beside.url)])).flat();
    expect(answers.every(isTaken)).toBe(true);
    await held(bot, 2);
    expect((await place(bot, [stopLoss('0.1')])).every(isTaken)).toBe(true);
    const text = String.raw`Too many cumulative requests sent \(4 > 3\) for the daily quota of transactions, which resets at ${TIME}\. ${WAY_OUT}`;
    expect(await place(bot, [resting()])).toEqual(refusal(text));
    expect(await place(bot, [resting()], beside.url)).toEqual(refusal(text));
    expect(await alertsOf(bot)).toMatchObject([{ kind: 'quota-reached', chain: FACADE_CHAIN, details: { used: 3, quota: 3 } }]);
    expect((await place(bot, [stopLoss('0.1', '54000')])).every(isTaken)).toBe(true);
    const rest = answers.find((status) => 'resting' in status);
    expect(statuses(await send(bot, { type: 'cancel', cancels: [{ a: BTC, o: oidOf(rest) }] }))).toEqual(['success']);
    expect((await place(bot, [closing('0.1')])).every(isTaken)).toBe(true);
    await held(bot, 0);
    expect(await rateLimit(bot.address)).toMatchObject({ nRequestsUsed: 6, nRequestsCap: 3 });
    await setRules(bot, { dailyTransactions: 30 });
    expect(await alertsOf(bot)).toEqual([]);
  });

  it('is not passed by orders that come at once through two replicas, nor forgotten by one that starts anew', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { dailyTransactions: 3 });
    const sent = Array.from({ length: 5 }, (_, at) => place(bot, [resting()], at % 2 ? beside.url : sandbox.url));
    expect((await Promise.all(sent)).flat().filter(isTaken)).toHaveLength(3);
    await held(bot, 3);
    // One that starts anew knows it from the database alone; `npm run test:slow` starts one.
    const fresh = isSlow ? await startSecondGateway(sandbox, { relays: true }) : beside;
    await whenReady(fresh);
    expect(await place(bot, [resting()], fresh.url)).toEqual(refusal(String.raw`Too many cumulative requests sent \(4 > 3\) .*`));
    if (isSlow) await fresh.stop();
    await setRules(bot, { dailyTransactions: null });
    expect((await place(bot, [resting()])).every(isTaken)).toBe(true);
  });
});

describe('the relayer, before it signs', () => {
  const jobOf = async ({ address }: FacadeTrader): Promise<RelayJob> => {
    const { store } = sandbox.gateway;
    const [live] = await store.account.liveOrders(FACADE_CHAIN, address.toLowerCase() as Address);
    const [job] = await store.relay.jobsOfOrder(FACADE_CHAIN, live?.id ?? 0n);
    if (!job) throw new Error('nothing was sent');
    return job;
  };

  it('refuses an opening beyond the quota, also when the facade let it in', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { dailyTransactions: 1 });
    expect((await place(bot, [resting()])).every(isTaken)).toBe(true);
    await held(bot, 1);
    const { trader, purpose, parent, data, gas, context } = await jobOf(bot);
    const again = await sandbox.gateway.venues
      .get(FACADE_CHAIN)
      ?.relayer?.send({ trader, purpose, parent, data, gas, context, orderId: null, notAfter: null });
    expect(await again?.handedOver).toMatchObject({
      state: 'refused',
      nonce: null,
      note: expect.stringMatching(new RegExp(String.raw`^Too many cumulative requests sent \(2 > 1\) .* resets at ${TIME}$`)),
    });
    expect(await bot.trader.trades()).toHaveLength(1);
  });

  it('lets levels and margin go on for a while after that, but not for ever', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { dailyTransactions: 1 });
    await place(bot, [resting()]);
    const job = await jobOf(bot);
    const { relay, rules } = sandbox.gateway.store;
    const guard = createSigningGuard({
      store: rules,
      rules: sandbox.gateway.facade.rules,
      onQuota: () => Promise.resolve(),
    });
    const more = async () => relay.queue({ ...job, wallet: NOBODY, orderId: null }, Date.now());
    await queueMany(job, 100);
    const last = await more();
    expect(await guard(last, 'opens')).toMatchObject({
      reason: 'quota',
      note: expect.stringMatching(/^Too many cumulative requests sent \(102 > 1\)/),
    });
    expect((await guard(await more(), 'cares'))?.note).toMatch(/^Too many cumulative requests sent \(103 > 101\)/);
    expect(await guard({ ...last, id: last.id - 1n }, 'cares')).toBeNull();
    expect(await guard(last, 'exits')).toBeNull();
  });

  it('lets cancels and closings go on far longer, says so at their end, and opens an alert', async () => {
    const bot = await newFacadeTrader(sandbox);
    const [, rests] = await place(bot, [buy('0.1'), resting()]);
    await held(bot, 2);
    await setRules(bot, { dailyTransactions: 0, reduceOnly: true });
    const job = await jobOf(bot);
    await queueMany(job, 997); // with the two orders one is left
    expect(await alertsOf(bot)).toEqual([]);
    expect((await place(bot, [closing('0.05')])).every(isTaken)).toBe(true);
    const text = String.raw`Not sent: Too many cumulative requests sent \(1001 > 1000\) for the daily quota of transactions, which resets at ${TIME}\.`;
    expect(statuses(await send(bot, { type: 'cancel', cancels: [{ a: BTC, o: oidOf(rests) }] }))).toEqual(refusal(text));
    expect(await held(bot, 2)).toHaveLength(2);
    expect(await alertsOf(bot)).toMatchObject([{ kind: 'quota-reached', chain: FACADE_CHAIN, details: { used: 1000, quota: 1000 } }]);
  });
});

describe('a trader that the operator does not let trade', () => {
  const approve = async ({ privateKey }: FacadeTrader['trader'], agent: string, url = sandbox.url): Promise<unknown> =>
    (await postExchange(url, FACADE_CHAIN, await approveAgent(new Wallet(privateKey), agent, null, { network: 'Testnet' }))).body;
  const newKey = (): Wallet => new Wallet(generatePrivateKey());
  const blocked = { access: 'blocked' as const };

  it('approves no agent, and always removes one', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, blocked);
    const refused = {
      status: 'err',
      response: `Trading is not allowed for user ${bot.address.toLowerCase()} by the operator of this service.`,
    };
    expect(await approve(bot.trader, newKey().address)).toEqual(refused);
    expect(await approve(bot.trader, newKey().address, beside.url)).toEqual(refused);
    expect(await approve(bot.trader, `0x${'00'.repeat(20)}`)).toMatchObject({ status: 'ok' });
    await setRules(bot, { access: 'allowed' });
    expect(await approve(bot.trader, newKey().address)).toMatchObject({ status: 'ok' });
  });

  it('has nothing moved for it that it opened with its own wallet', async () => {
    const bot = await newFacadeTrader(sandbox);
    await bot.trader.open({ openPrice: 60_000n * 10n ** 10n });
    await held(bot, 1);
    await setRules(bot, blocked);
    await eventually(
      () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.address.toLowerCase() as Address),
      (open) => open.length === 1,
    );
    const moved = statuses(await send(bot, { type: 'order', orders: [stopLoss('0')], grouping: 'positionTpsl' }));
    expect(moved).toEqual([{ error: expect.stringContaining('Trading is halted for this user by the operator') }]);
    expect(await rateLimit(bot.address)).toMatchObject({ nRequestsUsed: 0 });
  });

  it('may approve an agent for what the relayer opened, and gets out with fifty transactions a day', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { dailyTransactions: 1_000 }); // a trader without any bound is not looked up again for a second
    expect((await place(bot, [buy('0.1'), resting()])).every(isTaken)).toBe(true);
    await held(bot, 2);
    await setRules(bot, blocked);
    const agent = newKey();
    expect(await approve(bot.trader, agent.address)).toMatchObject({ status: 'ok' });
    const own = { ...bot, agentKey: agent.privateKey as `0x${string}` };
    expect((await place(own, [closing('0.05')])).every(isTaken)).toBe(true);
    const { relay } = sandbox.gateway.store;
    const trader = bot.address.toLowerCase() as Address;
    const [live] = await sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, trader);
    const [job] = await relay.jobsOfOrder(FACADE_CHAIN, live?.id ?? 0n);
    if (!job) throw new Error('nothing was sent');
    await queueMany(job, 49);
    expect(await place(own, [closing('0.05')])).toEqual([
      { error: expect.stringMatching(/Too many cumulative requests sent \(51 > 50\)/) },
    ]);
  });
});

describe('a bound on the daily loss', () => {
  it('halts openings once the loss is realised, and only openings', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { maxDailyLossUsd: '100' });
    const eth = (changes: object = {}) => buy('2', { a: ETH, p: '3150', ...changes });
    expect((await place(bot, [eth()])).every(isTaken)).toBe(true);
    expect((await place(bot, [eth()])).every(isTaken)).toBe(true);
    await held(bot, 2);
    await price(ETH, 2_900);
    const close = eth({ b: false, p: '2750', r: true });
    expect((await place(bot, [close])).every(isTaken)).toBe(true);
    await held(bot, 1);
    const text = String.raw`Trading is halted until ${TIME}: realized loss today \$2\d\d(\.\d+)?, daily limit \$100\. ${WAY_OUT}`;
    expect(await place(bot, [eth()])).toEqual(refusal(text));
    expect((await place(bot, [close])).every(isTaken)).toBe(true);
    await held(bot, 0);
  });
});

describe('a trader whom the operator holds back', () => {
  it('can cancel, protect and close, and open nothing, whether it is reduce-only or blocked', async () => {
    const bot = await newFacadeTrader(sandbox);
    const [, rests] = await place(bot, [buy('0.1'), resting()]);
    await held(bot, 2);
    await setRules(bot, { reduceOnly: true });
    const reducing = String.raw`Only reduce-only orders allowed for this user, set by the operator\. ${WAY_OUT}`;
    expect(await place(bot, [buy('0.1')])).toEqual(refusal(reducing));
    expect((await place(bot, [stopLoss('0.1')])).every(isTaken)).toBe(true);
    expect((await place(bot, [closing('0.05')])).every(isTaken)).toBe(true);
    await setRules(bot, { access: 'blocked' });
    expect(await place(bot, [buy('0.1')])).toEqual(refusal(String.raw`Trading is halted for this user by the operator\. ${WAY_OUT}`));
    expect(await held(bot, 2)).toHaveLength(2);
    expect((await place(bot, [stopLoss('0.05', '54000')])).every(isTaken)).toBe(true);
    expect(statuses(await send(bot, { type: 'cancel', cancels: [{ a: BTC, o: oidOf(rests) }] }))).toEqual(['success']);
    expect(filledSize(await place(bot, [buy('0.3', { b: false, p: '57000' })], beside.url))).toBeCloseTo(0.05, 3);
    await held(bot, 0);
  });

  it('gets back what the oracle never answered, although it is blocked and its quota is used up', async () => {
    const bot = await newFacadeTrader(sandbox);
    const chain = firstChain(sandbox);
    const before = await bot.trader.usdc();
    chain.setOraclePolicy(BTC, { mode: 'hold' });
    try {
      const answer = place(bot, [buy('0.1')]);
      await eventually(
        () => bot.trader.pending(),
        (pending) => pending === 1,
      );
      await setRules(bot, { access: 'blocked', dailyTransactions: 0 });
      await chain.mine(200);
      await eventually(
        () => bot.trader.usdc(),
        (usdc) => usdc === before,
      );
      await answer;
    } finally {
      chain.setOraclePolicy(BTC, { mode: 'auto' });
    }
  });

  it('is every trader where the default is to block, except those allowed by address', async () => {
    const [member, stranger] = [await newFacadeTrader(sandbox), await newFacadeTrader(sandbox)];
    await setRules(member, { access: 'allowed' }, 'all');
    expect(await operator('PUT', `/${FACADE_CHAIN}/default`, { access: 'blocked' })).toMatchObject({ status: 200 });
    try {
      expect((await place(member, [resting()], beside.url)).every(isTaken)).toBe(true);
      expect((await place(stranger, [resting()], beside.url)).some(isTaken)).toBe(false);
    } finally {
      expect(await operator('DELETE', `/${FACADE_CHAIN}/default`)).toMatchObject({ body: { removed: true } });
    }
    expect((await place(stranger, [resting()])).every(isTaken)).toBe(true);
  });
});

describe("the operator's rules", () => {
  it('are listed, and for a trader they come with where they come from and what is used', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setRules(bot, { ordersPerMinute: 50, dailyTransactions: 10 });
    await setRules(bot, { ordersPerMinute: 5, maxDailyLossUsd: '12.5' }, 'all');
    await place(bot, [resting()]);
    await held(bot, 1);
    const trader = bot.address.toLowerCase();
    const { body } = await operator('GET', '');
    expect((body as { rules: object[] }).rules).toEqual(
      expect.arrayContaining([
        { chain: FACADE_CHAIN, trader, rules: { ordersPerMinute: 50, dailyTransactions: 10 }, updatedAt: expect.any(Number) },
        { chain: 'all', trader, rules: { ordersPerMinute: 5, maxDailyLossUsd: '12.5' }, updatedAt: expect.any(Number) },
      ]),
    );
    expect((await operator('GET', `/${FACADE_CHAIN}/${bot.address}`)).body).toEqual({
      chain: FACADE_CHAIN,
      trader,
      rules: {
        access: 'allowed',
        reduceOnly: false,
        maxOpenNotionalUsd: null,
        maxDailyLossUsd: '12.5',
        ordersPerMinute: 50,
        dailyTransactions: 10,
      },
      from: expect.objectContaining({ ordersPerMinute: `${FACADE_CHAIN}/${trader}`, maxDailyLossUsd: `all/${trader}`, access: 'settings' }),
      use: {
        openNotionalUsd: expect.stringMatching(/^4\d\d\d/),
        realizedPnlUsd: '0',
        ordersInLastMinute: 1,
        transactions: 1,
        transactionsLeft: 9,
        dayEndsAt: expect.any(Number),
      },
    });
  });

  it.each([
    ['an unknown rule', `/all/${NOBODY}`, { maxLeverage: 3 }, [400, 'VALIDATION_ERROR']],
    ['a bound that is no amount', `/all/${NOBODY}`, { maxDailyLossUsd: '-1' }, [400, 'VALIDATION_ERROR']],
    ['a number in place of an amount', `/all/${NOBODY}`, { maxOpenNotionalUsd: 5 }, [400, 'VALIDATION_ERROR']],
    ['no orders a minute', `/all/${NOBODY}`, { ordersPerMinute: 0 }, [400, 'VALIDATION_ERROR']],
    ['half a transaction', `/all/${NOBODY}`, { dailyTransactions: 0.5 }, [400, 'VALIDATION_ERROR']],
    ['no body', `/all/${NOBODY}`, undefined, [400, 'VALIDATION_ERROR']],
    ['a trader that is no address', '/all/me', {}, [400, 'VALIDATION_ERROR']],
    ['a chain that is not served', `/nowhere/${NOBODY}`, {}, [404, 'CHAIN_NOT_FOUND']],
  ])('are not set from %s', async (_case, path, body, expected) => {
    const reply = await operator('PUT', path, body);
    expect([reply.status, (reply.body as { code: string }).code]).toEqual(expected);
    expect(JSON.stringify((await operator('GET', '')).body)).not.toContain(NOBODY);
  });

  it('are not readable without the token', async () => {
    const response = await fetch(`${sandbox.url}/relayer/rules`);
    expect(response.status).toBe(401);
  });
});
