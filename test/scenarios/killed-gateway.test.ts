import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, type AgentTrader, type Json, type Prepared } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { diamondCall } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { createGatewayProcess, type GatewayProcess } from './gateway-process.js';
import { movesOf, eventsAfter, type JournalEvent } from './journal-events.js';

/** A gateway that is killed between any two steps of an order's life, while the chain goes on without it. */

const [BTC, ETH, SOL, LINK] = [0, 1, 2, 4];
/** `npm run test:slow` kills it at more steps and in more rounds. */
const isSlow = process.env['SLOW_TESTS'] === '1';
const ROUNDS = isSlow ? 3 : 1;
const TIMEOUT_BLOCKS = 200;
const SLIPPAGE = 3;
const ORDERS: Readonly<Record<string, Json>> = {
  executed: { market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10', tp: '61000' },
  refused: { market: 'SOL/USD', side: 'short', type: 'market', size: '8', leverage: '10' },
  reclaimed: { market: 'LINK/USD', side: 'long', type: 'market', size: '90', leverage: '10' },
  triggered: { market: 'ETH/USD', side: 'long', type: 'limit', price: '2000', size: '0.6', leverage: '10' },
  canceled: { market: 'ETH/USD', side: 'long', type: 'limit', price: '1900', size: '0.6', leverage: '10' },
};

let sandbox: TestVenue;
let chain: ChainControls;
let gateway: GatewayProcess;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_BLOCK_MS: '100' });
  chain = firstChain(sandbox);
  gateway = await createGatewayProcess(sandbox);
});
beforeEach(() => {
  const { prices } = sandbox.controls;
  prices.jump(BTC, '60000');
  prices.jump(ETH, '3000');
  prices.jump(SOL, '150');
  prices.jump(LINK, '14');
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(async () => {
  await gateway.stop();
  await sandbox.stop();
});

const newAgent = (): Promise<AgentTrader> => newAgentTrader(gateway.front, chain);
const viewEqualsChain = ({ trader }: AgentTrader) => expectViewEqualsChain(gateway.books, chain.definition.slug, trader);
const idOf = (order: Json): string => String(order['id']);
const history = async (agent: AgentTrader): Promise<Json[]> =>
  (await agent.call('listOrderHistory', 'GET', `/account/${agent.trader.account.address}/orders/history?limit=100`)).body['data'] as Json[];

/** No block comes meanwhile, so that no request runs out of time on a slow machine. */
async function frozen<Result>(act: () => Promise<Result>): Promise<Result> {
  await chain.pauseMining(true);
  try {
    return await act();
  } finally {
    await chain.pauseMining(false);
  }
}

/** The gateway is stopped meanwhile, though only in the slow run. */
async function deadInSlowRun(act: () => Promise<unknown>): Promise<void> {
  await (isSlow ? gateway.deadWhile(act) : act());
}

/** A client that reads nothing while the gateway is stopped, and goes on from its last cursor. */
function sleeper(agent: AgentTrader) {
  const received: JournalEvent[] = [];
  return {
    received,
    async wake(): Promise<void> {
      received.push(...(await eventsAfter(agent, received.at(-1)?.cursor ?? 0, 7)));
    },
  };
}

interface Kept {
  readonly id: string;
  readonly transaction: Prepared;
}

/** Each under its own name as clientId. */
async function prepareAll(agent: AgentTrader): Promise<Map<string, Kept>> {
  const made = new Map<string, Kept>();
  for (const [clientId, wish] of Object.entries(ORDERS)) {
    const answer = await agent.create({ ...wish, clientId });
    made.set(clientId, { id: idOf(done(answer).order), transaction: prepared(answer) });
  }
  return made;
}

describe('a gateway that is killed', () => {
  it('between any two steps of an order reads everything from the chain, under the same ids and cursors', async () => {
    const agent = await newAgent();
    const client = sleeper(agent);
    const made = await prepareAll(agent);
    const idNamed = (name: string): string => made.get(name)?.id ?? 'none';
    const statuses = async (): Promise<Json> => {
      const found = new Map((await history(agent)).map((order) => [order['id'], order['status']]));
      return Object.fromEntries([...made].map(([name, { id }]) => [name, found.get(id)]));
    };
    const become = (expected: Json): Promise<Json> => eventually(statuses, (seen) => JSON.stringify(seen) === JSON.stringify(expected));
    const whole = { executed: 'prepared', refused: 'prepared', reclaimed: 'prepared', triggered: 'prepared', canceled: 'prepared' };
    chain.setOraclePolicy(null, { mode: 'hold' });

    await frozen(async () => {
      await deadInSlowRun(async () => {
        for (const { transaction } of made.values()) await agent.broadcast(transaction);
      });
      await become(whole);
      const again = done(await agent.create({ ...ORDERS['executed'], clientId: 'executed' }));
      expect(again.order['id']).toBe(idNamed('executed'));
      await client.wake();
      await gateway.kill();
    });
    await eventually(
      () => agent.trader.pending(),
      (pending) => pending === 3,
    );
    const changes = await frozen(async () => {
      await gateway.start();
      await become({ executed: 'pending', refused: 'pending', reclaimed: 'pending', triggered: 'open', canceled: 'open' });
      await viewEqualsChain(agent);
      await client.wake();
      const [moved, withdrawn] = [await agent.update(idNamed('triggered'), { price: '2950' }), await agent.cancel(idNamed('canceled'))];
      await gateway.kill();
      return [prepared(moved), prepared(withdrawn)];
    });

    await gateway.deadWhile(async () => {
      for (const change of changes) await agent.send(change);
      chain.setOraclePolicy(BTC, { mode: 'auto' });
      chain.setOraclePolicy(SOL, { mode: 'reject', reason: SLIPPAGE });
      await eventually(
        () => agent.trader.pending(),
        (pending) => pending === 1,
      );
      await chain.mine(TIMEOUT_BLOCKS);
    });
    await become({ executed: 'filled', refused: 'rejected', reclaimed: 'timed_out', triggered: 'open', canceled: 'canceled' });
    expect(await agent.order(idNamed('triggered'))).toMatchObject({ price: '2950' });
    expect(await agent.order(idNamed('refused'))).toMatchObject({ reason: 'SLIPPAGE' });
    await viewEqualsChain(agent);
    await client.wake();
    const [position] = await agent.positions();

    await gateway.deadWhile(async () => {
      sandbox.controls.prices.jump(ETH, '2940');
      sandbox.controls.prices.jump(BTC, '61500');
      await agent.trader.event('LimitExecuted');
      await eventually(
        () => agent.trader.trades(),
        (trades) => trades.length === 1 && trades[0]?.tradeType === 0 && trades[0].pairIndex === ETH,
      );
    });
    await become({ executed: 'filled', refused: 'rejected', reclaimed: 'timed_out', triggered: 'filled', canceled: 'canceled' });
    const [left, ...others] = await agent.positions();
    expect([left?.['market'], others]).toEqual(['ETH/USD', []]);
    expect(left?.['id']).not.toBe(position?.['id']);
    await viewEqualsChain(agent);
    await client.wake();

    const before = [await history(agent), (await agent.positions()).map(({ id }) => id)];
    await deadInSlowRun(() => chain.mine(3));
    expect([await history(agent), (await agent.positions()).map(({ id }) => id)]).toEqual(before);
    expect((await history(agent)).map(({ id }) => id).sort()).toEqual([...made.values()].map(({ id }) => id).sort());
    await client.wake();
    expect(client.received).toEqual(await eventsAfter(agent, 0));
    expect(client.received.map(({ cursor }) => cursor)).toEqual(client.received.map((_, at) => at + 1));
  }, 300_000);

  it('while it prepares has one order of each clientId afterwards, and finds what was reclaimed while it was dead', async () => {
    const agent = await newAgent();
    const before = await agent.trader.usdc();
    chain.setOraclePolicy(null, { mode: 'hold' });
    const reclaimed = idOf(await agent.place(ORDERS['reclaimed'] ?? {}, 'pending'));
    const wishes = Array.from({ length: 6 }, (_, at) => ({ ...ORDERS['triggered'], clientId: `broken-off-${at}` }));
    const answers = wishes.map((wish) => agent.create(wish).catch(() => null)); // a request that is cut off gets no answer
    await Promise.race(answers);
    await gateway.deadWhile(async () => {
      await Promise.all(answers);
      await chain.mine(TIMEOUT_BLOCKS);
      await agent.trader.send(chain.definition.diamond, diamondCall('cancelOrderAfterTimeout', [0]));
    });
    await agent.reaches(reclaimed, 'canceled');
    expect(await agent.trader.usdc()).toBe(before);
    const again = await Promise.all([...wishes, ...wishes].map((wish) => agent.create(wish)));
    const ids = [...new Set(again.map((answer) => idOf(done(answer).order)))];
    expect(ids).toHaveLength(wishes.length);
    const events = await eventsAfter(agent, 0);
    expect(movesOf(events, reclaimed)).toEqual(['- → prepared', 'prepared → pending', 'pending → canceled']);
    const orderEvents = events.filter(({ kind }) => kind === 'order').map(({ data }) => idOf(data));
    expect(orderEvents.filter((id) => id !== reclaimed).sort()).toEqual(ids.sort());
    await viewEqualsChain(agent);
  });

  it('again and again while orders are in flight loses and doubles none of them', async () => {
    const agent = await newAgent();
    const client = sleeper(agent);
    chain.setOraclePolicy(null, { mode: 'auto', delayMs: 20 });
    const ids: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 3 }, () => agent.create({ ...ORDERS['executed'], size: '0.01', tp: '90000' })),
      );
      for (const answer of answers) {
        ids.push(idOf(done(answer).order));
        await agent.broadcast(prepared(answer));
      }
      await gateway.deadWhile(() => Promise.resolve()); // wherever it was with the blocks of these
      await client.wake();
    }
    await eventually(
      () => history(agent),
      (orders) => orders.every(({ status }) => status === 'filled'),
    );
    await viewEqualsChain(agent);
    await client.wake();
    expect((await history(agent)).map(idOf).sort()).toEqual(ids.sort());
    expect(client.received.filter(({ kind }) => kind === 'fill')).toHaveLength(ids.length);
    expect(client.received).toEqual(await eventsAfter(agent, 0));
  });
});
