import { lower } from '../../core/domain/interpret-executions.js';
import { agentTrader, newAgentTrader, refusal, type AgentTrader, type Answer, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import {
  CLUSTER_CHAIN,
  otherThan,
  startCluster,
  untilOwned,
  type Cluster,
  type ClusterBot,
  type Member,
} from '../harness/process/cluster.js';
import { eventually, until } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import { expectRelayInvariants } from '../harness/checks/relay-invariants.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { signRequest } from '../harness/traders/signed-request.js';

/** Two gateways as they are run in production, on one database and one chain: a client sees no difference from a single gateway. */

const WRITE_LIMIT = 12;

let sandbox: TestVenue;
let cluster: Cluster;
let bot: ClusterBot;
/** A second bot, because the attacks use up the write limit of the first. */
let trusted: ClusterBot;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_BLOCK_MS: '200' });
  sandbox.controls.prices.jump(0, '60000');
  cluster = await startCluster(sandbox, { settings: { RATE_LIMIT_AGENT_WRITES: String(WRITE_LIMIT) } });
  bot = await cluster.newBot();
  trusted = await cluster.newBot();
});
afterAll(async () => {
  await cluster.stop();
  await sandbox.stop();
});

/** Waits where needed, so that a counted minute does not end within a test. */
const untilMinuteLasts = (): Promise<void> => until(() => Date.now() % 60_000 < 50_000);

const bothWays = (agent: AgentTrader): readonly AgentTrader[] =>
  cluster.members.map(({ front }) => agentTrader(front, firstChain(sandbox), agent.trader, agent.wallet));

const newAgent = (scope = EVERYTHING): Promise<AgentTrader> =>
  newAgentTrader(cluster.members[0].front, firstChain(sandbox), { usdc: '100000', scope });

/** Sends all requests at once, alternating between both replicas. */
const attack = <Reply>(count: number, ask: (turn: number) => Promise<Reply>): Promise<Reply[]> =>
  Promise.all(Array.from({ length: count }, (_, turn) => ask(turn)));

const buy = (changes: Json = {}): Json => ({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10', ...changes });
const resting = (price: number) => orderAction(order({ p: String(price), t: { limit: { tif: 'Alo' } } }));
const passed = (answers: readonly Answer[]): Answer[] => answers.filter(({ status }) => status < 300);

describe('two replicas under attack', () => {
  it('accept one of twenty copies of a signed request', async () => {
    const { wallet, trader } = await newAgent();
    const path = `/v1/${CLUSTER_CHAIN}/account/${trader.account.address}`;
    const headers = await signRequest(wallet, firstChain(sandbox).definition, { operationId: 'getAccount', method: 'GET', path });
    const answers = await attack(20, (turn) => fetch(`${cluster.members[turn % 2]?.url()}${path}`, { headers }));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 401)]);
  });

  it('accept one of ten copies of a bot’s signed action', async () => {
    const before = (await bot.trader.trades()).length;
    const body = await signL1(bot.agent, resting(41_000));
    const answers = await attack(10, (turn) => postExchange(cluster.members[turn % 2]?.url() ?? '', CLUSTER_CHAIN, body));
    expect(answers.filter((answer) => (answer.body as { status: string }).status === 'ok')).toHaveLength(1);
    await expectRelayInvariants(cluster.purse, { slug: CLUSTER_CHAIN, store: cluster.books.store.relay });
    expect(await bot.trader.trades()).toHaveLength(before + 1);
  });

  it('count the writes of an agent together, and its spending, and its client ids', async () => {
    const [free, capped, twice] = [await newAgent(), await newAgent({ ...EVERYTHING, dailySpendCapUsd: '1000' }), await newAgent()];
    const through = (agent: AgentTrader, count: number, body: Json): Promise<Answer[]> => {
      const ways = bothWays(agent);
      return attack(count, (turn) => ways[turn % 2]?.create(body) ?? Promise.reject(new Error('no way')));
    };
    await untilMinuteLasts();
    const writes = await through(free, WRITE_LIMIT + 8, buy());
    expect(passed(writes)).toHaveLength(WRITE_LIMIT);
    expect(new Set(writes.filter(({ status }) => status >= 300).map((answer) => refusal(answer).join()))).toEqual(
      new Set(['429,RATE_LIMITED']),
    );
    const spent = await through(capped, WRITE_LIMIT, buy());
    const [refused] = spent.filter(({ status }) => status >= 300);
    const { requestedUsd, capUsd } = refused?.body['details'] as { requestedUsd: string; capUsd: string };
    expect(passed(spent)).toHaveLength(Math.floor(Number(capUsd) / Number(requestedUsd)));
    const named = await through(twice, 8, buy({ clientId: 'once' }));
    expect(new Set(passed(named).map(({ body }) => (body['order'] as Json)['id'])).size).toBe(1);
    expect(passed(named)).toHaveLength(8);
  });
});

describe('two replicas of which one is killed', () => {
  /** An order that takes longer than the time for its answer is called resting first, as on a busy machine. */
  async function fills(member: Member): Promise<void> {
    const answer = await trusted.send(member, orderAction(order({ p: '61000' })));
    expect(answer).toMatchObject({ status: 'ok', response: { data: { statuses: [expect.anything()] } } });
    const [status] = (answer as { response: { data: { statuses: Record<string, { oid: number }>[] } } }).response.data.statuses;
    const oid = BigInt((status?.['filled'] ?? status?.['resting'])?.oid ?? -1);
    await eventually(
      () => cluster.books.store.account.ordersBefore(CLUSTER_CHAIN, lower(trusted.trader.account.address), null, 100),
      (all) => all.some(({ id, order: { status: known } }) => id === oid && known === 'filled'),
    );
  }

  it('fill a bot’s order at the one that does not follow the chain', async () => {
    const { owner } = await untilOwned(cluster, 'follower');
    const { owner: lane } = await untilOwned(cluster, 'lane');
    for (const member of new Set([otherThan(cluster, owner), otherThan(cluster, lane)])) await fills(member);
  });

  it('follow the chain on after kill -9 of the follower', async () => {
    const { owner } = await untilOwned(cluster, 'follower');
    const other = otherThan(cluster, owner);
    await owner.kill();
    await untilOwned(cluster, 'follower', other);
    // The one that was killed may have been the sender as well.
    await untilOwned(cluster, 'lane', other);
    await fills(other);
    await owner.start();
  });

  it('send each order once when kill -9 hits the sender with orders in flight', async () => {
    const { owner } = await untilOwned(cluster, 'lane');
    const other = otherThan(cluster, owner);
    const before = (await trusted.trader.trades()).length;
    const answers = attack(8, (turn) => trusted.send(turn < 6 ? other : owner, resting(42_000 + 10 * turn)).catch(() => null));
    await eventually(
      () => cluster.books.store.relay.open(CLUSTER_CHAIN, cluster.relayer),
      (open) => open.length > 0,
    );
    await owner.kill();
    await untilOwned(cluster, 'lane', other);
    for (const answer of (await answers).slice(0, 6)) expect(answer).toMatchObject({ status: 'ok' });
    await expectRelayInvariants(cluster.purse, { slug: CLUSTER_CHAIN, store: cluster.books.store.relay });
    const placed = (await trusted.trader.trades()).length - before;
    expect([6, 7, 8]).toContain(placed);
    await expectViewEqualsChain(cluster.books, CLUSTER_CHAIN, trusted.trader);
  });
});
