import { Wallet } from 'ethers';
import type pg from 'pg';
import { systemClock } from '../../core/adapters/system/clock.js';
import { formatDecimal } from '../../core/domain/decimal.js';
import { utcDay } from '../../core/domain/agent.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { createFaultProxy } from '../../sandbox/fault-proxy.js';
import { agentTrader, done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { cutOff } from '../harness/database/cut-waiting.js';
import { eventually } from '../harness/time/eventually.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { agentsOf, authorization, domainOf, EVERYTHING, signWith } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let database: pg.Client;

beforeAll(async () => {
  sandbox = await startOwnVenue({ PREPARED_SECONDS: '2', RATE_LIMIT_AGENT: '100000', RATE_LIMIT_AGENT_WRITES: '100000' });
  chain = firstChain(sandbox);
  agent = await newAgentTrader(sandbox, chain);
  database = await venueDatabase(sandbox);
});
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});

const limit = (changes: Json = {}): Json => ({
  market: 'BTC/USD',
  side: 'long',
  type: 'limit',
  price: '40000',
  size: '0.01',
  leverage: '10',
  ...changes,
});

/** Rows about the trader, wherever an order leaves some. */
async function traces({ trader }: AgentTrader): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const table of ['orders', 'chain_events', 'spend_reservations', 'journal']) {
    const { rows } = await database.query<{ count: string }>(`select count(*) from ${table} where trader = $1`, [
      trader.account.address.toLowerCase(),
    ]);
    found[table] = Number(rows[0]?.count);
  }
  return found;
}

describe('a node that is down while an order is prepared', () => {
  it('is a 502 that leaves nothing behind, and the same request goes through when it is back', async () => {
    const own = await newAgentTrader(sandbox, chain);
    const before = await traces(own);
    chain.setRpcFault({ mode: 'down' });
    try {
      const refused = await own.create(limit({ clientId: 'patience' }));
      expect(refusal(refused)).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
      expect(await traces(own)).toEqual(before);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    expect((await own.create(limit({ clientId: 'patience' }))).status).toBe(201);
    expect((await traces(own))['orders']).toBe((before['orders'] ?? 0) + 1);
  });
});

describe('a database that goes away while an order is stored', () => {
  it('is a 503 that leaves nothing half written', async () => {
    const own = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, dailySpendCapUsd: '1000000' } });
    const before = await traces(own);
    expect(await cutOff(database, 'orders', () => own.create(limit()))).toMatchObject({
      status: 503,
      body: { code: 'NOT_READY', details: { reason: 'the database does not answer' } },
    });
    expect(await traces(own)).toEqual(before);
    expect((await own.create(limit())).status).toBe(201);
  });
});

describe('a prepared order that was not sent in time', () => {
  it('expires, and its clientId gets a fresh transaction under the old id', async () => {
    const first = done(await agent.create(limit({ clientId: 'late' })));
    const id = String(first.order['id']);
    await agent.reaches(id, 'expired');
    const again = done(await agent.create(limit({ clientId: 'late' })));
    expect(again.order).toMatchObject({ id, status: 'prepared', createdAt: first.order['createdAt'] });
    expect(again.transaction?.data).not.toBe(first.transaction?.data);
    expect(again.transaction?.expiresAt).toBeGreaterThan(first.transaction?.expiresAt ?? 0);
    await agent.send(prepared({ status: 201, headers: new Headers(), body: { ...again } }));
    await agent.reaches(id, 'open');
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
  });

  it('is taken over by another agent of its trader who asks for it, on that one’s account', async () => {
    const { sandbox: patient, chain: calm } = await tradingVenue(); // on the other one an order may expire between two lines
    const [scope, { slug }] = [{ ...EVERYTHING, dailySpendCapUsd: '1000' }, calm.definition];
    const first = await newAgentTrader(patient, calm, { scope });
    const [{ trader }, domain] = [first, await domainOf(patient, slug)];
    const own = new Wallet(trader.privateKey);
    const body = await authorization(domain, signWith(own, domain), { trader: own.address, agent: own.address, scope });
    expect((await agentsOf(patient, slug).create(body)).status).toBe(201);
    const second = agentTrader(patient, calm, trader, own);
    const lower = ({ address }: Wallet) => address.toLowerCase() as `0x${string}`;
    const spentBy = async ({ wallet }: AgentTrader): Promise<string> => {
      const account = { chain: slug, agent: lower(wallet), trader: lower(own), day: utcDay(Date.now()) };
      return formatDecimal(await patient.gateway.store.spend.spent(account));
    };

    const made = done(await first.create(limit({ clientId: 'inherited' })));
    const id = String(made.order['id']);
    expect([await spentBy(first), await spentBy(second)]).toEqual(['400', '0']);
    expect(done(await second.create(limit({ clientId: 'inherited' }))).transaction).toBeNull();
    await patient.gateway.store.orders.expire(slug, made.transaction?.expiresAt ?? 0);
    await first.reaches(id, 'expired');
    const taken = await second.create(limit({ clientId: 'inherited' }));
    expect(done(taken).order).toMatchObject({ id, status: 'prepared' });
    expect([await spentBy(first), await spentBy(second)]).toEqual(['0', '400']);
    await second.send(prepared(taken));
    await second.reaches(id, 'open');
    await expectViewEqualsChain(patient.gateway, slug, trader);
    await patient.stop();
  });

  it('is the same order still when its first transaction lands after all', async () => {
    const { order, transaction } = done(await agent.create(limit({ price: '41000' })));
    const id = String(order['id']);
    await agent.reaches(id, 'expired');
    if (transaction === null) throw new Error('there is nothing to send');
    await agent.send(transaction);
    expect(await agent.reaches(id, 'open')).toMatchObject({ id, expiresAt: null });
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
  });
});

describe('preparing an order', () => {
  it('asks the node exactly once, by an agent and by the trader itself', async () => {
    const proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
    const beside = await startSecondGateway(sandbox, { hosts: { rpcUrls: [proxy.url] } });
    try {
      const venue = {
        ...sandbox,
        async call(path: string, init?: RequestInit) {
          const response = await fetch(`${beside.url}${path}`, init);
          return { status: response.status, headers: response.headers, body: await response.json() };
        },
      };
      for (const own of [agent, await newAgentTrader(sandbox, chain, { self: true })]) {
        const visitor = agentTrader(venue, chain, own.trader, own.wallet);
        const [market, resting] = [limit({ type: 'market', price: undefined }), limit()];
        // A market order needs a live price too, which the second gateway may get later than all else.
        await eventually(
          () => visitor.create(market),
          ({ status }) => status === 201,
        );
        const about = own.trader.account.address.slice(2).toLowerCase();
        const asked: string[] = [];
        const end = proxy.onRequest((body) => {
          const text = JSON.stringify(body).toLowerCase();
          if (text.includes(about)) asked.push(text);
          return undefined;
        });
        for (const order of [market, resting]) expect((await visitor.create(order)).status).toBe(201);
        end();
        expect(asked).toHaveLength(2);
        for (const text of asked) for (const method of ['eth_call', 'eth_estimategas']) expect(text).toContain(method);
      }
    } finally {
      await beside.stop();
      await proxy.close();
    }
  });
});
