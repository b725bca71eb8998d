import { rm } from 'node:fs/promises';
import { z } from 'zod';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { agentTrader, newAgentTrader } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { startResumingClient } from '../harness/process/resuming-client.js';
import {
  CLUSTER_CHAIN,
  otherThan,
  startCluster,
  untilOwned,
  type Cluster,
  type ClusterBot,
  type Member,
} from '../harness/process/cluster.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually, until } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, orderAction } from '../harness/hyperliquid/exchange.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { expectRelayInvariants } from '../harness/checks/relay-invariants.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { makeTemporaryFolder } from '../harness/database/temporary-folder.js';

/** Two replicas on a database server of their own, one of which receives no database notifications, through kills, cuts and restarts. */

const TAKEOVER_MS = 10_000;

let sandbox: TestVenue;
let server: EmbeddedPostgres;
let folder: string;
let cluster: Cluster;
let bot: ClusterBot;
let asked = 40_000;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_BLOCK_MS: '200' });
  sandbox.controls.prices.jump(0, '60000');
  folder = await makeTemporaryFolder('diamond-gateway-cluster');
  server = await startEmbeddedPostgres({ folder, log: createRecordedLog(), clock: systemClock, durable: true }); // it is killed, and must keep what it committed
  cluster = await startCluster(sandbox, { databaseUrl: server.url, secondLine: { isDeaf: true }, settings: { FACADE_HOLD_MS: '8000' } });
  bot = await cluster.newBot();
}, 120_000);
afterAll(async () => {
  await cluster.stop();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
  await sandbox.stop();
});

/** A price of its own for each: what is sent twice shows. */
const resting = () => orderAction(order({ p: String((asked += 10)), t: { limit: { tif: 'Alo' } } }));
const market = () => orderAction(order({ p: '61000' }));
const FILLED = { response: { data: { statuses: [{ filled: { totalSz: '0.01' } }] } } };

async function expectEverythingInOrder(): Promise<void> {
  await expectRelayInvariants(cluster.purse, { slug: CLUSTER_CHAIN, store: cluster.books.store.relay });
  await expectViewEqualsChain(cluster.books, CLUSTER_CHAIN, bot.trader);
}

const askReady = (member: Member): Promise<Response> => fetch(`${member.url()}/ready`);
const Lanes = z.object({ chains: z.record(z.string(), z.object({ relayer: z.object({ ready: z.boolean() }) })) });
/** Ready, and its relayer can send: a relayer that cannot is reported in a ready answer. */
const untilReady = (member: Member): Promise<unknown> =>
  eventually(async () => {
    const reply = await askReady(member);
    if (reply.status !== 200) return false;
    const { chains } = Lanes.parse(await reply.json());
    return Object.values(chains).every(({ relayer }) => relayer.ready);
  }, Boolean);

describe('two replicas', () => {
  it('answer a bot in time at the one without notifications while the other follows the chain', async () => {
    const [notified, unnotified] = cluster.members;
    unnotified.signal('SIGTERM');
    await unnotified.ended();
    await unnotified.start();
    await untilOwned(cluster, 'follower', notified);
    for (let turn = 0; turn < 3; turn += 1) expect(await bot.send(unnotified, market())).toMatchObject(FILLED);
    await expectEverythingInOrder();
  }, 120_000);

  it('survive repeated kill -9 of the database, answer 503 with Retry-After meanwhile, and lose nothing', async () => {
    const agent = await newAgentTrader(cluster.members[0].front, firstChain(sandbox));
    const ways = cluster.members.map(({ front }) => agentTrader(front, firstChain(sandbox), agent.trader, agent.wallet));
    const seen = new Map<string, number>();
    let isOver = false;
    const reading = ways.map(async (way) => {
      while (!isOver) {
        const { status, headers, body } = await way.call('getAccount', 'GET', `/account/${agent.trader.account.address}`);
        const refused = `${status} ${String((body as { code?: unknown }).code)} Retry-After ${headers.get('Retry-After') === null ? 'no' : 'yes'}`;
        const what = status === 200 ? '200' : refused;
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }
    });
    const before = (await bot.trader.trades()).length;
    let placed = 0;
    for (let turn = 0; turn < 4; turn += 1) {
      const sending = bot.send(cluster.members[turn % 2] ?? cluster.members[0], resting());
      const { pid, state } = server;
      const dying = pid();
      if (dying !== null) process.kill(dying, 'SIGKILL');
      const answer = (await sending) as { status?: string };
      if (answer.status === 'ok') placed += 1;
      await until(() => state() === 'running' && pid() !== dying);
    }
    await Promise.all(cluster.members.map(untilReady));
    isOver = true;
    await Promise.all(reading);
    for (const member of cluster.members) expect(await bot.send(member, market())).toMatchObject(FILLED);
    await expectEverythingInOrder();
    expect((await bot.trader.trades()).length - before).toBeGreaterThanOrEqual(placed + 2);
    expect([...seen.keys()].filter((what) => what !== '200')).toEqual(['503 NOT_READY Retry-After yes']);
  }, 240_000);

  it('hand over when one is cut off from the database; it sends nothing more and recovers when reconnected', async () => {
    await Promise.all(cluster.members.map(untilReady));
    const { owner } = await untilOwned(cluster, 'lane');
    const other = otherThan(cluster, owner);
    const before = (await bot.trader.trades()).length;
    const inFlight = Promise.all(Array.from({ length: 6 }, () => bot.send(other, resting())));
    await eventually(
      () => cluster.books.store.relay.open(CLUSTER_CHAIN, cluster.relayer),
      (open) => open.length > 0,
    );
    owner.line.freeze();
    const cutAt = Date.now();
    await eventually(
      () => askReady(owner),
      ({ status }) => status === 503,
    );
    const { ms } = await untilOwned(cluster, 'lane', other);
    await untilOwned(cluster, 'follower', other);
    expect(Date.now() - cutAt).toBeLessThan(TAKEOVER_MS + 2_000);
    expect(ms).toBeLessThan(TAKEOVER_MS);
    expect((await inFlight).map((answer) => (answer as { status: string }).status)).toEqual(Array.from({ length: 6 }, () => 'ok'));
    expect(await bot.send(other, market())).toMatchObject(FILLED);
    owner.line.heal();
    await untilReady(owner);
    expect(await bot.send(owner, market())).toMatchObject(FILLED);
    await expectEverythingInOrder();
    expect(await bot.trader.trades()).toHaveLength(before + 8);
  }, 240_000);

  it('hand over when one is stopped by SIGSTOP, and nothing is sent or written twice when it goes on', async () => {
    await Promise.all(cluster.members.map(untilReady));
    const before = (await bot.trader.trades()).length;
    for (let turn = 0; turn < 4; turn += 1) {
      const { owner } = await untilOwned(cluster, turn % 2 === 0 ? 'lane' : 'follower');
      const other = otherThan(cluster, owner);
      const inFlight = Promise.all(Array.from({ length: 6 }, () => bot.send(other, resting())));
      await eventually(
        () => cluster.books.store.relay.open(CLUSTER_CHAIN, cluster.relayer),
        (open) => open.length > turn,
      );
      owner.signal('SIGSTOP');
      await Promise.all([untilOwned(cluster, 'lane', other), untilOwned(cluster, 'follower', other)]);
      expect((await inFlight).map((answer) => (answer as { status: string }).status)).toEqual(Array.from({ length: 6 }, () => 'ok'));
      const late = Promise.all(Array.from({ length: 2 }, () => bot.send(other, resting())));
      owner.signal('SIGCONT');
      expect((await late).map((answer) => (answer as { status: string }).status)).toEqual(['ok', 'ok']);
      await untilReady(owner);
      expect(await cluster.ownerOf('lane')).toBe(other);
      expect(await bot.send(owner, market())).toMatchObject(FILLED);
      await expectEverythingInOrder();
    }
    expect(await bot.trader.trades()).toHaveLength(before + 4 * 9);
  }, 240_000);

  it('are restarted one after the other under load, and a client with a cursor misses nothing and receives nothing twice', async () => {
    const agent = await newAgentTrader(cluster.members[0].front, firstChain(sandbox), { usdc: '100000' });
    const client = await startResumingClient(agent, firstChain(sandbox), cluster.members);
    const over = new AbortController();
    const isOver = (): boolean => over.signal.aborted;
    let sent = 0;
    const load = (async () => {
      for (; !isOver(); sent += 1) await agent.trader.open({ tradeType: 1, openPrice: price(40_000 + sent) });
    })();
    for (const member of cluster.members) {
      const since = sent;
      member.signal('SIGTERM');
      expect(await member.ended()).toBe(0);
      await member.start();
      await until(() => sent > since + 2);
    }
    over.abort();
    await load;
    const trader = agent.trader.account.address.toLowerCase() as `0x${string}`;
    const journalCursors = async (): Promise<number[]> =>
      (await cluster.books.store.journal.after(CLUSTER_CHAIN, trader, 0n, 1_000)).flatMap(({ fact, cursor }) =>
        fact.kind === 'order' ? [Number(cursor)] : [],
      );
    await eventually(journalCursors, (cursors) => cursors.length >= sent);
    const all = await journalCursors();
    await until(() => client.cursors.length >= all.length);
    expect(client.cursors).toEqual(all);
    expect(client.codes).toContain(1012);
    await client.stop();
    await expectViewEqualsChain(cluster.books, CLUSTER_CHAIN, agent.trader);
  }, 240_000);
});
