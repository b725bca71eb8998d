import { Wallet } from 'ethers';
import { delegationTx } from '../../../core/access/delegation-transactions.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newAgentTrader, type AgentTrader } from '../../harness/traders/agent-trader.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway } from '../../harness/venue/second-gateway.js';
import {
  agentsOf,
  authorization,
  domainOf,
  EVERYTHING,
  keyIssue,
  revocation,
  signWith,
  type Sign,
} from '../../harness/traders/master-wallet.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';
import { connect, isData, isError, isOp, wsAuth, type SocketClient } from './socket-client.js';

let sandbox: TestVenue;
let chain: ChainControls;
const BASE = '/v1/arbitrum-sepolia';

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
}, 60_000);
afterAll(() => sandbox.stop());

const clients: SocketClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

/** Subscribed to everything of its account, and to the prices. */
async function listening(auth: unknown, url = sandbox.url): Promise<SocketClient> {
  const client = await connect(url);
  clients.push(client);
  await client.ask(auth, isOp('authenticated'));
  for (const channel of ['orders', 'fills', 'positions', 'account', 'prices'])
    await client.ask({ op: 'subscribe', channel }, isData(channel));
  return client;
}

const signOf = async (agent: AgentTrader): Promise<Sign> => signWith(new Wallet(agent.trader.privateKey), await domainOf(sandbox));

/** The private channels are over, the line is not. */
async function expectEnded(client: SocketClient, code: string): Promise<void> {
  const error = await client.find(isError(code));
  const at = client.heard.indexOf(error);
  for (const channel of ['orders', 'fills', 'positions', 'account']) await client.find(isOp('unsubscribed', channel), at);
  await client.ask({ op: 'subscribe', channel: 'orders' }, isError('UNAUTHENTICATED'));
  const from = client.heard.length;
  await client.find(isData('prices'), from);
  expect(client.heard.slice(at).filter((message) => isData('account')(message) || isData('positions')(message))).toEqual([]);
}

it('ends the account channels of a revoked agent at once, on every gateway, and leaves the public ones', async () => {
  const agent = await newAgentTrader(sandbox, chain);
  const beside = await startSecondGateway(sandbox);
  try {
    await eventually(
      () => beside.get('/ready'),
      ({ status }) => status === 200,
    );
    const here = await listening(await wsAuth(agent.wallet, chain.definition));
    const there = await listening(await wsAuth(agent.wallet, chain.definition), beside.url);
    const body = await revocation(await signOf(agent), agent.trader.account.address, agent.wallet.address);
    expect((await agentsOf(sandbox).revoke(agent.wallet.address, body)).status).toBe(200);
    await Promise.all([here, there].map((client) => client.find(isError('AGENT_REVOKED'))));
    await expectEnded(here, 'AGENT_REVOKED');
    await expectEnded(there, 'AGENT_REVOKED');
    await here.ask(await wsAuth(agent.wallet, chain.definition), isError('AGENT_REVOKED'));
    await Promise.all(clients.splice(0).map((client) => client.close()));
  } finally {
    await beside.stop();
  }
});

it('ends them when the time of the agent is over', async () => {
  const scope = { ...EVERYTHING, expiresAt: Date.now() + 4_000 };
  const agent = await newAgentTrader(sandbox, chain, { scope });
  const client = await listening(await wsAuth(agent.wallet, chain.definition));
  await expectEnded(client, 'AGENT_EXPIRED');
  expect(Date.now()).toBeGreaterThanOrEqual(scope.expiresAt);
});

/** Enough to subscribe and to renew on a machine that is busy with something else. */
const FIRST_MS = 12_000;

it('goes by the newest scope: a longer one keeps the channels, a shorter one ends them', async () => {
  const agent = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, expiresAt: Date.now() + FIRST_MS } });
  const client = await listening(await wsAuth(agent.wallet, chain.definition));
  const sign = await signOf(agent);
  const domain = await domainOf(sandbox);
  const renew = async (expiresAt: number): Promise<void> => {
    const scope = { ...EVERYTHING, expiresAt };
    const body = await authorization(domain, sign, { trader: agent.trader.account.address, agent: agent.wallet.address, scope });
    expect((await agentsOf(sandbox).create(body)).status).toBe(201);
  };
  const first = Date.now() + FIRST_MS;
  await renew(Date.now() + 3_600_000);
  await eventually(
    () => Date.now(),
    (now) => now > first + 500,
  );
  expect(client.heard.filter(({ op }) => op === 'error')).toEqual([]);
  await renew(Date.now() + 300);
  await expectEnded(client, 'AGENT_EXPIRED');
});

it('ends them when the trader names another delegate, though the contract tells nobody', async () => {
  const agent = await newAgentTrader(sandbox, chain);
  const client = await listening(await wsAuth(agent.wallet, chain.definition));
  const other = Wallet.createRandom().address as `0x${string}`;
  const { to, data } = delegationTx(chain.definition, other);
  await agent.trader.send(to as `0x${string}`, data as `0x${string}`);
  await expectEnded(client, 'AGENT_NOT_DELEGATED');
});

it('ends them when the API key is replaced', async () => {
  const agent = await newAgentTrader(sandbox, chain);
  const sign = await signOf(agent);
  const issue = async (): Promise<string> => {
    const body = await keyIssue(sign, agent.trader.account.address, 'stream');
    return ((await sandbox.post(`${BASE}/api-keys`, body)).body as { apiKey: string }).apiKey;
  };
  const client = await listening({ op: 'auth', apiKey: await issue() });
  const next = await issue();
  await expectEnded(client, 'API_KEY_UNKNOWN');
  await client.ask({ op: 'auth', apiKey: next }, isOp('authenticated'));
  await client.ask({ op: 'subscribe', channel: 'orders' }, isData('orders'));
});
