import type { ChainControls } from '../../sandbox/controls.js';
import { agentTrader, done, newAgentTrader, prepared, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { newTrader } from '../harness/traders/chain-trader.js';
import { diamondCall, packed } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { ORDER_ROWS, type WalkName } from './lifecycle-table.js';
import { throughUrl } from './through-url.js';
import { movesOf, eventsAfter } from './journal-events.js';

/** Every row of the life of an order, walked over HTTP by an agent that signs and broadcasts itself. */

const [BTC, ETH, SOL] = [0, 1, 2];
const TIMEOUT_BLOCKS = 200;
const LIMIT_OPEN = 2;
const SLIPPAGE = 3;
const market = (name: string, size: string): Json => ({ market: name, side: 'long', type: 'market', size, leverage: '10' });
const ON_BTC = market('BTC/USD', '0.02');
const ON_ETH = market('ETH/USD', '0.4');
const ON_SOL = market('SOL/USD', '8');

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
});
beforeEach(async () => {
  sandbox.controls.prices.jump(BTC, '60000');
  sandbox.controls.prices.jump(ETH, '3000');
  sandbox.controls.prices.jump(SOL, '150');
  agent = await newAgentTrader(sandbox, chain);
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const idOf = (order: Json): string => String(order['id']);

/** Each brings orders of the agent where its rows say, and names them. */
const WALKS: Readonly<Record<WalkName, () => Promise<string[]>>> = {
  async executed() {
    return [idOf(await agent.place(ON_BTC, 'filled'))];
  },

  async expired() {
    const config = { ...sandbox.config, orders: { ...sandbox.config.orders, preparedMs: 1_000 } };
    const beside = await startSecondGateway({ ...sandbox, config });
    try {
      const hasty = agentTrader(
        throughUrl(sandbox, () => beside.url),
        chain,
        agent.trader,
        agent.wallet,
      );
      const wishes = [ON_BTC, { ...ON_ETH, type: 'limit', price: '2000' }, { ...ON_SOL, clientId: 'again' }];
      const [requested, rested, renewed] = await Promise.all(
        wishes.map(async (wish) => {
          const answer = await eventually(
            () => hasty.create(wish),
            ({ status }) => status === 201, // the feed of a gateway that just started may know no price yet
          );
          return { id: idOf(done(answer).order), transaction: prepared(answer) };
        }),
      );
      if (!requested || !rested || !renewed) throw new Error('an order is missing');
      for (const { id } of [requested, rested, renewed]) expect((await agent.reaches(id, 'expired'))['txHash']).toBeNull();
      await agent.send(requested.transaction);
      await agent.reaches(requested.id, 'filled');
      await agent.send(rested.transaction);
      await agent.reaches(rested.id, 'open');
      const afresh = done(await agent.create({ ...ON_SOL, clientId: 'again' }));
      expect(afresh.order).toMatchObject({ id: renewed.id, status: 'prepared' });
      return [requested.id, rested.id, renewed.id];
    } finally {
      await beside.stop();
    }
  },

  async late() {
    chain.setOraclePolicy(null, { mode: 'hold' });
    const ids: string[] = [];
    for (const wish of [ON_BTC, ON_ETH, ON_SOL]) ids.push(idOf(await agent.place(wish, 'pending')));
    const [filled = '', rejected = '', reclaimed = ''] = ids;
    await chain.mine(TIMEOUT_BLOCKS);
    for (const id of ids) await agent.reaches(id, 'timed_out');
    await agent.send(prepared(await agent.cancel(reclaimed)));
    await agent.reaches(reclaimed, 'canceled');
    chain.setOraclePolicy(BTC, { mode: 'auto' });
    chain.setOraclePolicy(ETH, { mode: 'reject', reason: SLIPPAGE });
    expect((await agent.reaches(filled, 'filled'))['fill']).not.toBeNull();
    expect(await agent.reaches(rejected, 'rejected')).toMatchObject({ reason: 'SLIPPAGE', fill: null });
    return ids;
  },

  async triggered() {
    const limit = idOf(await agent.place({ ...ON_ETH, type: 'limit', price: '2990' }, 'open'));
    const stop = idOf(await agent.place({ ...ON_ETH, type: 'stop', price: '3010' }, 'open'));
    await viewEqualsChain();
    sandbox.controls.prices.jump(ETH, '2985');
    await agent.reaches(limit, 'filled');
    expect((await agent.order(stop))['status']).toBe('open');
    sandbox.controls.prices.jump(ETH, '3012');
    await agent.reaches(stop, 'filled');
    expect((await agent.trader.trades()).map(({ index }) => index)).toEqual([2, 3]);
    return [limit, stop];
  },

  async 'tried in vain'() {
    const id = idOf(await agent.place({ ...ON_ETH, type: 'limit', price: '2990' }, 'open'));
    const keeper = await newTrader(chain);
    await keeper.send(chain.definition.diamond, diamondCall('triggerOrder', [packed(LIMIT_OPEN, agent.trader.account.address, 0)]));
    await keeper.event('TriggerOrderCanceled');
    await viewEqualsChain();
    expect(await agent.order(id)).toMatchObject({ status: 'open', reason: null });
    sandbox.controls.prices.jump(ETH, '2985');
    await agent.reaches(id, 'filled');
    return [id];
  },
};

const walks = Object.entries(WALKS).map(([name, walk]): [string, string[], () => Promise<string[]>] => [
  name,
  ORDER_ROWS.flatMap(({ proof, move }) => (proof === name && move !== null ? [move] : [])),
  walk,
]);

describe('an order of an agent', () => {
  it.each(walks)('that is %s goes %j', async (_name, promised, walk) => {
    const ids = await walk();
    await viewEqualsChain();
    const events = await eventsAfter(agent, 0);
    expect(ids.flatMap((id) => movesOf(events, id))).toEqual(expect.arrayContaining(promised));
    expect(events.map(({ cursor }) => cursor)).toEqual(events.map((_, at) => (events[0]?.cursor ?? 0) + at));
  });
});

describe('a position of an agent', () => {
  it.each([
    ['take profit', { tp: '156' }, '157', 'tp'],
    ['stop loss', { sl: '146' }, '145', 'sl'],
    ['liquidation', {}, '120', 'liquidation'],
  ])('is closed by its %s', async (_what, levels, moves, action) => {
    await agent.place({ ...ON_SOL, ...levels }, 'filled');
    await agent.position();
    sandbox.controls.prices.jump(SOL, moves);
    const fills = await eventually(
      async () => (await agent.call('listFills', 'GET', `/account/${agent.trader.account.address}/fills`)).body['data'] as Json[],
      (all) => all.length === 2,
    );
    expect(fills.map((fill) => fill['action'])).toEqual([action, 'open']);
    expect(await agent.positions()).toEqual([]);
    await viewEqualsChain();
  });
});
