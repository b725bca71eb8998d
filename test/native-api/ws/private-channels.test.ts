import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newAgentTrader, prepared, type AgentTrader } from '../../harness/traders/agent-trader.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway } from '../../harness/venue/second-gateway.js';
import { domainOf, EVERYTHING, keyIssue, signWith } from '../../harness/traders/master-wallet.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';
import { connect, expectContinuous, isData, isError, isOp, wsAuth, type Message, type SocketClient } from './socket-client.js';

let sandbox: TestVenue;
let chain: ChainControls;
const BASE = '/v1/arbitrum-sepolia';
const MARKET_ORDER = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10', collateral: 'USDC' };
const RESTING = { ...MARKET_ORDER, type: 'limit', price: '50000' };

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '60000' });
});
afterAll(() => sandbox.stop());

const clients: SocketClient[] = [];
async function open(url = sandbox.url): Promise<SocketClient> {
  const client = await connect(url);
  clients.push(client);
  return client;
}
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

async function openFor(agent: AgentTrader, url = sandbox.url): Promise<SocketClient> {
  const client = await open(url);
  const answer = await client.ask(await wsAuth(agent.wallet, chain.definition), isOp('authenticated'));
  expect(answer).toEqual({ op: 'authenticated', trader: agent.trader.account.address.toLowerCase(), via: 'agent' });
  return client;
}

const orderOf = ({ data }: Message): Record<string, unknown> => data as Record<string, unknown>;
const statuses = (client: SocketClient, id: unknown): unknown[] =>
  client
    .of('orders')
    .filter(({ snapshot, data }) => snapshot === false && (data as { id: string }).id === id)
    .map((message) => orderOf(message)['status']);

interface Event {
  cursor: number;
  kind: string;
  data: Record<string, unknown>;
}
async function journalOf(agent: AgentTrader, after = 0): Promise<Event[]> {
  const path = `/account/${agent.trader.account.address}/events?after=${after}&limit=500`;
  return (await agent.call('listEvents', 'GET', path)).body['data'] as Event[];
}

describe('an agent on the socket', () => {
  it('sees an order filled before it sees the fill, whichever channel it subscribed to first', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const client = await openFor(agent);
    for (const channel of ['fills', 'orders']) await client.ask({ op: 'subscribe', channel }, isData(channel));
    for (let nth = 1; nth <= 3; nth += 1) {
      await agent.place(MARKET_ORDER, 'filled');
      const isLive = ({ snapshot }: Message): boolean => snapshot === false;
      await eventually(
        () => client.of('fills').filter(isLive).length,
        (count) => count === nth,
      );
      const filled = client.received.filter((message) => isData('orders', isLive)(message) && orderOf(message)['status'] === 'filled');
      const [order, fill] = [filled.at(-1) ?? {}, client.of('fills').at(-1) ?? {}];
      expect(filled).toHaveLength(nth);
      expect(client.received.indexOf(order)).toBeLessThan(client.received.indexOf(fill));
    }
  });

  it('numbers its messages on where a subscription ended and began again', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const client = await openFor(agent);
    const asked = { op: 'subscribe', channel: 'orders' };
    for (const seq of [1, 2, 3]) {
      expect(await client.ask(asked, isData('orders'))).toMatchObject({ snapshot: true, seq });
      await client.ask({ ...asked, op: 'unsubscribe' }, isOp('unsubscribed', 'orders'));
    }
  });

  it('receives its order, the fill, the position and the balance, each with the cursor of the journal', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const client = await openFor(agent);
    for (const channel of ['orders', 'fills', 'positions', 'account']) {
      expect(await client.ask({ op: 'subscribe', channel }, isOp('subscribed', channel))).toEqual({ op: 'subscribed', channel });
      expect(await client.find(isData(channel))).toMatchObject({ snapshot: true, seq: 1, cursor: expect.any(Number) });
    }
    expect((await client.find(isData('orders')))['data']).toEqual([]);
    const filled = await agent.place(MARKET_ORDER, 'filled');
    const fill = await client.find(isData('fills', ({ snapshot }) => snapshot === false));
    expect(fill['data']).toMatchObject({ action: 'open', market: 'BTC/USD', side: 'long', pnl: expect.any(String) });
    await client.find(isData('orders', (message) => orderOf(message)['status'] === 'filled'));
    expect(statuses(client, filled['id'])).toEqual(['prepared', 'pending', 'filled']);
    expect(orderOf(client.of('orders').at(-1) ?? {})).toEqual(filled);

    const positions = await client.find(isData('positions', ({ data }) => (data as unknown[]).length === 1));
    expect(positions['data']).toMatchObject([
      { market: 'BTC/USD', side: 'long', unrealizedPnl: expect.any(String), marginMode: 'isolated' },
    ]);
    const account = await client.find(isData('account', ({ snapshot }) => snapshot === false));
    const usdc = (account['data'] as { balances: { collateral: string; balance: string }[] }).balances.find(
      (row) => row.collateral === 'USDC',
    );
    expect(Number(usdc?.balance)).toBeLessThan(10_000);

    const cursors = (await journalOf(agent)).filter(({ kind }) => kind === 'order').map(({ cursor }) => cursor);
    expect(
      client
        .of('orders')
        .slice(1)
        .map((message) => message['cursor']),
    ).toEqual(cursors);
    for (const channel of ['orders', 'fills', 'positions', 'account']) expectContinuous(client.of(channel));
  });

  it('sees the profit of a position move with the price, at most once a second', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    await agent.place(MARKET_ORDER, 'filled');
    const client = await openFor(agent);
    const first = await client.ask({ op: 'subscribe', channel: 'positions' }, isData('positions'));
    const pnlOf = ({ data }: Message): number => Number((data as { unrealizedPnl: string }[])[0]?.unrealizedPnl);
    await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '60600' });
    const richer = await client.find(isData('positions', (message) => pnlOf(message) > pnlOf(first) + 10));
    expect(richer).toMatchObject({ snapshot: false, cursor: first['cursor'] });
    await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '60000' });
    await client.find(
      isData('positions', (message) => pnlOf(message) < pnlOf(first) + 10),
      client.received.indexOf(richer),
    );
    expectContinuous(client.of('positions'));
  });

  it('sees orders that were made elsewhere, changed and taken back', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const client = await openFor(agent);
    await client.ask({ op: 'subscribe', channel: 'orders' }, isData('orders'));
    await agent.trader.open({ tradeType: 1, openPrice: 500_000_000_000_000n });
    const rested = await client.find(isData('orders', (message) => orderOf(message)['status'] === 'open'));
    const id = String(orderOf(rested)['id']);
    await agent.send(prepared(await agent.cancel(id)));
    await client.find(isData('orders', (message) => orderOf(message)['status'] === 'canceled'));
    expect(statuses(client, id)).toEqual(['open', 'canceled']);
    expectContinuous(client.of('orders'));
  });

  it('is shown what rests when it subscribes, and takes its place from there', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const order = await agent.place(RESTING, 'open');
    const client = await openFor(agent);
    const snapshot = await client.ask({ op: 'subscribe', channel: 'orders' }, isData('orders'));
    expect(snapshot['data']).toEqual([order]);
    expect(snapshot['cursor']).toBe((await journalOf(agent)).at(-1)?.cursor);
  });
});

describe('a client that slept', () => {
  it('goes on from its cursor without loss or repeat, on this gateway and on another', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const awake = await openFor(agent);
    await awake.ask({ op: 'subscribe', channel: 'orders' }, isData('orders'));
    await agent.place(RESTING, 'open');
    const last = await awake.find(isData('orders', (message) => orderOf(message)['status'] === 'open'));
    await awake.close();
    const missed = await agent.place({ ...RESTING, price: '50001' }, 'open');
    await agent.send(prepared(await agent.cancel(String(missed['id']))));
    await agent.reaches(String(missed['id']), 'canceled');

    const beside = await startSecondGateway(sandbox);
    try {
      await eventually(
        () => beside.get(`${BASE}/prices`),
        ({ status }) => status === 200,
      );
      const expected = (await journalOf(agent, Number(last['cursor']))).filter(({ kind }) => kind === 'order');
      expect(expected.map(({ data }) => data['status'])).toEqual(['prepared', 'open', 'canceled']);
      for (const url of [sandbox.url, beside.url]) {
        const client = await openFor(agent, url);
        client.send({ op: 'subscribe', channel: 'orders', after: last['cursor'] });
        await client.find(isData('orders', ({ cursor }) => cursor === expected.at(-1)?.cursor));
        expect(client.of('orders').map(({ cursor, data }) => ({ cursor, data }))).toEqual(
          expected.map(({ cursor, data }) => ({ cursor, data })),
        );
        expect(client.of('orders').map(({ snapshot, seq }) => [snapshot, seq])).toEqual(expected.map((_, at) => [false, at + 1]));
        const next = await agent.place({ ...RESTING, price: '50002' }, 'open');
        await client.find(isData('orders', (message) => orderOf(message)['id'] === next['id'] && orderOf(message)['status'] === 'open'));
        expect(statuses(client, next['id'])).toEqual(['prepared', 'open']);
        if (url === sandbox.url) expected.push(...(await journalOf(agent, expected.at(-1)?.cursor)).filter(({ kind }) => kind === 'order'));
        await client.close();
      }
    } finally {
      await beside.stop();
    }
  });

  it('is answered with an error when the cursor is none of the account', async () => {
    const client = await openFor(await newAgentTrader(sandbox, chain));
    client.send({ op: 'subscribe', channel: 'fills', after: 999_999 });
    expect(await client.find(isError('VALIDATION_ERROR'))).toMatchObject({ channel: 'fills' });
    await client.find(isOp('unsubscribed', 'fills'));
    const again = await client.ask({ op: 'subscribe', channel: 'fills', after: 0 }, isOp('subscribed', 'fills'));
    expect(again).not.toHaveProperty('duplicate');
  });
});

describe('who may', () => {
  it('lets a read agent and an API key in, and each subscribes as its trader', async () => {
    const reader = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, permissions: 'read' } });
    const client = await openFor(reader);
    await client.ask({ op: 'subscribe', channel: 'account' }, isData('account'));

    const address = reader.trader.account.address;
    const sign = signWith(new Wallet(reader.trader.privateKey), await domainOf(sandbox));
    const issued = await sandbox.post(`${BASE}/api-keys`, await keyIssue(sign, address, 'socket'));
    const { apiKey } = issued.body as { apiKey: string };
    const other = await open();
    expect(await other.ask({ op: 'auth', apiKey }, isOp('authenticated'))).toEqual({
      op: 'authenticated',
      trader: address.toLowerCase(),
      via: 'apiKey',
    });
    const snapshot = await other.ask({ op: 'subscribe', channel: 'account' }, isData('account'));
    expect((snapshot['data'] as { address: string }).address.toLowerCase()).toBe(address.toLowerCase());
  });

  it('refuses private channels before, and whatever is wrong with the proof', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const client = await open();
    const { definition } = chain;
    const refused = async (message: unknown, code: string): Promise<Message> => client.ask(message, isError(code));
    expect(await refused({ op: 'subscribe', channel: 'orders' }, 'UNAUTHENTICATED')).toMatchObject({ channel: 'orders' });
    await refused({ op: 'auth', apiKey: 'nonsense' }, 'API_KEY_UNKNOWN');
    await refused(await wsAuth(new Wallet(generatePrivateKey()), definition), 'AGENT_UNKNOWN');
    await refused(await wsAuth(agent.wallet, definition, { operationId: 'getAccount' }), 'INVALID_SIGNATURE');
    await refused(await wsAuth(agent.wallet, definition, { path: '/v1/base/ws' }), 'INVALID_SIGNATURE');
    await refused(await wsAuth(agent.wallet, definition, { method: 'GET' }), 'INVALID_SIGNATURE');
    await refused(await wsAuth(agent.wallet, definition, { timestamp: Date.now() - 60_000 }), 'TIMESTAMP_OUT_OF_WINDOW');
    await refused({ ...(await wsAuth(agent.wallet, definition)), nonce: '-1' }, 'VALIDATION_ERROR');
    const proof = await wsAuth(agent.wallet, definition);
    await client.ask(proof, isOp('authenticated'));
    await refused(proof, 'NONCE_REUSED');
    const stranger = await newAgentTrader(sandbox, chain);
    await refused(await wsAuth(stranger.wallet, definition), 'TRADER_MISMATCH');
    await client.ask({ op: 'subscribe', channel: 'orders' }, isData('orders'));
  });

  it('answers what is said right after the proof as one who is let in', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const client = await open();
    client.send(await wsAuth(agent.wallet, chain.definition));
    client.send({ op: 'subscribe', channel: 'fills' });
    await client.find(isData('fills'));
    expect(client.received.filter(({ op }) => op !== undefined).map(({ op }) => op)).toEqual(['hello', 'authenticated', 'subscribed']);
  });
});
