import { systemClock } from '../../core/adapters/system/clock.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { createFaultProxy, type FaultProxy } from '../../sandbox/fault-proxy.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { createTestDatabase, type TestDatabase } from '../harness/database/test-database.js';
import { eventually } from '../harness/time/eventually.js';
import { startSecondGateway, type SecondGateway } from '../harness/venue/second-gateway.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { throughUrl } from './through-url.js';
import { movesOf, eventsAfter } from './journal-events.js';
import { MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

/** A gateway with two ways to its chain, which break while orders are in flight. */

const LIMIT = { ...MARKET, type: 'limit', price: '50000' };
const LIFE = ['- → prepared', 'prepared → pending', 'pending → filled'];

let sandbox: TestVenue;
let database: TestDatabase;
let beside: SecondGateway;
let chain: ChainControls;
let ways: [FaultProxy, FaultProxy];
let agent: AgentTrader;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  const way = (): Promise<FaultProxy> => createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
  ways = [await way(), await way()];
  database = await createTestDatabase();
  const config = { ...sandbox.config, database: { kind: 'server', url: database.url } as const };
  beside = await startSecondGateway({ ...sandbox, config }, { hosts: { rpcUrls: ways.map(({ url }) => url) } });
  await isReady();
});
beforeEach(async () => {
  agent = await newAgentTrader(
    throughUrl(sandbox, () => beside.url),
    chain,
  );
});
afterEach(async () => {
  for (const way of ways) way.set({ mode: 'ok' });
  chain.setOraclePolicy(null, { mode: 'auto' });
  await isReady();
});
afterAll(async () => {
  await beside.stop();
  await database.drop();
  for (const way of ways) await way.close();
  await sandbox.stop();
});

const isReady = () =>
  eventually(
    () => beside.get('/ready'),
    ({ status }) => status === 200,
  );
const viewEqualsChain = () => expectViewEqualsChain(beside.gateway, chain.definition.slug, agent.trader);
const idOf = (order: Json): string => String(order['id']);
const answered = () =>
  eventually(
    () => agent.trader.pending(),
    (pending) => pending === 0,
  );

describe('while orders are in flight', () => {
  it.each([
    ['first', 0],
    ['second', 1],
  ] as const)('the %s node goes down and comes back, and every order goes its way once', async (_which, at) => {
    chain.setOraclePolicy(null, { mode: 'hold' });
    const waiting = idOf(await agent.place(MARKET, 'pending'));
    const unsent = await agent.create(MARKET);
    ways[at].set({ mode: 'down' });
    const meanwhile = await agent.create(MARKET);
    await agent.send(prepared(unsent));
    await agent.send(prepared(meanwhile));
    chain.setOraclePolicy(null, { mode: 'auto' });
    const ids = [waiting, idOf(done(unsent).order), idOf(done(meanwhile).order)];
    for (const id of ids) await agent.reaches(id, 'filled');
    await viewEqualsChain();
    ways[at].set({ mode: 'ok' });
    const resting = idOf(await agent.place(LIMIT, 'open'));
    ways[at].set({ mode: 'down' });
    await agent.send(prepared(await agent.cancel(resting)));
    await agent.reaches(resting, 'canceled');
    const events = await eventsAfter(agent, 0);
    for (const id of ids) expect(movesOf(events, id)).toEqual(LIFE);
    expect(events.filter(({ kind }) => kind === 'fill')).toHaveLength(ids.length);
    expect(events.filter(({ kind }) => kind === 'correction')).toEqual([]);
    await viewEqualsChain();
  });

  it('one node after the other goes down, then both: nothing is prepared, and no event is missed', async () => {
    const before = idOf(await agent.place(MARKET, 'filled'));
    const unsent = await agent.create(MARKET);
    chain.setOraclePolicy(null, { mode: 'hold' });
    ways[0].set({ mode: 'down' });
    await agent.send(prepared(unsent));
    await agent.reaches(idOf(done(unsent).order), 'pending');
    ways[1].set({ mode: 'down' });
    expect(refusal(await agent.create({ ...MARKET, clientId: 'dark' }))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
    chain.setOraclePolicy(null, { mode: 'auto' });
    await answered();
    expect(await agent.order(idOf(done(unsent).order))).toMatchObject({ status: 'pending' });
    ways[1].set({ mode: 'ok' });
    await agent.reaches(idOf(done(unsent).order), 'filled');
    const events = await eventsAfter(agent, 0);
    for (const id of [before, idOf(done(unsent).order)]) expect(movesOf(events, id)).toEqual(LIFE);
    expect(new Set(events.filter(({ kind }) => kind === 'order').map(({ data }) => data['id'])).size).toBe(2);
    await viewEqualsChain();
  });

  it('the node breaks off in the middle of a question, and the other answers it: one order, not two', async () => {
    let broken = 0;
    const release = ways.map((way) =>
      way.onRequest((body) => {
        const isRehearsal = Array.isArray(body) && body.some((item: { method?: string }) => item.method === 'eth_estimateGas');
        if (!isRehearsal || broken > 0) return undefined;
        broken += 1;
        return 'forget';
      }),
    );
    try {
      const made = done(await agent.create({ ...MARKET, clientId: 'once' }));
      expect(broken).toBe(1);
      expect(idOf(done(await agent.create({ ...MARKET, clientId: 'once' })).order)).toBe(idOf(made.order));
      if (made.transaction) await agent.send(made.transaction);
      await agent.reaches(idOf(made.order), 'filled');
      expect(movesOf(await eventsAfter(agent, 0), idOf(made.order))).toEqual(LIFE);
      await viewEqualsChain();
    } finally {
      for (const end of release) end();
    }
  });

  it('both nodes fail at every third question, and the view is the chain’s in the end', async () => {
    for (const way of ways) way.set({ mode: 'flaky', errorShare: 0.33 });
    const ids: string[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const clientId = `flaky-${turn}`;
      const answer = await eventually(
        () => agent.create({ ...MARKET, clientId }),
        ({ status }) => status === 200 || status === 201,
      );
      ids.push(idOf(done(answer).order));
      await agent.send(prepared(answer));
    }
    await answered();
    for (const id of ids) await agent.reaches(id, 'filled');
    for (const way of ways) way.set({ mode: 'ok' });
    await viewEqualsChain();
    const events = await eventsAfter(agent, 0);
    for (const id of ids) expect(movesOf(events, id)).toEqual(LIFE);
    expect(new Set(ids).size).toBe(6);
  });
});
