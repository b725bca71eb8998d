import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import type pg from 'pg';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { createFaultProxy } from '../../sandbox/fault-proxy.js';
import {
  agentTrader,
  decided,
  done,
  newAgentTrader,
  prepared,
  refusal,
  type AgentTrader,
  type Json,
} from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { operatorOf } from '../harness/venue/operator.js';
import { cutOff } from '../harness/database/cut-waiting.js';
import { eventually } from '../harness/time/eventually.js';
import { startSecondGateway, type SecondGatewayOptions } from '../harness/venue/second-gateway.js';
import { agentsOf, authorization, domainOf, EVERYTHING, signWith, type ScopeBody } from '../harness/traders/master-wallet.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { LIMIT, MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let database: pg.Client;
let position: string;
let resting: string;
let alsoResting: string;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  database = await venueDatabase(sandbox);
  agent = await newAgentTrader(sandbox, chain);
  await agent.place(MARKET, 'filled');
  position = String((await agent.position())['id']);
  [resting, alsoResting] = [await rests(), await rests()];
});
const rests = async (): Promise<string> => String((await agent.place(LIMIT, 'open'))['id']);

afterAll(async () => {
  await database.end();
  await sandbox.stop();
});

/** The same agent, asking another gateway of the same venue. */
async function beside<Result>(options: SecondGatewayOptions, work: (visitor: AgentTrader) => Promise<Result>): Promise<Result> {
  const other = await startSecondGateway(sandbox, options);
  try {
    await eventually(
      () => other.get('/ready'),
      ({ status }) => status === 200,
    );
    const venue = {
      ...sandbox,
      async call(path: string, init?: RequestInit) {
        const response = await fetch(`${other.url}${path}`, init);
        return { status: response.status, headers: response.headers, body: await response.json() };
      },
    };
    return await work(agentTrader(venue, chain, agent.trader, agent.wallet));
  } finally {
    await other.stop();
  }
}

const WRITES: readonly (readonly [string, (of: AgentTrader) => ReturnType<AgentTrader['close']>])[] = [
  ['a change of price', (of) => of.update(resting, { price: '49000' })],
  ['a change of size', (of) => of.update(alsoResting, { size: '0.03' })],
  ['a cancel', (of) => of.cancel(resting)],
  ['a close', (of) => of.close(position)],
  ['a close of a part', (of) => of.close(position, { size: '0.01', slippage: '2' })],
  ['levels', (of) => of.adjust(position, { tp: '70000', sl: '58000' })],
  ['a change of leverage', (of) => of.adjust(position, { leverage: '5' })],
  ['more collateral', (of) => of.adjust(position, { collateral: { action: 'add', amount: '30' } })],
];

describe('preparing a change', () => {
  it('asks the node exactly once for each', async () => {
    const proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
    const about = agent.trader.account.address.slice(2).toLowerCase();
    const asked: string[] = [];
    proxy.onRequest((body) => {
      const text = JSON.stringify(body).toLowerCase();
      if (text.includes(about)) asked.push(text);
      return undefined;
    });
    try {
      await beside({ hosts: { rpcUrls: [proxy.url] } }, async (visitor) => {
        for (const [what, write] of WRITES) {
          asked.length = 0;
          const answer = await write(visitor);
          expect([what, answer.status, asked.length]).toEqual([what, 200, 1]);
        }
      });
    } finally {
      await proxy.close();
    }
  });
});

describe('every change of an order or a position', () => {
  const OPERATIONS = [
    ['updateOrder', 'PATCH', () => `/orders/${resting}`, {}],
    ['cancelOrder', 'DELETE', () => `/orders/${resting}`, undefined],
    ['submitOrder', 'POST', () => `/orders/${resting}/submit`, { txHash: `0x${'ab'.repeat(32)}` }],
    ['closePosition', 'POST', () => `/positions/${position}/close`, {}],
    ['updatePosition', 'PATCH', () => `/positions/${position}`, { tp: '0' }],
  ] as const;

  it('is for an agent that signs it, may trade and is the delegate', async () => {
    for (const [, method, path, body] of OPERATIONS) {
      const init = {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
      };
      expect((await sandbox.call(`/v1/${chain.definition.slug}${path()}`, init)).body).toMatchObject({ code: 'UNAUTHENTICATED' });
      expect(refusal(await agent.call('getOrder', method, path(), body))).toEqual([401, 'INVALID_SIGNATURE']);
    }
    const refuses = async (of: AgentTrader, code: string): Promise<void> => {
      for (const [operation, method, path, body] of OPERATIONS)
        expect([operation, refusal(await of.call(operation, method, path(), body))]).toEqual([operation, [403, code]]);
    };
    const own = new Wallet(agent.trader.privateKey);
    await refuses(await authorised(new Wallet(generatePrivateKey()), EVERYTHING), 'AGENT_NOT_DELEGATED');
    await refuses(await authorised(own, { ...EVERYTHING, permissions: 'read' }), 'SCOPE_READ_ONLY');
    await refuses(await authorised(own, { ...EVERYTHING, expiresAt: Date.now() - 1 }), 'AGENT_EXPIRED');
  });

  /** Another agent of the same trader, registered but not its delegate. */
  async function authorised(wallet: Wallet, scope: ScopeBody): Promise<AgentTrader> {
    const { slug } = chain.definition;
    const domain = await domainOf(sandbox, slug);
    const sign = signWith(new Wallet(agent.trader.privateKey), domain);
    const { status } = await agentsOf(sandbox, slug).create(
      await authorization(domain, sign, { trader: agent.trader.account.address, agent: wallet.address, scope }),
    );
    expect(status).toBe(201);
    return agentTrader(sandbox, chain, agent.trader, wallet);
  }
});

describe('a position whose events are no longer stored', () => {
  it('is found on chain by the number it was listed under', async () => {
    const trader = agent.trader.account.address.toLowerCase();
    const { rows } = await database.query<{ state: unknown }>('select state from positions where id = $1', [position]);
    await database.query('update positions set state = null, is_open = false where id = $1 and trader = $2', [position, trader]);
    try {
      expect((await agent.positions()).map(({ id }) => id)).toEqual([position]);
      expect(done(await agent.close(position)).order).toMatchObject({ side: 'short', reduceOnly: true });
      expect((await agent.adjust(position, { tp: '70000' })).body).toMatchObject({ position: { id: position, tp: '70000' } });
    } finally {
      await database.query('update positions set state = $2, is_open = true where id = $1', [position, JSON.stringify(rows[0]?.state)]);
    }
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
  });
});

describe('a database that goes away while a change is stored', () => {
  /** What a write leaves; earlier orders may expire meanwhile, which adds only to their own events. */
  const traces = async (): Promise<Json> => {
    const found: Json = {};
    for (const rows of ['orders', 'order_tags', 'spend_reservations', `chain_events where kind = 'prepared'`])
      found[rows] = (await database.query<{ count: string }>(`select count(*) from ${rows}`)).rows[0]?.count;
    return found;
  };

  it.each([
    ['a close', 'orders', () => agent.close(position)],
    ['a change of leverage', 'orders', () => agent.adjust(position, { leverage: '5' })],
    ['a change of size', 'order_tags', () => agent.update(resting, { size: '0.01' })],
  ])('is a 503 for %s, and leaves nothing half written', async (_what, table, write) => {
    const before = await traces();
    // A busy node, or a price that is late, may refuse it before anything would be stored.
    const refused = await eventually(
      () => cutOff(database, table, write),
      ({ status, body }) => status === 200 || JSON.stringify(body).includes('the database does not answer'),
    );
    expect(refusal(refused)).toEqual([503, 'NOT_READY']);
    expect(await traces()).toEqual(before);
    expect((await decided(write)).status).toBe(200);
  });
});

describe('a Diamond that takes only one call at a time', () => {
  const MULTICALL = '0xac9650d8';

  it('refuses what needs two, says why, and does the rest', async () => {
    const [resized, amended] = [await rests(), await rests()];
    const operator = operatorOf(chain);
    const { diamond } = chain.definition;
    const facets = await operator.client.readContract({ address: diamond, abi: diamondAbi, functionName: 'facets' });
    const fewer = facets.map(({ facetAddress, functionSelectors }) => ({
      facetAddress,
      functionSelectors: functionSelectors.filter((selector) => selector !== MULTICALL),
    }));
    await operator.control('sandboxSetFacets', [fewer]);
    try {
      await beside({}, async (visitor) => {
        for (const write of [
          () => visitor.update(resized, { size: '0.05' }),
          () => visitor.close(position, { slippage: '2' }),
          () => visitor.adjust(position, { tp: '71000', sl: '57000' }),
        ]) {
          const answer = await write();
          expect(refusal(answer)).toEqual([422, 'UNSUPPORTED']);
          expect(answer.body['message']).toContain('multicall');
        }
        for (const write of [
          () => visitor.update(amended, { slippage: '2' }),
          () => visitor.close(position),
          () => visitor.adjust(position, { tp: '71000' }),
        ])
          expect((await write()).status).toBe(200);
      });
    } finally {
      await operator.control('sandboxSetFacets', [facets]);
    }
    await agent.send(prepared(await agent.update(resized, { size: '0.05' })));
    await eventually(
      () => agent.order(resized),
      ({ size }) => size === '0.05',
    );
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
  });
});
