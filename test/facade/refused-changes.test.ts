import { Wallet } from 'ethers';
import type pg from 'pg';
import { encodeFunctionData, type Hex } from 'viem';
import { isSettled } from '../../core/domain/order.js';
import { lower } from '../../core/domain/interpret-executions.js';
import { tokenAbi } from '../../sandbox/contracts/artefact.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { diamondCall, packed } from '../harness/diamond/diamond-calls.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { eventually, eventuallyOn } from '../harness/time/eventually.js';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { answeredAtOnce, answersUntil, answersWhenKnown } from '../harness/venue/answer-hold.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { operatorOf, type Operator } from '../harness/venue/operator.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

/** Cancels and changes that the contracts refuse although the order lives. The venue is its own: the contract is paused. */
const BTC = 0;
const PRICE = 60_000;
const RUNNING = 0;
const PAUSED = 2;
/** The contract's name for the opening of a limit order. */
const LIMIT_OPEN = 2;

let sandbox: TestVenue;
let chain: ChainControls;
let operator: Operator;
let database: pg.Client;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  operator = operatorOf(chain);
  database = await venueDatabase(sandbox);
});
beforeEach(async () => {
  sandbox.controls.prices.jump(BTC, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (price) => price === units(PRICE),
  );
});
afterEach(async () => {
  await chain.pauseMining(false);
  chain.resetOracle();
});
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});

interface Bot {
  readonly trader: ChainTrader;
  readonly address: Hex;
  send(action: object): Promise<unknown>;
}

async function newBot(): Promise<Bot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox);
  const agent = new Wallet(agentKey);
  const send = async (action: object) => (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(agent, { ...action }))).body;
  return { trader, address: lower(address), send };
}

const rest = (changes: object = {}) => order({ a: BTC, b: true, p: '50000', s: '0.1', r: false, t: { limit: { tif: 'Gtc' } }, ...changes });
const buy = () => order({ a: BTC, b: true, p: '63000', s: '0.1', r: false, t: { limit: { tif: 'Ioc' } } });
const stop = (triggerPx: string, changes: object = {}) =>
  order({ a: BTC, b: false, p: '40000', s: '0.1', r: true, t: { trigger: { isMarket: true, triggerPx, tpsl: 'sl' } }, ...changes });
const orders = (...list: object[]) => ({ type: 'order', orders: list, grouping: 'na' });
const units = (price: number) => BigInt(price) * 10n ** 10n;
const modify = (oid: number, changed: object) => ({ type: 'modify', oid, order: changed });
const cancel = (o: number) => ({ type: 'cancel', cancels: [{ a: BTC, o }] });

const statuses = (body: unknown) =>
  (body as { response: { data: { statuses: Record<string, { oid: number }>[] } } }).response.data.statuses;

/** The numbers of a resting order and of its stop loss, if one is given. */
const resting = (bot: Bot, ...children: object[]): Promise<[number, number]> => restingOf(bot, rest(), ...children);

async function restingOf(bot: Bot, entry: object, ...children: object[]): Promise<[number, number]> {
  const grouping = children.length > 0 ? 'normalTpsl' : 'na';
  const answers = statuses(await bot.send({ type: 'order', orders: [entry, ...children], grouping }));
  expect(answers[0]).toMatchObject({ resting: { oid: expect.any(Number) } });
  const oid = answers[0]?.['resting']?.oid ?? 0;
  await eventually(
    () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address),
    (live) => live.some(({ id, order: { status } }) => id === BigInt(oid) && status === 'open'),
  );
  if (children.length === 0) return [oid, 0];
  const listed = await sandbox.call(`/hl/${FACADE_CHAIN}/info`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ type: 'frontendOpenOrders', user: bot.address }),
  });
  const [parent] = listed.body as { children: { oid: number }[] }[];
  return [oid, parent?.children[0]?.oid ?? 0];
}

/** A position of 0.1 and the number of its stop loss. */
async function guarded(bot: Bot, changes: object = {}): Promise<number> {
  await bot.send(orders(buy()));
  const [placed] = statuses(await bot.send(orders(stop('55000', changes))));
  await eventually(
    () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.address),
    ([listed]) => listed?.position.sl === units(55_000),
  );
  return placed?.['resting']?.oid ?? 0;
}

interface Status {
  readonly status: string;
  readonly order: { readonly oid: number };
}

async function statusOf({ address }: Bot, oid: number | string): Promise<Status> {
  const { body } = await sandbox.post(`/hl/${FACADE_CHAIN}/info`, { type: 'orderStatus', user: address, oid });
  return (body as { order: Status }).order;
}

const openOrders = async ({ trader }: Bot) => (await trader.trades()).filter(({ tradeType }) => tradeType !== 0).length;

/** The trader's own transaction is in the next block, before any that is sent after this. */
async function sendFirst({ trader }: Bot, to: Hex, data: Hex): Promise<{ readonly mined: Promise<unknown> }> {
  const count = (at: string) => chain.request('eth_getTransactionCount', [trader.account.address, at]);
  await chain.pauseMining(true);
  const before = await count('pending');
  const mined = trader.send(to, data);
  await eventually(
    () => count('pending'),
    (now) => now !== before,
  );
  return { mined };
}

const openJobs = () => sandbox.gateway.store.relay.open(FACADE_CHAIN, lower(sandbox.controls.relayer));

/** Blocks come again once the bot's cancel or change waits behind the trader's own transaction. Closing slippages are set at any time. */
async function resumeBehind({ address }: Bot): Promise<RelayJob> {
  const isBehind = ({ state, trader, context }: RelayJob): boolean =>
    state === 'accepted' && trader === address && (context as { kind: string }).kind !== 'closing-slippage';
  const job = await eventually(async () => (await openJobs()).find(isBehind), Boolean);
  await chain.pauseMining(false);
  if (job === undefined) throw new Error('there is no such job');
  return job;
}

/** A keeper begins to execute the bot's order in the next block, before anything that is sent after this, and the oracle does not answer. */
async function triggerFirst({ trader }: Bot): Promise<void> {
  const [trade] = await trader.trades();
  await nothingUnderWay();
  chain.setOraclePolicy(BTC, { mode: 'hold' });
  await chain.pauseMining(true);
  const data = diamondCall('triggerOrder', [packed(LIMIT_OPEN, trader.account.address, trade?.index ?? 0)]);
  await chain.operator.send({ to: chain.definition.diamond, data, gas: 1_000_000n });
}

/** Its order is rejected then, which is what an answer waits for. */
async function whenReverted({ id }: RelayJob): Promise<void> {
  const { relay, account } = sandbox.gateway.store;
  const { trader } = await eventually(
    async () => (await relay.job(FACADE_CHAIN, id)) ?? { state: null, trader: null },
    ({ state }) => state === 'reverted',
  );
  await eventually(
    () => account.ordersBefore(FACADE_CHAIN, lower(trader ?? '0x'), null, 100),
    (all) => all.some(({ order: { status } }) => status === 'rejected'),
  );
}

/** Resolves once the gateway has published that an order of the bot is rejected: answers that wait for it know it by then. */
function rejectionOf({ address }: Bot): Promise<void> {
  return new Promise((resolve) => {
    const cancel = sandbox.gateway.bus.on('journal', ({ entries }) => {
      if (!entries.some(({ fact, trader }) => trader === address && fact.kind === 'order' && fact.order.status === 'rejected')) return;
      cancel();
      resolve();
    });
  });
}

/** All logs of the transactions that have one of this name, as a node does whose index of logs lags. */
function withholdLogs(name: string): { readonly release: () => void } {
  const { chain: port } = sandbox.gateway.venues.get(FACADE_CHAIN) ?? {};
  if (port === undefined) throw new Error('there is no such chain');
  const logs = port.logs.bind(port);
  const withheld: typeof port.logs = async (from, to) => {
    const range = await logs(from, to);
    const late = new Set(range.logs.flatMap((log) => (log.name === name ? [log.place.txHash] : [])));
    return { ...range, logs: range.logs.filter(({ place }) => !late.has(place.txHash)) };
  };
  Object.assign(port, { logs: withheld });
  return { release: () => void Object.assign(port, { logs }) };
}

/** Its transaction reverts, because the trader removes the delegate first. The answer comes later than the revert is known. */
async function failChange(bot: Bot, oid: number, changed: object): Promise<{ readonly answer: Promise<unknown> }> {
  const { diamond } = chain.definition;
  await nothingUnderWay();
  const { mined } = await sendFirst(bot, diamond, diamondCall('removeTradingDelegate', []));
  const answer = bot.send(modify(oid, changed));
  const job = await resumeBehind(bot);
  await mined;
  await nothingUnderWay();
  expect(await sandbox.gateway.store.relay.job(FACADE_CHAIN, job.id)).toMatchObject({ state: 'reverted' });
  await bot.trader.send(diamond, diamondCall('setTradingDelegate', [sandbox.controls.relayer]));
  return { answer };
}

/** Before a cancel or change is sent: what is mined and not settled yet would be taken for it. */
const nothingUnderWay = () => eventually(openJobs, ({ length }) => length === 0);

/** The gateway has noticed that the market is open, or that it is not. */
const whenOpen = (isOpen: boolean) =>
  eventually(
    () => sandbox.get(`/v1/${FACADE_CHAIN}/markets/BTC-USD`),
    ({ body }) => (body as { isOpen: boolean }).isOpen === isOpen,
  );

describe('a cancel', () => {
  it('while all trading is paused says so, and the order is canceled later', async () => {
    const bot = await newBot();
    const [oid] = await resting(bot);
    await operator.control('sandboxSetTradingActivated', [PAUSED]);
    try {
      await whenOpen(false);
      expect(statuses(await bot.send(cancel(oid)))).toEqual([{ error: expect.stringContaining('Trading is halted.') }]);
      expect(await openOrders(bot)).toBe(1);
    } finally {
      await operator.control('sandboxSetTradingActivated', [RUNNING]);
      await whenOpen(true);
    }
    expect(statuses(await bot.send(cancel(oid)))).toEqual(['success']);
  });

  it('of a stop loss that is gone before the removal is mined does not count as made', async () => {
    const bot = await newBot();
    const oid = await guarded(bot);
    const [trade] = await bot.trader.trades();
    const { diamond } = chain.definition;
    // The removal reverts, and the level is gone all the same, as when it has closed its position.
    await nothingUnderWay();
    const own = [
      await sendFirst(bot, diamond, diamondCall('removeTradingDelegate', [])),
      await sendFirst(bot, diamond, diamondCall('updateSl', [trade?.index ?? 0, 0n])),
    ];
    answersWhenKnown(sandbox);
    const canceling = bot.send(cancel(oid));
    await resumeBehind(bot);
    await Promise.all(own.map(({ mined }) => mined));
    expect(statuses(await canceling)).toEqual([{ error: `Order was never placed, already canceled, or filled. asset=${BTC}` }]);
  });

  it('of an order that a keeper executes says that it is executing', async () => {
    const bot = await newBot();
    const [oid] = await resting(bot);
    chain.setOraclePolicy(BTC, { mode: 'hold' });
    const [trade] = await bot.trader.trades();
    await operator.send(diamondCall('triggerOrder', [packed(LIMIT_OPEN, bot.trader.account.address, trade?.index ?? 0)]));
    const canceled = await answeredAtOnce(sandbox, () => bot.send(cancel(oid)));
    expect(statuses(canceled)).toEqual([{ error: expect.stringContaining('Order is executing') }]);
    expect(await openOrders(bot)).toBe(1);
  });
});

describe('a change', () => {
  it('that the contracts refuse while the order stands says that it stands, as soon as that is known', async () => {
    const bot = await newBot();
    const [oid] = await resting(bot);
    const before = await bot.trader.trades();
    const usdc = chain.collaterals.find(({ symbol }) => symbol === 'USDC');
    const approveNothing = encodeFunctionData({ abi: tokenAbi, functionName: 'approve', args: [chain.definition.diamond, 0n] });
    await nothingUnderWay();
    const { mined } = await sendFirst(bot, usdc?.address ?? '0x', approveNothing);
    answersWhenKnown(sandbox);
    const changing = bot.send(modify(oid, rest({ p: '49000' })));
    await resumeBehind(bot);
    await mined;
    expect(await changing).toEqual({
      status: 'err',
      response: `The contracts refused the change, and the order stands as it was. asset=${BTC}`,
    });
    expect(await bot.trader.trades()).toEqual(before);
  });

  it('after a keeper has begun to execute the order is answered when the order has ended', async () => {
    const bot = await newBot();
    const [oid] = await resting(bot);
    await triggerFirst(bot);
    answersWhenKnown(sandbox);
    const changing = bot.send(modify(oid, rest({ p: '49000' })));
    await whenReverted(await resumeBehind(bot));
    sandbox.controls.prices.jump(BTC, '49900');
    chain.resetOracle();
    expect(await changing).toEqual({ status: 'err', response: expect.stringMatching(/canceled|filled/) });
    expect((await statusOf(bot, oid)).status).toBe('filled');
  });

  it('after a keeper has begun to execute the order says that it is executing, where that takes longer than an answer', async () => {
    const bot = await newBot();
    const [oid] = await resting(bot);
    await triggerFirst(bot);
    const held = answersUntil(sandbox);
    const rejected = rejectionOf(bot);
    const changing = bot.send(modify(oid, rest({ p: '49000' })));
    await resumeBehind(bot);
    await rejected;
    held.end();
    expect(await changing).toEqual({ status: 'err', response: expect.stringContaining('Order is executing') });
    expect((await statusOf(bot, oid)).status).toBe('open');
  });

  it('after a cancellation whose log the node returns later than its block is answered when that is known', async () => {
    const bot = await newBot();
    const [oid] = await resting(bot);
    const [trade] = await bot.trader.trades();
    await nothingUnderWay();
    const log = withholdLogs('OpenLimitCanceled');
    const { mined } = await sendFirst(bot, chain.definition.diamond, diamondCall('cancelOpenOrder', [trade?.index ?? 0]));
    answersWhenKnown(sandbox);
    const changing = bot.send(modify(oid, rest({ p: '49000' })));
    await whenReverted(await resumeBehind(bot));
    await mined;
    expect((await statusOf(bot, oid)).status).toBe('open');
    log.release();
    await eventuallyOn(() => sandbox.clock)(
      () => statusOf(bot, oid),
      ({ status }) => status === 'canceled',
    );
    expect(await changing).toEqual({ status: 'err', response: expect.stringMatching(/canceled|filled/) });
  });

  it('of the stop loss of an order that is canceled first is not reported as made', async () => {
    const bot = await newBot();
    const [, child] = await resting(bot, stop('45000'));
    const [trade] = await bot.trader.trades();
    await nothingUnderWay();
    const { mined } = await sendFirst(bot, chain.definition.diamond, diamondCall('cancelOpenOrder', [trade?.index ?? 0]));
    answersWhenKnown(sandbox);
    const changing = bot.send(modify(child, stop('46000')));
    await resumeBehind(bot);
    await mined;
    expect(await changing).toEqual({
      status: 'err',
      response: `The change of the take profit or stop loss failed on chain: the order was filled or canceled first, or could not be changed. asset=${BTC}`,
    });
  });
});

describe('a change of a stop loss that is mined and not indexed yet', () => {
  it('is open', async () => {
    const bot = await newBot();
    const [, child] = await resting(bot, stop('45000'));
    const c = `0x${'a9'.repeat(16)}`;
    let changing: Promise<unknown> | null = null;
    await database.query('begin');
    try {
      await database.query('select from chain_cursors for update'); // so that no block is indexed
      changing = bot.send(modify(child, stop('44000', { c })));
      await eventually(
        () =>
          database.query(
            `select from triggers join exchange_orders on oid = owner join relay_jobs on id = job where cloid = $1 and relay_jobs.state = 'mined'`,
            [c],
          ),
        ({ rowCount }) => rowCount === 1,
      );
      expect(await statusOf(bot, c)).toMatchObject({ status: 'open', order: { cloid: c } });
    } finally {
      await database.query('rollback');
    }
    expect(await changing).toEqual({ status: 'ok', response: { type: 'default' } });
  });
});

describe('two changes of a stop loss that are settled again after a reorganisation', () => {
  it('leave the trigger to the later one, whose transaction set it, whatever the relayer takes for its outcome', async () => {
    const bot = await newBot();
    let [, oid] = await resting(bot, stop('45000'));
    const cloids = ['aa', 'ab'].map((byte) => `0x${byte.repeat(16)}`);
    for (const c of cloids) {
      expect(await bot.send(modify(oid, stop('44000', { c })))).toEqual({ status: 'ok', response: { type: 'default' } });
      ({ oid } = (await statusOf(bot, c)).order);
    }
    const { relay } = sandbox.gateway.store;
    const changes = `select id from relay_jobs where trader = $1 and context ->> 'kind' = 'child'`;
    const { rows } = await database.query<{ id: string }>(changes, [bot.address]);
    const jobs = await Promise.all(rows.map(({ id }) => relay.job(FACADE_CHAIN, BigInt(id))));
    const settled = jobs.flatMap((job) => (job?.mined ? [{ id: job.id, state: 'mined' as const, mined: job.mined }] : []));
    expect(settled).toHaveLength(2);
    const shown = async () => (await Promise.all(cloids.map((c) => statusOf(bot, c)))).map(({ status }) => status);
    await relay.settle(FACADE_CHAIN, settled);
    expect(await shown()).toEqual(['canceled', 'open']);
    const later = settled.filter(({ id }) => settled.every((other) => other.id <= id));
    for (const state of ['reverted', 'mined', 'reverted', 'mined'] as const) {
      await relay.settle(
        FACADE_CHAIN,
        later.map((job) => ({ ...job, state })),
      );
      expect(await shown()).toEqual(['canceled', 'open']);
    }
  });
});

describe('an order whose changes all failed', () => {
  /** More than are looked at by their cloid. */
  const FAILED_CHANGES = 6;

  it.each([
    ['an order that rests', async (bot: Bot, c: string) => (await restingOf(bot, rest({ c })))[0], rest({ p: '49000' })],
    ['a stop loss', (bot: Bot, c: string) => guarded(bot, { c }), stop('54000')],
  ] as const)('is found by its cloid: %s', async (_, make, changed) => {
    const bot = await newBot();
    const c = `0x${'a4'.repeat(16)}`;
    const oid = await make(bot, c);
    const answers: Promise<unknown>[] = [];
    const held = answersUntil(sandbox);
    for (let count = 0; count < FAILED_CHANGES; count += 1) answers.push((await failChange(bot, oid, { ...changed, c })).answer);
    await eventually(
      () => sandbox.gateway.store.account.ordersBefore(FACADE_CHAIN, bot.address, null, 100),
      (all) => all.every(({ order: { status } }) => isSettled(status)),
    );
    held.end();
    await Promise.all(answers);
    expect(await statusOf(bot, c)).toMatchObject({ status: 'open', order: { oid, cloid: c } });
    expect(statuses(await bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid: c }] }))).toEqual(['success']);
    expect(await openOrders(bot)).toBe(0);
    expect((await bot.trader.trades()).every(({ sl }) => sl === 0n)).toBe(true);
  });

  it('leaves the names of the changes free: for the stop loss while its order rests, and for another order once that is filled', async () => {
    const bot = await newBot();
    const [, child] = await resting(bot, stop('45000'));
    const [first, second] = ['a5', 'a6'].map((byte) => `0x${byte.repeat(16)}`);
    for (const c of [first, second]) await (await failChange(bot, child, stop('44000', { c }))).answer;
    expect(await bot.send(modify(child, stop('44000', { c: first })))).toEqual({ status: 'ok', response: { type: 'default' } });
    expect((await bot.trader.trades()).map(({ sl }) => sl)).toEqual([units(44_000)]);
    sandbox.controls.prices.jump(BTC, '49900');
    await eventually(
      () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.address),
      ({ length }) => length === 1,
    );
    const [taken, free] = await Promise.all([first, second].map(async (c) => statuses(await bot.send(orders(rest({ p: '40000', c }))))[0]));
    expect(taken).toEqual({ error: `An order with this cloid is still open. asset=${BTC}` });
    expect(free).toMatchObject({ resting: { cloid: second } });
  });

  it('keeps its number where the contract moves it as its order is filled', async () => {
    const bot = await newBot();
    // It is filled at the price after the jump, which is further away from the stop loss than the contract allows.
    const entry = rest({ p: '70000', t: { trigger: { isMarket: true, triggerPx: '61000', tpsl: 'sl' } } });
    const [, child] = await restingOf(bot, entry, stop('40000'));
    const [before] = await bot.trader.trades();
    const c = `0x${'a7'.repeat(16)}`;
    await (
      await failChange(bot, child, stop('39000', { p: '39000', c }))
    ).answer;
    sandbox.controls.prices.jump(BTC, '63000');
    const [{ position } = { position: null }] = await eventually(
      () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.address),
      ({ length }) => length === 1,
    );
    expect(position?.sl).not.toBe(before?.sl);
    expect(await Promise.all([child, c].map((name) => statusOf(bot, name)))).toMatchObject([
      { status: 'open', order: { oid: child } },
      { status: 'canceled', order: { cloid: c } },
    ]);
  });

  it('is owed no closing slippage for them: nothing is sent for one after the fill', async () => {
    const bot = await newBot();
    const [, child] = await resting(bot, stop('45000'));
    const c = `0x${'a8'.repeat(16)}`;
    await (
      await failChange(bot, child, stop('44000', { p: '30000', c }))
    ).answer;
    sandbox.controls.prices.jump(BTC, '49900');
    const count = async (sql: string, value: string) =>
      Number((await database.query<{ count: string }>(`select count(*) from ${sql}`, [value])).rows[0]?.count);
    await eventually(
      () => count('pending_closing_slippages join exchange_orders using (chain, oid) where cloid = $1', c),
      (owed) => owed === 0,
    );
    expect(await count(`relay_jobs where state = 'refused' and trader = $1`, bot.address)).toBe(0);
  });
});
