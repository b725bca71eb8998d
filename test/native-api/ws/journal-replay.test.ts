import { venueOf } from '../../../core/gateway.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newAgentTrader, type AgentTrader } from '../../harness/traders/agent-trader.js';
import { storedOrders } from '../../harness/traders/stored-orders.js';
import { price } from '../../harness/diamond/diamond-calls.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { reorgAway } from '../../harness/diamond/reorg-away.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';
import { connect, expectContinuous, isData, isOp, wsAuth, type Message, type SocketClient } from './socket-client.js';

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  sandbox = await startOwnVenue({ RATE_LIMIT_AGENT: '100000', RATE_LIMIT_AGENT_WRITES: '100000' });
  chain = firstChain(sandbox);
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '60000' });
});
afterAll(() => sandbox.stop());

async function openFor(agent: AgentTrader): Promise<SocketClient> {
  const client = await connect(sandbox.url);
  await client.ask(await wsAuth(agent.wallet, chain.definition), isOp('authenticated'));
  return client;
}

it('replays a past of several pages while more is written, to each client the same, once and in order', async () => {
  const agent = await newAgentTrader(sandbox, chain);
  const own = storedOrders(sandbox, chain, venueOf(sandbox.gateway, chain.definition.slug));
  const write = () => own.place(agent.trader, { maxUnsent: 1_000, forMs: 600_000 });
  const writeMany = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 1) await write();
  };
  await Promise.all([writeMany(60), writeMany(60), writeMany(60), writeMany(60)]);
  const writing = Promise.all([writeMany(20), writeMany(20)]);
  const clients: SocketClient[] = [];
  for (let count = 0; count < 4; count += 1) {
    const client = await openFor(agent);
    client.send({ op: 'subscribe', channel: 'orders', after: 0 });
    clients.push(client);
    await client.find(isData('orders'));
  }
  await writing;
  await write();
  const journal: { cursor: number; kind: string; data: unknown }[] = [];
  for (let after: number | null = 0; after !== null;) {
    const page: { data: typeof journal; nextCursor: number | null } = (
      await agent.call('listEvents', 'GET', `/account/${agent.trader.account.address}/events?limit=500&after=${after}`)
    ).body as never;
    journal.push(...page.data);
    after = page.nextCursor;
  }
  const entries = journal.filter(({ kind }) => kind === 'order').map(({ cursor, data }) => ({ cursor, data }));
  expect(entries.length).toBeGreaterThan(280);
  for (const client of clients) {
    await client.find(isData('orders', ({ cursor }) => cursor === entries.at(-1)?.cursor));
    expect(client.of('orders').map(({ cursor, data }) => ({ cursor, data }))).toEqual(entries);
    expect(client.of('orders').map(({ seq }) => seq)).toEqual(entries.map((_, at) => at + 1));
    await client.close();
  }
});

it('sends as a correction what a reorganisation takes back', async () => {
  const agent = await newAgentTrader(sandbox, chain);
  const client = await openFor(agent);
  for (const channel of ['orders', 'fills', 'positions']) await client.ask({ op: 'subscribe', channel }, isData(channel));
  const hash = await agent.trader.open({ tradeType: 1, openPrice: price(50_000) });
  const isOpen = (message: Message): boolean => (message['data'] as { status?: string } | null)?.status === 'open';
  const rested = await client.find(isData('orders', isOpen));
  const { id } = rested['data'] as { id: string };
  const { blockNumber } = await agent.trader.client.getTransactionReceipt({ hash });
  await reorgAway(chain, agent.trader.client, blockNumber);
  const undone = await client.find(isData('orders', (message) => message['correction'] === true));
  expect(undone).toMatchObject({ snapshot: false, id, data: null });
  expect(Number(undone['cursor'])).toBeGreaterThan(Number(rested['cursor']));
  expectContinuous(client.of('orders'));
  await client.close();
});
