import type pg from 'pg';
import { z } from 'zod';
import { ORDER_VARIABLES, orderSettings } from '../../core/trading/order-variables.js';
import type { ChainControls } from '../../sandbox/controls.js';
import {
  BUSY_AGENTS,
  decided,
  done,
  newAgentTrader,
  prepared,
  refusal,
  type AgentTrader,
  type Json,
} from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { eventually } from '../harness/time/eventually.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';
import { LIMIT, MARKET } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let database: pg.Client;

const MAX_UNSENT = 8;

beforeAll(async () => {
  sandbox = await startOwnVenue({ ...BUSY_AGENTS, MAX_UNSENT_ORDERS: String(MAX_UNSENT) });
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(0, '60000');
  database = await venueDatabase(sandbox);
});
afterEach(() => chain.pauseMining(false));
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});

const viewEqualsChain = (of: AgentTrader) => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, of.trader);
const idOf = (order: Json): string => String(order['id']);

async function spentBy({ wallet }: AgentTrader): Promise<number> {
  const sum = 'select coalesce(sum(usd), 0)::float as spent from spend_reservations where agent = $1 and held';
  const { rows } = await database.query<{ spent: number }>(sum, [wallet.address.toLowerCase()]);
  return rows[0]?.spent ?? 0;
}

const statusesOf = (answers: readonly { readonly status: number }[]): number[] => answers.map(({ status }) => status);
const many = <Result>(count: number, work: (at: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)));

describe('a daily cap', () => {
  it('holds to the last order of ten at once, and while others are given up', async () => {
    const agent = await newAgentTrader(sandbox, chain, { usdc: '100000', scope: { ...EVERYTHING, dailySpendCapUsd: '5500' } });
    const answers = await many(10, (at) => decided(() => agent.create({ ...LIMIT, clientId: `first ${at}` })));
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(refusal)).toEqual(Array(5).fill([403, 'SCOPE_SPEND_CAP_EXCEEDED']));
    const [given, more] = await Promise.all([
      Promise.all(made.slice(0, 3).map((answer) => decided(() => agent.cancel(idOf(done(answer).order))))),
      many(5, (at) => decided(() => agent.create({ ...LIMIT, clientId: `second ${at}` }))),
    ]);
    expect(statusesOf(given)).toEqual([200, 200, 200]);
    const taken = more.filter(({ status }) => status === 201).length;
    expect(taken).toBeLessThanOrEqual(3);
    expect(await spentBy(agent)).toBe((2 + taken) * 1000);
  });

  it('has back what an order would grow by when that expires unsent or the order is canceled, and counts it again when the chain says so', async () => {
    const agent = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, dailySpendCapUsd: '5000' } });
    const id = idOf(await agent.place(LIMIT, 'open'));
    const answer = await agent.update(id, { size: '0.04' });
    expect(await spentBy(agent)).toBe(2000);
    const { slug } = chain.definition;
    await sandbox.gateway.store.spend.releaseUnsent(slug, prepared(answer).expiresAt);
    expect(await spentBy(agent)).toBe(1000);
    await agent.send(prepared(answer));
    await eventually(
      () => agent.order(id),
      ({ size }) => size === '0.04',
    );
    expect(await spentBy(agent)).toBe(2000);
    await sandbox.gateway.store.spend.releaseUnsent(slug, prepared(answer).expiresAt);
    expect(await spentBy(agent)).toBe(2000);
    expect((await agent.update(id, { size: '0.05' })).status).toBe(200);
    expect(await spentBy(agent)).toBe(2500);
    const cancel = prepared(await agent.cancel(id));
    await chain.pauseMining(true);
    await agent.broadcast(cancel);
    await chain.mine(1);
    await agent.reaches(id, 'canceled');
    expect(await spentBy(agent)).toBe(0);
    await chain.reorg(1, true);
    await chain.pauseMining(false);
    await agent.reaches(id, 'open');
    expect(await spentBy(agent)).toBe(2500);
    await viewEqualsChain(agent);
  });
});

describe('unsent orders', () => {
  it('are fifty for each agent where the settings say nothing', () => {
    expect(orderSettings(z.object(ORDER_VARIABLES).parse({})).maxUnsent).toBe(50);
  });

  it('are as many as the settings say and no more, also when seven ask for the last three at once', async () => {
    const agent = await newAgentTrader(sandbox, chain, { usdc: '100000' });
    const ask = (wave: string, count: number) => many(count, (at) => decided(() => agent.create({ ...LIMIT, clientId: `${wave} ${at}` })));
    expect(statusesOf(await ask('first', 5))).toEqual(Array(5).fill(201));
    const refused = (await ask('second', 7)).filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(4);
    for (const answer of refused) {
      expect(refusal(answer)).toEqual([429, 'RATE_LIMITED']);
      expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    expect(await agent.openOrders()).toHaveLength(MAX_UNSENT);
  });
});

let agent: AgentTrader;

describe('one order, asked for different things at once', () => {
  beforeAll(async () => {
    agent = await newAgentTrader(sandbox, chain);
  });

  it('is filled although it was given up while it was being sent', async () => {
    await chain.pauseMining(true);
    const answer = await agent.create(MARKET);
    const id = idOf(done(answer).order);
    const hash = await agent.broadcast(prepared(answer));
    const said = await Promise.all([agent.submit(id, hash), agent.cancel(id), agent.submit(id, hash), agent.cancel(id)]);
    for (const { status } of said) expect([200, 409]).toContain(status);
    await chain.pauseMining(false);
    const filled = await agent.reaches(id, 'filled');
    expect(filled['txHash']).toBe(hash);
    await viewEqualsChain(agent);
  });

  it('closes a position once when two closes are sent', async () => {
    const position = idOf(await agent.position());
    const closes = await Promise.all([agent.close(position), agent.close(position)]);
    await chain.pauseMining(true);
    for (const close of closes) {
      const hash = await agent.broadcast({ ...prepared(close), gas: '3000000' });
      await agent.submit(idOf(done(close).order), hash);
    }
    await chain.pauseMining(false);
    const [first = '', second = ''] = closes.map((close) => idOf(done(close).order));
    await agent.reaches(first, 'filled');
    expect(await agent.reaches(second, 'rejected')).toMatchObject({ reason: 'OTHER' });
    expect(refusal(await agent.close(position))).toEqual([404, 'POSITION_NOT_FOUND']);
    await viewEqualsChain(agent);
  });

  it('is filled as it was when its changes come too late', async () => {
    const id = idOf(await agent.place({ ...LIMIT, price: '59000' }, 'open'));
    const changes = [await agent.update(id, { size: '0.03' }), await agent.update(id, { size: '0.03' })];
    sandbox.controls.prices.jump(0, '58900');
    await agent.reaches(id, 'filled');
    sandbox.controls.prices.jump(0, '60000');
    for (const change of changes) {
      const hash = await agent.broadcast({ ...prepared(change), gas: '3000000' });
      expect((await agent.trader.client.waitForTransactionReceipt({ hash })).status).toBe('reverted');
    }
    const order = await agent.order(id);
    expect(order).toMatchObject({ status: 'filled', price: '59000', size: '0.02' });
    expect(Number(order['updatedAt'])).toBeGreaterThanOrEqual(Number(order['createdAt']));
    expect(await agent.openOrders()).toEqual([]);
    await viewEqualsChain(agent);
  });
});

describe('bytes that are mined twice', () => {
  it('stay the order and its twin through reorganisations of the one, the other and both', async () => {
    const answer = await agent.create({ ...LIMIT, clientId: 'twin' });
    const id = idOf(done(answer).order);
    const mined = async (): Promise<void> => {
      await agent.broadcast(prepared(answer));
      await chain.mine(1);
    };
    const rests = (names: readonly (string | null)[]): Promise<unknown> =>
      eventually(
        async () => (await agent.openOrders()).filter(({ status }) => status === 'open').map(({ clientId }) => clientId),
        (found) => JSON.stringify(found) === JSON.stringify(names),
      );
    await chain.pauseMining(true);
    await mined();
    await rests(['twin']);
    await mined();
    await rests([null, 'twin']);
    await chain.reorg(1, true);
    await chain.mine(1);
    await rests(['twin']);
    await mined();
    await rests([null, 'twin']);
    await chain.reorg(4, true);
    await chain.mine(1);
    expect(await agent.reaches(id, 'prepared')).toMatchObject({ clientId: 'twin', txHash: null });
    await mined();
    expect(await agent.reaches(id, 'open')).toMatchObject({ clientId: 'twin' });
    await chain.pauseMining(false);
    await viewEqualsChain(agent);
  });
});
