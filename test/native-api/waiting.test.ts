import { getEventListeners } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { Clock } from '../../core/ports/clock.js';
import { MAX_WAIT_SECONDS } from '../../core/trading/wait-for-order.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Answer, type Json } from '../harness/traders/agent-trader.js';
import { eventually, until } from '../harness/time/eventually.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';
import { signRequest } from '../harness/traders/signed-request.js';

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let stranger: AgentTrader;
let giveBack = (): void => undefined;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  agent = await newAgentTrader(sandbox, chain, { usdc: '1000000' });
  stranger = await newAgentTrader(sandbox, chain);
});
beforeEach(() => {
  chain.setOraclePolicy(null, { mode: 'auto' });
  sandbox.controls.prices.jump(0, '60000');
});
/** The time a request waits at most does not pass: on a busy machine what it waits for may take longer. */
beforeAll(() => {
  const standing = createManualClock();
  const usual = { ...sandbox.clock };
  const sleep: Clock['sleep'] = (ms, signal) => (ms === MAX_WAIT_SECONDS * 1_000 ? standing : usual).sleep(ms, signal);
  Object.assign(sandbox.clock, { sleep });
  giveBack = () => void Object.assign(sandbox.clock, usual);
});
afterAll(() => {
  giveBack();
  return sandbox.stop();
});

const order = (changes: Json = {}): Json => ({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.01', leverage: '10', ...changes });

const ask = (id: unknown, prefer: string, of = agent): Promise<Answer> =>
  of.call('getOrder', 'GET', `/orders/${String(id)}`, undefined, { Prefer: prefer });

/** An order that waits for an oracle which is asleep. */
async function pending(of = agent): Promise<string> {
  chain.setOraclePolicy(null, { mode: 'hold' });
  return String((await of.place(order(), 'pending'))['id']);
}

describe('a request that would rather wait', () => {
  it('is answered after its time with what is known, before it when the order is filled, and not at all where its wish cannot be read', async () => {
    const id = await pending();
    for (const wait of ['wait=1', 'wait=0']) {
      const { body, headers } = await ask(id, wait);
      expect([body['status'], headers.get('preference-applied')]).toEqual(['pending', wait]);
    }
    for (const prefer of ['wait', 'respond-async', ';;;']) {
      const { status, headers } = await ask(id, prefer);
      expect([status, headers.get('preference-applied')]).toEqual([200, null]);
    }
    expect(refusal(await ask(id, 'wait=8', stranger))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(refusal(await ask('999999999', 'wait=8'))).toEqual([404, 'ORDER_NOT_FOUND']);
    const waiting = ask(id, 'wait=3600'); // never longer than eight seconds
    chain.setOraclePolicy(null, { mode: 'auto' });
    const { status, body, headers } = await waiting;
    expect([status, body['status'], headers.get('preference-applied')]).toEqual([200, 'filled', 'wait=8']);
  });

  it('is answered when the order is rejected', async () => {
    const id = await pending();
    const waiting = ask(id, 'wait=8');
    chain.setOraclePolicy(null, { mode: 'reject', reason: 7 });
    expect((await waiting).body).toMatchObject({ status: 'rejected', reason: 'PRICE_IMPACT' });
  });

  it('is answered when the order rests, from before it was sent', async () => {
    const { order: made, transaction } = done(await agent.create(order({ type: 'limit', price: '40000' })));
    if (transaction === null) throw new Error('there is nothing to send');
    const waiting = ask(made['id'], 'wait=8');
    await agent.send(transaction);
    expect((await waiting).body['status']).toBe('open');
    const again = await ask(made['id'], 'wait=8');
    expect([again.body['status'], again.headers.get('preference-applied')]).toEqual(['open', 'wait=8']);
    await agent.send(prepared(await agent.cancel(String(made['id']))));
  });

  it('holds no connection to the database, and beyond sixteen of an agent is answered at once', async () => {
    const id = await pending();
    const atOnce: unknown[] = [];
    const listeners = (): number => getEventListeners(sandbox.gateway.stopping, 'abort').length;
    const before = listeners();
    const waiting = Array.from({ length: 20 }, async () => {
      const { headers, body } = await ask(id, 'wait=8');
      const said = `${headers.get('preference-applied') ?? 'no wait'}: ${String(body['status'])}`;
      atOnce.push(said);
      return said;
    });
    await until(() => atOnce.length === 4);
    expect((await stranger.openOrders()).length).toBe(0);
    expect(atOnce).toEqual(Array.from({ length: 4 }, () => 'no wait: pending'));
    chain.setOraclePolicy(null, { mode: 'auto' });
    expect((await Promise.all(waiting)).filter((said) => said === 'wait=8: filled')).toHaveLength(16);
    expect(listeners()).toBe(before);
    expect((await ask(id, 'wait=8')).headers.get('preference-applied')).toBe('wait=8');
  });

  it('is answered by a gateway that does not follow the chain itself, without its connection to the journal, and with what is known when it ends', async () => {
    const beside = await startSecondGateway(sandbox, { clock: sandbox.clock });
    const client = await venueDatabase(sandbox);
    try {
      // A service that has just begun may have to connect first, and say so.
      await eventually(
        () => beside.get('/ready'),
        ({ status }) => status === 200,
      );
      const asked = async (id: string): Promise<Response> => {
        const path = `/v1/${CHAIN}/orders/${id}`;
        const headers = await signRequest(agent.wallet, chain.definition, { operationId: 'getOrder', method: 'GET', path });
        return fetch(`${beside.url}${path}`, { headers: { ...headers, Prefer: 'wait=8' } });
      };
      const first = await pending();
      const filled = asked(first);
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'diamond-gateway journal'`,
      );
      chain.setOraclePolicy(null, { mode: 'auto' });
      expect(await (await filled).json()).toMatchObject({ id: first, status: 'filled' });

      const second = await pending();
      const said: string[] = [];
      const waiting = Array.from({ length: 20 }, async () => {
        const response = await eventually(
          () => asked(second),
          ({ status }) => beside.gateway.stopping.aborted || status !== 503,
        );
        const { status, code } = (await response.json()) as Json;
        said.push(`${response.headers.get('preference-applied') ?? 'no wait'}: ${response.status}`);
        return status ?? code;
      });
      await until(() => said.length === 4);
      await beside.stop();
      expect(new Set(await Promise.all(waiting))).toEqual(new Set(['pending']));
      expect(said.slice(4)).toEqual(Array.from({ length: 16 }, () => 'wait=8: 200'));
    } finally {
      await client.end();
      await beside.stop();
    }
  });

  it('leaves its place when the client goes away', async () => {
    const own = stranger;
    const id = await pending(own);
    let atOnce = 0;
    const clients = await Promise.all(Array.from({ length: 20 }, () => callAndForget(own, id, () => (atOnce += 1))));
    await until(() => atOnce === 4);
    expect((await ask(id, 'wait=0', own)).headers.get('preference-applied')).toBeNull();
    for (const client of clients) client.destroy();
    await eventually(
      () => ask(id, 'wait=0', own),
      ({ headers }) => headers.get('preference-applied') === 'wait=0',
    );
  });
});

/** A client that does not stay for its answer. */
async function callAndForget(of: AgentTrader, id: string, onAnswer: () => void) {
  const path = `/v1/${CHAIN}/orders/${id}`;
  const headers = await signRequest(of.wallet, chain.definition, { operationId: 'getOrder', method: 'GET', path });
  const client = httpRequest(`${sandbox.url}${path}`, { headers: { ...headers, Prefer: 'wait=8' } });
  client.on('error', () => undefined).on('response', onAnswer);
  client.end();
  return client;
}

describe('a report of a transaction', () => {
  it('is answered with the filled order when its sender would rather wait', async () => {
    const { order: made, transaction } = done(await agent.create(order()));
    if (transaction === null) throw new Error('there is nothing to send');
    const hash = await agent.broadcast(transaction);
    const { status, body, headers } = await agent.submit(String(made['id']), hash, 8);
    expect([status, body['status'], headers.get('preference-applied')]).toEqual([200, 'filled', 'wait=8']);
  });
});
