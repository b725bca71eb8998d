import { systemClock } from '../../core/adapters/system/clock.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { createFaultProxy, type FaultProxy } from '../../sandbox/fault-proxy.js';
import { createTestDatabase, type TestDatabase } from '../harness/database/test-database.js';
import { eventually, until } from '../harness/time/eventually.js';
import { startSecondGateway, whenReady, type SecondGateway } from '../harness/venue/second-gateway.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { checkExchange } from '../harness/checks/openapi-check.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const CHAIN = 'arbitrum-sepolia';

interface ChainReady {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  readonly block: number | null;
  readonly followed: {
    readonly block: number | null;
    readonly behind: number | null;
    readonly catchUp: { percent: number; blocksPerSecond: number | null; secondsLeft: number | null; behind: number } | null;
  };
  readonly endpoints: readonly { host: string; state: string; failures: number; head: number | null; lastError: { text: string } | null }[];
}

let sandbox: TestVenue;
let chain: ChainControls;
const proxies: FaultProxy[] = [];
const gateways: SecondGateway[] = [];

beforeAll(async () => {
  sandbox = await sharedVenue();
  const [only] = sandbox.controls.chains;
  if (!only) throw new Error('the sandbox has no chain');
  chain = only;
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop();
  for (const proxy of proxies.splice(0)) await proxy.close();
});
afterAll(() => sandbox.stop());

async function way(): Promise<FaultProxy> {
  const proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
  proxies.push(proxy);
  return proxy;
}

async function readyOf(beside: { get: SecondGateway['get'] }): Promise<{ status: number; chain: ChainReady }> {
  const { status, body } = await beside.get('/ready');
  checkExchange('GET', '/ready', status, body);
  const { chains } = body as { chains: Record<string, ChainReady> };
  const own = chains[CHAIN];
  if (!own) throw new Error('the chain is missing from /ready');
  return { status, chain: own };
}

describe('GET /ready', () => {
  it('shows each node of a chain by its host with its state, and stays ready while one of them serves', async () => {
    const [first, second] = [await way(), await way()];
    const rpcUrls = [`${first.url}/v2/SECRET-KEY`, `${second.url}/?key=SECRET-KEY`];
    const beside = await startSecondGateway(sandbox, { hosts: { rpcUrls } });
    gateways.push(beside);
    await eventually(
      () => readyOf(beside),
      ({ status, chain: { endpoints } }) => status === 200 && endpoints.every(({ state, head }) => state === 'ok' && head !== null),
    );
    first.set({ mode: 'down' });
    const broken = await eventually(
      () => readyOf(beside),
      ({ chain: { endpoints } }) => endpoints[0]?.state === 'resting',
    );
    expect(broken.status).toBe(200);
    expect(broken.chain.endpoints.map(({ host }) => host)).toEqual([new URL(first.url).host, new URL(second.url).host]);
    expect(JSON.stringify([broken, beside.log.entries], big)).not.toContain('SECRET-KEY');
    second.set({ mode: 'down' });
    const gone = await eventually(
      () => readyOf(beside),
      ({ status }) => status === 503,
    );
    expect(gone.chain.reasons.join()).toMatch(/the node cannot be asked: no node answered: 127\.0\.0\.1:\d+: cannot be reached/);
    first.set({ mode: 'ok' });
    await eventually(
      () => readyOf(beside),
      ({ status, chain: { endpoints } }) => status === 200 && endpoints[0]?.state === 'ok',
    );
  });

  it('is 503 while the events are far behind, and says how fast they come nearer and how long it will take', async () => {
    await chain.mine(800);
    const head = Number(await chain.request('eth_blockNumber', []));
    const database: TestDatabase = await createTestDatabase();
    const proxy = await way();
    const seen: ChainReady[] = [];
    const isLate = ({ followed: { catchUp } }: ChainReady): boolean =>
      catchUp !== null && catchUp.percent > 50 && catchUp.secondsLeft !== null;
    // A provider with short ranges. It gives the later ones once /ready was seen to speak of those before them.
    proxy.onRequest(async (body) => {
      const range = rangeIn(body);
      if (range === null) return undefined;
      if (range.blocks > 40) return { answer: { error: { code: -32005, message: 'block range is too long' } } };
      if (range.to > head * 0.4) await until(() => seen.length > 0);
      if (range.to > head * 0.9) await until(() => seen.some(isLate));
      return undefined;
    });
    const chains = sandbox.config.chains.map((one) => ({ ...one, startBlock: 0n }));
    const beside = await startSecondGateway(
      { ...sandbox, config: { ...sandbox.config, chains, database: { kind: 'server', url: database.url } } },
      { hosts: { rpcUrls: [proxy.url] } },
    );
    gateways.push(beside);
    await eventually(
      async () => {
        const { status, chain: own } = await readyOf(beside);
        if (own.followed.catchUp !== null && status === 503) seen.push(own);
        return status;
      },
      (status) => status === 200,
    );
    expect(seen[0]?.followed.catchUp?.percent).toBeLessThan(50);
    const late = seen.find(isLate);
    expect(late?.followed.catchUp?.blocksPerSecond).toBeGreaterThan(0);
    expect(late?.reasons.join()).toMatch(/in up to block \d+ of \d+ \([\d.]+ %, [\d.]+ blocks per second, about \d+ s left\)/);
    await eventually(
      () => beside.log.entries.map(({ event }) => event),
      (events) => events.includes('chain.catch-up') && events.includes('chain.caught-up'),
    );
    await beside.stop();
    gateways.splice(0);
    await database.drop();
  });

  it('is 503 when the last look at the head is too long ago, whatever the distance in blocks', async () => {
    const clock = createShiftedClock();
    const proxy = await way();
    const beside = await startSecondGateway(sandbox, { clock, hosts: { rpcUrls: [proxy.url] } });
    gateways.push(beside);
    await eventually(
      () => readyOf(beside),
      ({ status }) => status === 200,
    );
    proxy.set({ mode: 'slow', latencyMs: 600_000 });
    // A look that was on its way may still come back, and then a minute more has to pass.
    const aMinuteLater = () => {
      clock.move(60_000);
      return readyOf(beside);
    };
    const { status } = await eventually(aMinuteLater, ({ chain: own }) =>
      /the newest block is \d+ s old|in up to block/.test(own.reasons.join()),
    );
    expect(status).toBe(503);
  });

  it('is 503 while the gateway ends, and can be asked for as long as a balancer may still send requests', async () => {
    const clock = createShiftedClock();
    const config = { ...sandbox.config, shutdownDelayMs: 600_000 };
    const beside = await startSecondGateway({ ...sandbox, config }, { clock });
    gateways.push(beside);
    await whenReady(beside);
    const ended = beside.stop();
    const { status, body } = await beside.get('/ready');
    expect([status, body]).toMatchObject([503, { ready: false, stopping: true, database: { ready: true } }]);
    clock.pass(600_000);
    await ended;
    await expect(beside.get('/ready')).rejects.toThrow();
  });

  it('stays ready on the configuration that the chain itself gives while the backend is silent, and is 503 while prices are', async () => {
    const clock = createShiftedClock();
    const beside = await startSecondGateway(sandbox, { clock, hosts: { backendUrl: 'http://127.0.0.1:9' } });
    gateways.push(beside);
    const before = await eventually(
      () => readyOf(beside),
      ({ chain: { reasons } }) => reasons.length === 1,
    );
    expect([before.status, before.chain.reasons]).toEqual([503, [expect.stringMatching(/^the config feed is/)]]);
    clock.move(130_000); // longer than the backend is waited for
    const { chain: own } = await eventually(
      () => readyOf(beside),
      ({ status }) => status === 200,
    );
    expect(own.reasons).toEqual([]);
    const venue = beside.gateway.venues.get(CHAIN);
    expect(venue?.feed.status()).toMatchObject({ configFrom: 'chain' });
    expect((await beside.get(`/v1/${CHAIN}/markets`)).status).toBe(200);
    // Prices that are silent are another matter: the last ones are still listed.
    sandbox.controls.prices.pauseFeed(true);
    clock.move(60_000);
    const silent = await eventually(
      () => readyOf(beside),
      ({ chain: { reasons } }) => reasons.join().includes('price'),
    );
    expect(silent.status).toBe(503);
    expect(((await beside.get(`/v1/${CHAIN}/prices`)).body as { data: unknown[] }).data).toHaveLength(17);
    sandbox.controls.prices.pauseFeed(false);
    await eventually(
      () => readyOf(beside),
      ({ status }) => status === 200,
    );
  });
});

const big = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);

/** The range of logs that is asked for. */
function rangeIn(body: unknown): { readonly to: number; readonly blocks: number } | null {
  const [, from, to] = /"fromBlock":"(0x[0-9a-f]+)","toBlock":"(0x[0-9a-f]+)"/.exec(JSON.stringify(body)) ?? [];
  return from === undefined || to === undefined ? null : { to: Number(to), blocks: Number(to) - Number(from) + 1 };
}
