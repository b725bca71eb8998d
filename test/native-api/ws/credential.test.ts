import { Wallet } from 'ethers';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newAgentTrader } from '../../harness/traders/agent-trader.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway } from '../../harness/venue/second-gateway.js';
import { agentsOf, domainOf, revocation, signWith } from '../../harness/traders/master-wallet.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';
import { connect, isData, isError, isOp, wsAuth, type SocketClient } from './socket-client.js';

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
});
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

/** The private channels have ended, the connection has not. */
async function expectEnded(client: SocketClient, code: string): Promise<void> {
  const error = await client.find(isError(code));
  const at = client.received.indexOf(error);
  for (const channel of ['orders', 'fills', 'positions', 'account']) await client.find(isOp('unsubscribed', channel), at);
  await client.ask({ op: 'subscribe', channel: 'orders' }, isError('UNAUTHENTICATED'));
  const from = client.received.length;
  await client.find(isData('prices'), from);
  expect(client.received.slice(at).filter((message) => isData('account')(message) || isData('positions')(message))).toEqual([]);
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
    const sign = signWith(new Wallet(agent.trader.privateKey), await domainOf(sandbox));
    const body = await revocation(sign, agent.trader.account.address, agent.wallet.address);
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
