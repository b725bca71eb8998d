import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectSocket } from 'node:net';
import { systemClock } from '../../core/adapters/system/clock.js';
import { createFaultProxy, type FaultProxy } from '../../sandbox/fault-proxy.js';
import {
  CLUSTER_CHAIN,
  otherThan,
  startCluster,
  untilOwned,
  type Cluster,
  type ClusterBot,
  type Member,
} from '../harness/process/cluster.js';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, orderAction, signL1 } from '../harness/hyperliquid/exchange.js';
import { expectRelayInvariants } from '../harness/checks/relay-invariants.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { connect } from '../native-api/ws/socket-client.js';

/** How a gateway of production ends: it answers or closes every connection, and takes no longer than it must. */

let sandbox: TestVenue;
let cluster: Cluster;
let bot: ClusterBot;
let proxy: FaultProxy;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_BLOCK_MS: '200' });
  sandbox.controls.prices.jump(0, '60000');
  proxy = await createFaultProxy({ target: firstChain(sandbox).rpcUrl, clock: systemClock });
  cluster = await startCluster(sandbox, { settings: { RPC_URL_ARBITRUM_SEPOLIA: proxy.url, FACADE_HOLD_MS: '8000' } });
  bot = await cluster.newBot();
});
afterAll(async () => {
  await cluster.stop();
  await proxy.close();
  await sandbox.stop();
});

async function ended(member: Member, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
  member.signal(signal);
  return member.ended();
}

/** A request whose headers announce a body that never arrives. */
function hangingRequest(url: string): Promise<void> {
  const { port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connectSocket(Number(port), '127.0.0.1', () => {
      socket.write(`POST /hl/${CLUSTER_CHAIN}/info HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
      resolve();
    });
    socket.on('error', () => undefined);
  });
}

/** A client that opens a WebSocket and never answers the close frame. */
function silentSocket(url: string): Promise<void> {
  const { port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connectSocket(Number(port), '127.0.0.1', () =>
      socket.write(
        `GET /v1/${CLUSTER_CHAIN}/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      ),
    );
    socket.on('error', () => undefined).once('data', () => resolve());
  });
}

interface RawAnswer {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** As a client that keeps its connections. */
async function heldOrder(member: Member): Promise<RawAnswer> {
  const text = JSON.stringify(await signL1(bot.agent, orderAction(order({ p: '61000' }))));
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers, agent: new Agent({ keepAlive: true }) };
    const asked = httpRequest(`${member.url()}/hl/${CLUSTER_CHAIN}/exchange`, options, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString())).on('end', () => resolve({ headers: answer.headers, body }));
    });
    asked.on('error', reject).end(text);
  });
}

const refusesConnections = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = httpRequest(`${url}/health`, { agent: false }, (answer) => {
      answer.resume();
      resolve(false);
    });
    probe.on('error', () => resolve(true)).end();
  });

describe('a gateway that is asked to end', () => {
  it('answers held requests, closes its sockets with 1012, refuses connections, and hands chain and lane over at once', async () => {
    const { owner: leaving } = await untilOwned(cluster, 'follower');
    const staying = otherThan(cluster, leaving);
    const chain = firstChain(sandbox);
    chain.setOraclePolicy(null, { mode: 'hold' });
    const socket = await connect(leaving.url());
    const answer = heldOrder(leaving);
    await eventually(
      () => cluster.books.store.account.ordersBefore(CLUSTER_CHAIN, bot.trader.account.address.toLowerCase() as `0x${string}`, null, 10),
      (orders) => orders.some(({ order: { status } }) => status === 'pending'),
    );
    leaving.signal('SIGTERM');
    const closeCode = await socket.closed;
    const held = await answer;
    expect(closeCode).toBe(1012);
    expect(held.headers.connection).toBe('close');
    expect(JSON.parse(held.body)).toMatchObject({
      status: 'ok',
      response: { data: { statuses: [{ resting: { oid: expect.any(Number) } }] } },
    });
    expect(await refusesConnections(leaving.url())).toBe(true);
    expect(await leaving.ended()).toBe(0);
    await untilOwned(cluster, 'follower', staying);
    await untilOwned(cluster, 'lane', staying);
    chain.setOraclePolicy(null, { mode: 'auto' });
    await expectRelayInvariants(cluster.purse, { slug: CLUSTER_CHAIN, store: cluster.books.store.relay });
    await leaving.start();
  });

  it('ends with 0 in time although a client hangs, a body never comes and its node is stuck', async () => {
    const [member] = cluster.members;
    await hangingRequest(member.url());
    await silentSocket(member.url());
    proxy.set({ mode: 'slow', latencyMs: 60_000 });
    const code = await ended(member);
    proxy.set({ mode: 'ok' });
    expect(code).toBe(0);
  });

  it('ends with 0 in time although its database is silent', async () => {
    const [first, member] = cluster.members;
    member.line.freeze();
    const code = await ended(member);
    member.line.heal();
    expect(code).toBe(0);
    await first.start({ SHUTDOWN_DELAY_MS: '3000' });
  });

  it('ends at once on a second signal', async () => {
    const [member] = cluster.members;
    await hangingRequest(member.url());
    member.signal('SIGTERM');
    const signalling = setInterval(() => member.signal('SIGINT'), 100);
    const code = await member.ended();
    clearInterval(signalling);
    // An orderly end has the code 0.
    expect(code).toBe(1);
  });
});
