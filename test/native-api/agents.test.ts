import { Interface, Wallet, type TypedDataDomain } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { removeUnused } from '../../core/access/agents.js';
import { venueOf } from '../../core/gateway.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { chainTrader } from '../harness/traders/chain-trader.js';
import { eventually, until } from '../harness/time/eventually.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import {
  agentsOf,
  authorization,
  domainOf,
  EVERYTHING,
  revocation,
  signWith,
  type AuthorizationOptions,
} from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { approveAgent, postExchange } from '../harness/hyperliquid/exchange.js';
import { closeFaultyNodes } from '../harness/servers/faulty-node.js';
import { venueDatabase } from '../harness/venue/venue-database.js';
import { startOwnVenue, type Reply, type TestVenue } from '../harness/venue/own-venue.js';
import { asks, startTamperingProxy } from '../harness/servers/tampering-proxy.js';

const diamondAbi = new Interface(['function setTradingDelegate(address delegate)', 'function removeTradingDelegate()']);

let sandbox: TestVenue;
let chain: ChainControls;
let domain: TypedDataDomain;
let agents: ReturnType<typeof agentsOf>;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_CHAINS: 'arbitrum-sepolia,base' });
  chain = firstChain(sandbox);
  domain = await domainOf(sandbox);
  agents = agentsOf(sandbox);
});
afterAll(() => sandbox.stop());

const newWallet = (): Wallet => new Wallet(generatePrivateKey());
const authorise = async (trader: Wallet, options: Omit<AuthorizationOptions, 'trader'>): Promise<Reply> =>
  agents.create(await authorization(domain, signWith(trader, domain), { trader: trader.address, ...options }));
const revoke = async (trader: Wallet, agent: string, timestamp?: number): Promise<Reply> =>
  agents.revoke(agent, await revocation(signWith(trader, domain), trader.address, agent, timestamp));
const statusOf = async (agent: string): Promise<unknown> =>
  ((await agents.get(agent)).body as { agent?: { status?: unknown } }).agent?.status;
/** A trader of flesh and gas whose slot the delegate holds. */
async function tradingFor(delegate: string | null): Promise<Wallet> {
  const { privateKey } = await chain.faucet.createTrader({ eth: '1', approve: false, delegate: delegate as `0x${string}` | null });
  return new Wallet(privateKey);
}
const send = (trader: Wallet, { to, data }: { to: string; data: string }) =>
  chainTrader(chain, trader.privateKey as `0x${string}`).send(to as `0x${string}`, data as `0x${string}`);
const expectError = (reply: Reply, status: number, code: string): void =>
  expect({ status: reply.status, code: (reply.body as { code?: string }).code }).toEqual({ status, code });
interface Pair {
  agent: Record<string, unknown>;
  delegationTx: { to: string; data: string; chainId: number } | null;
}
interface Issues {
  details: { issues: { path: string }[] };
}

describe('an agent', () => {
  it('is authorised by the master wallet, becomes usable by its transaction and is cut off by its revocation', async () => {
    const [trader, agent] = [await tradingFor(null), newWallet()];
    const scope = { markets: ['BTC-USD', 'eth/usd', 'BTC/USD'], maxLeverage: '10.50', dailySpendCapUsd: '1000', permissions: 'trade' };
    const created = await authorise(trader, { agent: agent.address, name: 'mühle 🚀', scope });
    expect(created.status).toBe(201);
    const { agent: record, delegationTx } = created.body as Pair;
    expect(record).toEqual({
      agent: agent.address,
      trader: trader.address,
      name: 'mühle 🚀',
      scope: { markets: ['BTC/USD', 'ETH/USD'], maxLeverage: '10.5', dailySpendCapUsd: '1000', expiresAt: null, permissions: 'trade' },
      mode: 'self',
      status: 'pending_delegation',
      createdAt: expect.any(Number) as number,
    });
    expect(delegationTx).toEqual({
      to: chain.definition.diamond,
      data: diamondAbi.encodeFunctionData('setTradingDelegate', [agent.address]),
      chainId: chain.definition.chainId,
    });
    expect((await agents.get(agent.address.toLowerCase())).body).toEqual(created.body);

    if (delegationTx) await send(trader, delegationTx);
    expect((await agents.get(agent.address)).body).toEqual({ agent: { ...record, status: 'active' }, delegationTx: null });

    const revoked = await revoke(trader, agent.address);
    expect([revoked.status, revoked.body]).toEqual([
      200,
      {
        revocationTx: {
          to: chain.definition.diamond,
          data: diamondAbi.encodeFunctionData('removeTradingDelegate'),
          chainId: chain.definition.chainId,
        },
      },
    ]);
    expect((await agents.get(agent.address)).body).toEqual({ agent: { ...record, status: 'revoked' }, delegationTx: null });
  });

  it('is one of twenty of its trader at most, also when they are authorised at once, on either front end', async () => {
    const trader = await tradingFor(null);
    const added = await Promise.all(Array.from({ length: 22 }, () => authorise(trader, { agent: newWallet().address })));
    expect(added.map(({ status }) => status).sort()).toEqual([...Array<number>(20).fill(201), 422, 422]);
    expect(added.find(({ status }) => status === 422)?.body).toMatchObject({
      code: 'UNSUPPORTED',
      details: { reason: expect.stringContaining('has 20 agents') as string },
    });
    const approve = async () =>
      postExchange(sandbox.url, 'arbitrum-sepolia', await approveAgent(trader, newWallet().address, null, { network: 'Testnet' }));
    expect((await approve()).body).toEqual({
      status: 'err',
      response: 'Too many extra agents for cumulative volume traded. Current limit is 20',
    });
    const one = added.find(({ status }) => status === 201)?.body as Pair;
    expect((await revoke(trader, String(one.agent['agent']))).status).toBe(200);
    expect((await approve()).body).toMatchObject({ status: 'ok' });
  });

  it('that never became active is removed after seven days; one that is active, or was used, stays', async () => {
    const [idle, active, used] = [newWallet(), newWallet(), newWallet()];
    const traders = [await tradingFor(null), await tradingFor(active.address), await tradingFor(null)];
    for (const [at, agent] of [idle, active, used].entries()) await authorise(traders[at] ?? newWallet(), { agent: agent.address });
    const database = await venueDatabase(sandbox);
    await database.query('update agents set signed_at = created_at where agent = $1', [used.address.toLowerCase()]);
    await database.end();
    const venue = venueOf(sandbox.gateway, 'arbitrum-sepolia');
    const after = (days: number) => ({ ...venue, clock: { ...venue.clock, now: () => Date.now() + days * 86_400_000 } });
    const found = async () => Promise.all([idle, active, used].map(async ({ address }) => (await agents.get(address)).status));
    await removeUnused(sandbox.gateway, after(6.9));
    expect(await found()).toEqual([200, 200, 200]);
    await removeUnused(sandbox.gateway, after(7.1));
    expect(await found()).toEqual([404, 200, 200]);
  });

  it('that is the trader itself needs no delegation, neither to begin nor to end', async () => {
    const trader = newWallet();
    const created = await authorise(trader, { agent: trader.address });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ agent: { status: 'active', name: '' }, delegationTx: null });
    expect((await revoke(trader, trader.address)).body).toEqual({ revocationTx: null });
    expect(await statusOf(trader.address)).toBe('revoked');
  });

  it('expires with its scope, without a request', async () => {
    const trader = newWallet();
    const expiringAt = (expiresAt: number) => ({ agent: trader.address, scope: { ...EVERYTHING, expiresAt } });
    const distant = await authorise(trader, expiringAt(Date.now() + 60_000));
    expect(distant.body).toMatchObject({ agent: { status: 'active' }, delegationTx: null });
    const soon = Date.now() + 300;
    expect((await authorise(trader, expiringAt(soon))).status).toBe(201);
    await until(() => Date.now() >= soon);
    expect(await statusOf(trader.address)).toBe('expired');
  });

  it('goes back to pending when the trader removes it on chain, whatever the gateway has stored', async () => {
    const agent = newWallet();
    const trader = await tradingFor(agent.address);
    expect((await authorise(trader, { agent: agent.address })).body).toMatchObject({ agent: { status: 'active' }, delegationTx: null });
    await send(trader, { to: chain.definition.diamond, data: diamondAbi.encodeFunctionData('removeTradingDelegate') });
    const again = await authorise(trader, { agent: agent.address });
    expect(again.body).toMatchObject({ agent: { status: 'pending_delegation' }, delegationTx: { chainId: 421614 } });
  });

  it('that no trader authorised is not found, nor is one of another chain', async () => {
    const trader = newWallet();
    await authorise(trader, { agent: trader.address });
    expectError(await agentsOf(sandbox, 'base').get(trader.address), 404, 'AGENT_NOT_FOUND');
    expectError(await agents.get(newWallet().address), 404, 'AGENT_NOT_FOUND');
    expectError(await revoke(trader, newWallet().address), 404, 'AGENT_NOT_FOUND');
    expectError(await agents.get('0x1234'), 400, 'VALIDATION_ERROR');
  });

  it('keeps its birthday when its trader changes name and scope', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const first = (await authorise(trader, { agent: agent.address, name: 'one' })).body as Pair;
    const second = (await authorise(trader, { agent: agent.address, name: 'two', scope: { markets: [], permissions: 'read' } }))
      .body as Pair;
    expect(second.agent).toEqual({
      ...first.agent,
      name: 'two',
      scope: { markets: [], maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, permissions: 'read' },
    });
  });

  it('of the demo accounts is authorised and delegated on every chain from the start', async () => {
    const { agent, trader } = sandbox.controls.accounts;
    for (const slug of ['arbitrum-sepolia', 'base'])
      expect((await agentsOf(sandbox, slug).get(agent.address)).body).toMatchObject({
        agent: { agent: agent.address, trader: trader.address, status: 'active', scope: EVERYTHING },
        delegationTx: null,
      });
  });
});

describe('whose agent it is', () => {
  it('is not decided by who came first: a registration that is not active blocks no other trader', async () => {
    const [squatter, trader, agent] = [newWallet(), newWallet(), newWallet()];
    expect((await authorise(squatter, { agent: agent.address })).status).toBe(201);
    const taken = await authorise(trader, { agent: agent.address });
    expect(taken.status).toBe(201);
    expect(taken.body).toMatchObject({ agent: { trader: trader.address } });
    expectError(await revoke(squatter, agent.address), 403, 'TRADER_MISMATCH');
    expect(await statusOf(agent.address)).toBe('pending_delegation');
  });

  it('is settled while it is active, and again when it ends', async () => {
    const [agent, other] = [newWallet(), newWallet()];
    const trader = await tradingFor(agent.address);
    await authorise(trader, { agent: agent.address });
    expectError(await authorise(other, { agent: agent.address }), 403, 'TRADER_MISMATCH');
    expectError(await revoke(other, agent.address), 403, 'TRADER_MISMATCH');
    expect(await statusOf(agent.address)).toBe('active');
    await revoke(trader, agent.address);
    expect((await authorise(other, { agent: agent.address })).status).toBe(201);
  });

  it('is seen on the chain as it is now: a delegation of this very moment counts', async () => {
    const [agent, other, trader] = [newWallet(), newWallet(), await tradingFor(null)];
    const { delegationTx } = (await authorise(trader, { agent: agent.address })).body as Pair;
    expect(await statusOf(agent.address)).toBe('pending_delegation');
    if (delegationTx) await send(trader, delegationTx);
    expectError(await authorise(other, { agent: agent.address }), 403, 'TRADER_MISMATCH');
  });

  it('is for the agent itself to say: its own signature wins over everything', async () => {
    const [agent, other] = [newWallet(), newWallet()];
    const trader = await tradingFor(agent.address);
    await authorise(trader, { agent: agent.address });
    const won = await authorise(other, { agent: agent.address, agentWallet: agent });
    expect(won.status).toBe(201);
    expect(won.body).toMatchObject({ agent: { trader: other.address, status: 'pending_delegation' } });
  });

  it('cannot be claimed with a consent of another wallet, or one that was used before', async () => {
    const [agent, trader, thief] = [newWallet(), newWallet(), newWallet()];
    expectError(await authorise(trader, { agent: agent.address, agentWallet: newWallet() }), 401, 'INVALID_SIGNATURE');
    const timestamp = Date.now();
    const body = await authorization(domain, signWith(trader, domain), {
      trader: trader.address,
      agent: agent.address,
      timestamp,
      agentWallet: agent,
    });
    expect((await agents.create(body)).status).toBe(201);
    const stolen = await authorization(domain, signWith(thief, domain), { trader: thief.address, agent: agent.address, timestamp });
    expectError(await agents.create({ ...stolen, agentSignature: body.agentSignature }), 401, 'NONCE_REUSED');
    expect((await agents.get(agent.address)).body).toMatchObject({ agent: { trader: trader.address } });
  });
});

describe('a master signature', () => {
  it('works once', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const sign = signWith(trader, domain);
    const body = await authorization(domain, sign, { trader: trader.address, agent: agent.address });
    expect((await agents.create(body)).status).toBe(201);
    expectError(await agents.create(body), 401, 'NONCE_REUSED');
    const revoking = await revocation(sign, trader.address, agent.address);
    expect((await agents.revoke(agent.address, revoking)).status).toBe(200);
    expectError(await agents.revoke(agent.address, revoking), 401, 'NONCE_REUSED');
    expectError(await agents.create(body), 401, 'NONCE_REUSED');
  });

  it('that arrives late never undoes a revocation, a younger one does', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const now = Date.now();
    expect((await authorise(trader, { agent: agent.address, timestamp: now - 3_000 })).status).toBe(201);
    const delayed = await authorization(domain, signWith(trader, domain), {
      trader: trader.address,
      agent: agent.address,
      name: 'delayed',
      timestamp: now - 2_000,
    });
    expect((await revoke(trader, agent.address, now - 1_000)).status).toBe(200);
    const refused = await agents.create(delayed);
    expectError(refused, 401, 'NONCE_REUSED');
    expect(refused.body).toMatchObject({ details: { nonce: String(now - 2_000), lastAccepted: String(now - 1_000) } });
    expectError(await authorise(trader, { agent: agent.address, timestamp: now - 1_000 }), 401, 'NONCE_REUSED');
    expect(await statusOf(agent.address)).toBe('revoked');
    expect((await authorise(trader, { agent: agent.address, timestamp: now })).status).toBe(201);
    expect(await statusOf(agent.address)).toBe('pending_delegation');
  });

  it.each([-31_000, 31_000])('whose timestamp is %d ms from our time is refused with both times', async (offset) => {
    const [trader, agent] = [newWallet(), newWallet()];
    const reply = await authorise(trader, { agent: agent.address, timestamp: Date.now() + offset });
    expectError(reply, 401, 'TIMESTAMP_OUT_OF_WINDOW');
    expect(reply.body).toMatchObject({ details: { serverTime: expect.any(Number) as number, windowMs: 30_000 } });
    expectError(await agents.get(agent.address), 404, 'AGENT_NOT_FOUND');
  });

  it('covers every field, the chain and the deployment', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const sign = signWith(trader, domain);
    const scope = { ...EVERYTHING, maxLeverage: '5', dailySpendCapUsd: '100', expiresAt: Date.now() + 60_000 };
    const body = await authorization(domain, sign, { trader: trader.address, agent: agent.address, name: 'n', scope });
    const forgeries = [
      { ...body, trader: newWallet().address },
      { ...body, agent: newWallet().address },
      { ...body, name: 'm' },
      { ...body, timestamp: body.timestamp + 1 },
      { ...body, scope: { ...scope, markets: [] } },
      { ...body, scope: { ...scope, markets: ['BTC/USD'] } },
      { ...body, scope: { ...scope, maxLeverage: '50' } },
      { ...body, scope: { ...scope, maxLeverage: null } },
      { ...body, scope: { ...scope, dailySpendCapUsd: null } },
      { ...body, scope: { ...scope, expiresAt: null } },
      { ...body, scope: { ...scope, permissions: 'read' } },
    ];
    for (const forged of forgeries) expectError(await agents.create(forged), 401, 'INVALID_SIGNATURE');
    expectError(await agentsOf(sandbox, 'base').create(body), 401, 'INVALID_SIGNATURE');
    const elsewhere = await authorization(domain, signWith(trader, { ...domain, name: 'Another' }), {
      trader: trader.address,
      agent: agent.address,
    });
    expectError(await agents.create(elsewhere), 401, 'INVALID_SIGNATURE');
    expect((await agents.create(body)).status).toBe(201);
  });

  it('has one spelling of its numbers: the high half of s, other lengths and odd hex are refused', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const body = await authorization(domain, signWith(trader, domain), { trader: trader.address, agent: agent.address });
    const { signature } = body;
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const high = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
    const flipped = signature.endsWith('1b') ? '1c' : '1b';
    const bad = [
      `${signature.slice(0, 66)}${high}${flipped}`,
      '0x',
      `${signature}00`,
      signature.slice(0, -1),
      `${signature.slice(0, -2)}1d`,
    ];
    for (const forged of bad) expectError(await agents.create({ ...body, signature: forged }), 401, 'INVALID_SIGNATURE');
    expectError(await agents.create({ ...body, signature: 'nonsense' }), 400, 'VALIDATION_ERROR');
    const parity = signature.endsWith('1b') ? '00' : '01';
    expect((await agents.create({ ...body, signature: `${signature.slice(0, -2)}${parity}` })).status).toBe(201);
  });
});

describe('bad input', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown field of the scope', { scope: { ...EVERYTHING, maxLeverag: '5' } }, 'scope.maxLeverag'],
    ['a market that does not exist', { scope: { ...EVERYTHING, markets: ['BTC/USD', 'NOPE/USD'] } }, 'scope.markets.1'],
  ])('%s is refused by its path, and nothing is stored', async (_what, change, path) => {
    const [trader, agent] = [newWallet(), newWallet()];
    const body = await authorization(domain, signWith(trader, domain), { trader: trader.address, agent: agent.address });
    const reply = await agents.create({ ...body, ...change });
    expectError(reply, 400, 'VALIDATION_ERROR');
    expect((reply.body as Issues).details.issues.map((issue) => issue.path).join(' ')).toContain(path);
    expectError(await agents.get(agent.address), 404, 'AGENT_NOT_FOUND');
  });

  it('names with 32 characters are fine, however many bytes they take', async () => {
    const trader = newWallet();
    expect((await authorise(trader, { agent: trader.address, name: '🚀'.repeat(32) })).status).toBe(201);
  });
});

describe('many at once', () => {
  it('of ten authorisations the youngest holds, whatever order they arrive in', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const start = Date.now() - 1_000;
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, n) => authorise(trader, { agent: agent.address, name: `n${n}`, timestamp: start + ((n * 7) % 10) })),
    );
    for (const reply of replies) expect([201, 401]).toContain(reply.status);
    const youngest = Array.from({ length: 10 }, (_, n) => n).find((n) => (n * 7) % 10 === 9);
    expect((await agents.get(agent.address)).body).toMatchObject({ agent: { name: `n${youngest}` } });
  });

  it('the same message sent ten times is accepted once', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const body = await authorization(domain, signWith(trader, domain), { trader: trader.address, agent: agent.address });
    const statuses = (await Promise.all(Array.from({ length: 10 }, () => agents.create(body)))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, ...Array<number>(9).fill(401)]);
  });

  it('ten traders who want one idle agent all get an answer, and one of them has it', async () => {
    const agent = newWallet();
    const replies = await Promise.all(Array.from({ length: 10 }, () => authorise(newWallet(), { agent: agent.address })));
    const winners = replies.filter(({ status }) => status === 201).map(({ body }) => (body as Pair).agent['trader']);
    expect(winners.length).toBeGreaterThan(0);
    for (const { status } of replies) expect([201, 503]).toContain(status);
    expect(winners).toContain(((await agents.get(agent.address)).body as Pair).agent['trader']);
  });
});

describe('while the node is away', () => {
  afterEach(() => chain.setRpcFault({ mode: 'ok' }));
  afterEach(closeFaultyNodes);

  it('an agent cannot be authorised, and nothing of the attempt is left', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    const body = await authorization(domain, signWith(trader, domain), { trader: trader.address, agent: agent.address });
    chain.setRpcFault({ mode: 'down' });
    expectError(await agents.create(body), 502, 'UPSTREAM_UNAVAILABLE');
    chain.setRpcFault({ mode: 'ok' });
    expectError(await agents.get(agent.address), 404, 'AGENT_NOT_FOUND');
    expect((await agents.create(body)).status).toBe(201);
  });

  it('an agent is authorised with a single look at its slot, so that no answer fails once it is stored', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    let looks = 0;
    const node = await startTamperingProxy(chain.rpcUrl, (call, answer) => {
      if (!asks(call, 'getTradingDelegate') || (looks += 1) === 1) return answer;
      return { jsonrpc: '2.0', id: call.id, error: { code: -32603, message: 'busy' } };
    });
    const chains = sandbox.config.chains.slice(0, 1).map((one) => ({ ...one, rpcUrls: [node] }));
    const beside = await startSecondGateway({ ...sandbox, config: { ...sandbox.config, chains } });
    try {
      await eventually(
        () => beside.get('/ready'),
        ({ status }) => status === 200,
      );
      const body = await authorization(domain, signWith(trader, domain), { trader: trader.address, agent: agent.address });
      const created = await fetch(`${beside.url}/v1/arbitrum-sepolia/agents`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' },
      });
      expect(created.status).toBe(201);
      expect(await created.json()).toEqual((await agents.get(agent.address)).body);
    } finally {
      await beside.stop();
    }
  });

  it('an agent is revoked all the same, with the transaction that closes the slot', async () => {
    const agent = newWallet();
    const trader = await tradingFor(agent.address);
    await authorise(trader, { agent: agent.address });
    chain.setRpcFault({ mode: 'down' });
    const reply = await revoke(trader, agent.address);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ revocationTx: { to: chain.definition.diamond } });
    expect(await statusOf(agent.address)).toBe('revoked');
  });

  it('an agent whose status only the chain knows has none', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    await authorise(trader, { agent: agent.address });
    chain.setRpcFault({ mode: 'down' });
    expectError(await agents.get(agent.address), 502, 'UPSTREAM_UNAVAILABLE');
  });
});

describe('a revocation', () => {
  it('offers no transaction when the slot is not this agent’s', async () => {
    const agent = newWallet();
    const trader = await tradingFor(newWallet().address);
    await authorise(trader, { agent: agent.address });
    expect((await revoke(trader, agent.address)).body).toEqual({ revocationTx: null });
  });

  it('may be repeated with a new signature', async () => {
    const [trader, agent] = [newWallet(), newWallet()];
    await authorise(trader, { agent: agent.address, timestamp: Date.now() - 10 });
    const now = Date.now();
    expect((await revoke(trader, agent.address, now)).status).toBe(200);
    expect((await revoke(trader, agent.address, now + 1)).status).toBe(200);
    expect(await statusOf(agent.address)).toBe('revoked');
  });
});
