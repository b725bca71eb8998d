import { Wallet } from 'ethers';
import { formatEther } from 'viem/utils';
import type { KnexStore } from '../../core/adapters/postgres/create-store.js';
import { recordBalances } from '../../core/observability/alerts/watch.js';
import { DAY_MS, HOUR_MS, type CostQuery } from '../../core/ports/stores/gas.js';
import type { Address } from '../../core/types.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import { eventually } from '../harness/time/eventually.js';
import { newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type Reply, type TestVenue } from '../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
const TOKEN = 'the-token-of-the-operator';
let sandbox: TestVenue;
let wallet: Address;
let bot: FacadeTrader;

beforeAll(async () => {
  sandbox = await startOwnVenue({ OPERATOR_TOKEN: TOKEN, FACADE_HOLD_MS: '0', ALERT_LOW_BALANCE: '0.25,base=7' });
  wallet = sandbox.controls.relayer.toLowerCase() as Address;
  bot = await newFacadeTrader(sandbox);
  await trade();
});
afterAll(() => sandbox.stop());

const ask = (path: string): Promise<Reply> => sandbox.get(`/relayer${path}`, { Authorization: `Bearer ${TOKEN}` });
const read = async <Body>(path: string): Promise<Body> => (await ask(path)).body as Body;

/** A resting entry: one transaction of the relayer, booked. */
async function trade(): Promise<void> {
  const before = (await total()).transactions;
  const action = orderAction(order({ p: '30000', s: '0.1', t: { limit: { tif: 'Gtc' } } }));
  await postExchange(sandbox.url, CHAIN, await signL1(new Wallet(bot.agentKey), action));
  await eventually(total, ({ transactions }) => transactions > before);
}

const total = async () => (await read<{ total: { transactions: number; costWei: string } }>(`/costs?chain=${CHAIN}`)).total;

interface History {
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  readonly burn: readonly { readonly at: number; readonly transactions: number; readonly costWei: string; readonly cost: string }[];
  readonly balances: readonly { readonly at: number; readonly balanceWei: string; readonly balance: string }[];
}

describe("the history of a relayer's wallet", () => {
  it.each([
    [7, HOUR_MS, 7 * 24],
    [30, DAY_MS, 30],
  ])('of %i days adds up to the costs, to the wei', async (days, stepMs, steps) => {
    const found = await read<History>(`/history?chain=${CHAIN}&wallet=${wallet}&days=${days}`);
    expect(found).toMatchObject({ chain: CHAIN, wallet, days, stepMs });
    expect(Math.ceil((found.to - found.from) / stepMs)).toBe(steps);
    expect(found.burn.every(({ at }) => at % stepMs === 0 && at >= found.from && at <= found.to)).toBe(true);
    const { transactions, costWei } = await total();
    expect(found.burn.reduce((sum, row) => sum + BigInt(row.costWei), 0n)).toBe(BigInt(costWei));
    expect(found.burn.reduce((sum, row) => sum + row.transactions, 0)).toBe(transactions);
    expect(found.burn.map(({ cost }) => cost)).toEqual(found.burn.map((row) => formatEther(BigInt(row.costWei))));
  });

  it('ends with the balance of now', async () => {
    const { balances } = await read<History>(`/history?chain=${CHAIN}&wallet=${wallet.toUpperCase().replace('0X', '0x')}`);
    const balanceWei = await sandbox.gateway.venues.get(CHAIN)?.chain.nativeBalance(wallet);
    expect(balances.at(-1)).toMatchObject({ balanceWei: String(balanceWei), balance: formatEther(balanceWei ?? 0n) });
  });

  it('keeps one balance of each hour, the latest, whichever replica read it and in whatever order', async () => {
    const { gas } = sandbox.gateway.store;
    const other: Address = `0x${'77'.repeat(20)}`;
    const hour = 2_000_000 * HOUR_MS;
    await gas.recordBalance(CHAIN, other, { at: hour + 600, balanceWei: 2n ** 100n });
    await gas.recordBalance(CHAIN, other, { at: hour + 500, balanceWei: 5n });
    await gas.recordBalance(CHAIN, other, { at: hour + HOUR_MS, balanceWei: 7n });
    expect(await gas.balances(CHAIN, other, hour)).toEqual([
      { at: hour + 600, balanceWei: 2n ** 100n },
      { at: hour + HOUR_MS, balanceWei: 7n },
    ]);
    expect(await gas.balances(CHAIN, other, hour + HOUR_MS)).toHaveLength(1);
  });

  it('is recorded at the start and every five minutes, and misses an hour in which no node answers', async () => {
    const clock = createManualClock(20_000_000_000_000 + HOUR_MS);
    const hours = async () => (await sandbox.gateway.store.gas.balances(CHAIN, wallet, 20_000_000_000_000)).map(({ at }) => at);
    const stop = recordBalances({ ...sandbox.gateway, clock });
    const [first] = await eventually(hours, ({ length }) => length === 1);
    firstChain(sandbox).setRpcFault({ mode: 'down' });
    clock.advance(HOUR_MS);
    await eventually(
      () => Promise.resolve(sandbox.log.entries.filter(({ event }) => event === 'relay.balance-not-recorded')),
      ({ length }) => length > 0,
    );
    firstChain(sandbox).setRpcFault({ mode: 'ok' });
    const later = await eventually(
      async () => {
        clock.advance(HOUR_MS);
        return hours();
      },
      ({ length }) => length > 1,
    );
    stop();
    expect(first).toBe(20_000_000_000_000 + HOUR_MS);
    expect((later[1] ?? 0) - (first ?? 0)).toBeGreaterThan(HOUR_MS);
  });

  it.each([
    ['no wallet', `?chain=${CHAIN}`, 'VALIDATION_ERROR'],
    ['a text for a wallet', `?chain=${CHAIN}&wallet=mine`, 'VALIDATION_ERROR'],
    ['a foreign wallet', `?chain=${CHAIN}&wallet=0x${'12'.repeat(20)}`, 'UNSUPPORTED'],
    ['ten days', `?chain=${CHAIN}&wallet=0x${'12'.repeat(20)}&days=10`, 'VALIDATION_ERROR'],
    ['a chain that is not served', `?chain=base&wallet=0x${'12'.repeat(20)}`, 'CHAIN_NOT_FOUND'],
  ])('refuses %s', async (_case, query, code) => {
    expect((await ask(`/history${query}`)).body).toMatchObject({ code });
  });
});

describe('the costs', () => {
  it('stand in the order of their amounts, not of their first digits', async () => {
    const { db } = sandbox.gateway.store as KnexStore;
    const day = Date.parse('2020-02-02T00:00:00Z') / DAY_MS;
    for (const [action, cost] of [
      ['cancel', '9'],
      ['order', '10'],
    ])
      await db.raw(
        `insert into relay_cost_days (chain, day, wallet, trader, action, outcome, transactions, cost) values (?, ?, ?, '', ?, 'mined', 1, ?)`,
        [CHAIN, day, wallet, action ?? '', cost ?? ''],
      );
    const { rows } = await read<{ rows: { key: string }[] }>(`/costs?chain=${CHAIN}&by=action&from=2020-02-02&to=2020-02-02`);
    expect(rows.map(({ key }) => key)).toEqual(['order', 'cancel']);
  });
});

describe('the status of the relayer', () => {
  it('says of a chain what it is called, its coin, and below what an alert is raised', async () => {
    expect(await read('/status')).toMatchObject({
      mode: 'sandbox',
      chains: [
        {
          chain: CHAIN,
          name: 'Arbitrum Sepolia',
          isTestnet: true,
          coin: 'ETH',
          threshold: { balanceWei: '250000000000000000', balance: '0.25', runwayDays: 3 },
        },
      ],
    });
  });

  it('says what a wallet has spent of the budget of its day', async () => {
    const { costWei } = await total();
    const { chains } = await read<{ chains: { wallets: { budget: Record<string, string | null> }[] }[] }>('/status');
    const budget = chains[0]?.wallets[0]?.budget;
    expect(budget).toMatchObject({ spentWei: costWei, spent: formatEther(BigInt(costWei)) });
    expect(['half', 'fixed', 'unlimited']).toContain(budget?.['setting']);
  });

  it('says since when a wallet is paused', async () => {
    const before = Date.now();
    const headers = { Authorization: `Bearer ${TOKEN}` };
    await sandbox.post('/relayer/switches', { chain: CHAIN, mode: 'paused', reason: 'a drill' }, headers);
    const { chains } = await read<{ chains: { wallets: { switch: { changedAt: number } }[] }[] }>('/status');
    expect(chains[0]?.wallets[0]?.switch).toMatchObject({ mode: 'paused', reason: 'a drill' });
    expect(chains[0]?.wallets[0]?.switch.changedAt).toBeGreaterThanOrEqual(before);
    await sandbox.post('/relayer/switches', { chain: CHAIN, mode: 'running', reason: 'the drill is over' }, headers);
    const resumed = sandbox.log.entries.findLast(({ event }) => event === 'relay.switched');
    expect(resumed?.fields).toMatchObject({ mode: 'running', reason: 'the drill is over' });
    expect(await read('/switches')).toMatchObject({ chains: [{ wallets: [{ mode: 'running', reason: null }] }] });
  });
});

describe('the quotas', () => {
  it('name the traders of today and those with rules of their own, with what they have used', async () => {
    const quiet = `0x${'ab'.repeat(20)}`;
    await sandbox.call(`/relayer/rules/${CHAIN}/${quiet}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ dailyTransactions: 5 }),
    });
    const { traders, leftOut } = await read<{ traders: object[]; leftOut: number }>(`/quotas?chain=${CHAIN}`);
    expect(leftOut).toBe(0);
    expect(traders).toMatchObject([
      { trader: bot.address.toLowerCase(), use: { transactions: (await total()).transactions } },
      { trader: quiet, rules: { dailyTransactions: 5 }, from: { dailyTransactions: `${CHAIN}/${quiet}` }, use: { transactionsLeft: 5 } },
    ]);
    expect(await read(`/quotas?chain=${CHAIN}&limit=1`)).toMatchObject({ traders: [{ trader: bot.address.toLowerCase() }], leftOut: 1 });
  });

  it('count every trader they leave out, and none twice', async () => {
    const { gas, rules } = sandbox.gateway.store;
    const served = Array.from({ length: 7 }, (_, at) => `0x${String(at + 1).repeat(40)}` as const);
    const rows = [...served, null].map((key, at) => ({ key, transactions: 1, costWei: BigInt(100 - at) }));
    const total = { transactions: rows.length, costWei: 1n };
    const [known] = await rules.list();
    const own = known === undefined ? [] : [{ ...known, chain: CHAIN, trader: served[6] ?? bot.address }];
    const before = { costs: gas.costs.bind(gas), list: rules.list.bind(rules) };
    Object.assign(gas, { costs: ({ limit }: CostQuery) => Promise.resolve({ rows: rows.slice(0, limit), groups: rows.length, total }) });
    Object.assign(rules, { list: () => Promise.resolve(own) });
    try {
      const { traders, leftOut } = await read<{ traders: object[]; leftOut: number }>(`/quotas?chain=${CHAIN}&limit=2`);
      expect([traders.length, leftOut]).toEqual([2, 5]);
    } finally {
      Object.assign(gas, { costs: before.costs });
      Object.assign(rules, { list: before.list });
    }
  });

  it.each([
    ['?', 'VALIDATION_ERROR'],
    ['?chain=base', 'CHAIN_NOT_FOUND'],
    [`?chain=${CHAIN}&limit=0`, 'VALIDATION_ERROR'],
    [`?chain=${CHAIN}&limit=101`, 'VALIDATION_ERROR'],
  ])('refuse %s', async (query, code) => {
    expect((await ask(`/quotas${query}`)).body).toMatchObject({ code });
  });
});

describe('the alerts', () => {
  it('say whether they are posted', async () => {
    expect(await read('/alerts')).toMatchObject({ arePosted: false, delivered: [], pending: [], dead: [] });
  });
});
