import { Wallet } from 'ethers';
import { WebSocket } from 'ws';
import { eventually, eventuallyOn } from '../harness/time/eventually.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { startOwnVenue, type Reply, type TestVenue } from '../harness/venue/own-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

const TOKEN = 'a-token-of-sixteen-or-more';
const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;

beforeAll(async () => {
  sandbox = await startOwnVenue({ OPERATOR_TOKEN: TOKEN });
});
afterAll(() => sandbox.stop());

const AS_OPERATOR = { headers: { Authorization: `Bearer ${TOKEN}` } };
const ask = (path: string): Promise<Reply> => sandbox.call(path, AS_OPERATOR);

async function scrapeOf(url: string): Promise<string> {
  const response = await fetch(`${url}/metrics`, AS_OPERATOR);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  return response.text();
}
const scrape = (): Promise<string> => scrapeOf(sandbox.url);
/** What is shown is up to a second old. */
const collected = eventuallyOn(() => sandbox.clock);

/** The value of the one line that has this name and all of these labels; null when there is none. */
function valueIn(text: string, name: string, labels: Record<string, string> = {}): number | null {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const lines = text.split('\n').filter((line) => /^[a-z_0-9]+/.exec(line)?.[0] === name && wanted.every((label) => line.includes(label)));
  expect(lines.length).toBeLessThanOrEqual(1);
  return lines[0] === undefined ? null : Number(lines[0].split(' ').at(-1));
}

interface Status {
  readonly chains: readonly {
    readonly wallets: readonly {
      readonly balanceWei: string;
      readonly burn: { readonly dayWei: string };
      readonly runwayDays: number;
      readonly traders: number;
    }[];
    readonly today: {
      readonly total: { readonly transactions: number; readonly costWei: string };
      readonly topTraders: readonly { readonly trader: string }[];
    };
  }[];
}

describe('the metrics', () => {
  it('are for the operator alone', async () => {
    const response = await fetch(`${sandbox.url}/metrics`);
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([401, 'UNAUTHENTICATED']);
  });

  it('count requests of both front ends by operation and code, those from stored bytes too', async () => {
    const native = { api: 'native', operation: 'listMarkets', code: '200' };
    const facade = { api: 'facade', operation: 'meta', code: '200' };
    const before = await scrape();
    for (let at = 0; at < 3; at += 1) {
      await sandbox.get(`/v1/${CHAIN}/markets`);
      await fetch(`${sandbox.url}/hl/${CHAIN}/info`, { method: 'POST', body: '{"type":"meta"}' });
    }
    await sandbox.get(`/v1/${CHAIN}/orders/abc`);
    const countIn = (text: string, labels: Record<string, string>): number => valueIn(text, 'gateway_http_requests_total', labels) ?? 0;
    const after = await collected(scrape, (text) => countIn(text, native) >= countIn(before, native) + 3);
    for (const labels of [native, facade]) expect(countIn(after, labels)).toBe(countIn(before, labels) + 3);
    const { operation } = native;
    expect(valueIn(after, 'gateway_http_request_seconds_count', { operation })).toBe(
      valueIn(after, 'gateway_http_request_seconds_bucket', { operation, le: '+Inf' }),
    );
  });

  it('count what is posted on a socket of the facade, as over HTTP', async () => {
    const socket = new WebSocket(`${sandbox.url.replace('http', 'ws')}/hl/${CHAIN}/ws`);
    await new Promise((resolve) => socket.once('open', resolve));
    const post = (id: number, type: string, payload: object): void =>
      socket.send(JSON.stringify({ method: 'post', id, request: { type, payload } }));
    post(1, 'info', { type: 'meta' });
    post(2, 'info', { type: 'no-such-thing' });
    post(3, 'action', { action: { type: 'order' } });
    const labels = { api: 'facade', transport: 'ws' };
    const text = await collected(
      scrape,
      (now) => valueIn(now, 'gateway_http_requests_total', { ...labels, operation: 'order', code: '400' }) === 1,
    );
    expect(valueIn(text, 'gateway_http_requests_total', { ...labels, operation: 'meta', code: '200' })).toBe(1);
    expect(valueIn(text, 'gateway_http_requests_total', { ...labels, operation: 'info', code: '422' })).toBe(1);
    socket.terminate();
  });

  it('are collected once a second, however often they are asked for', async () => {
    await eventually(
      () => Promise.all(Array.from({ length: 8 }, scrape)),
      (texts) => new Set(texts).size === 1,
    );
  });

  it('describe chains, nodes, sockets and the process', async () => {
    const socket = new WebSocket(`${sandbox.url.replace('http', 'ws')}/v1/${CHAIN}/ws`);
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ op: 'subscribe', channel: 'prices' }));
    const isBelow = (most: number, value: number | null): boolean => value !== null && value < most;
    const text = await collected(
      scrape,
      (now) =>
        valueIn(now, 'gateway_subscriptions', { api: 'native' }) === 1 &&
        isBelow(50, valueIn(now, 'gateway_follower_lag_blocks', { chain: CHAIN })) &&
        isBelow(10, valueIn(now, 'gateway_chain_head_age_seconds', { chain: CHAIN })) &&
        isBelow(30, valueIn(now, 'gateway_feed_age_seconds', { chain: CHAIN, part: 'price' })),
    );
    expect(valueIn(text, 'gateway_sockets', { api: 'native' })).toBe(1);
    expect(valueIn(text, 'gateway_rpc_requests_total', { chain: CHAIN, outcome: 'answered' })).toBeGreaterThan(0);
    const head = { chain: CHAIN, method: 'eth_getBlockByNumber' };
    expect(valueIn(text, 'gateway_rpc_calls_total', { ...head, outcome: 'answered' })).toBeGreaterThan(0);
    expect(valueIn(text, 'gateway_rpc_call_seconds_count', head)).toBeGreaterThan(0);
    expect(valueIn(text, 'gateway_event_loop_delay_seconds', { quantile: '0.99' })).not.toBeNull();
    expect(valueIn(text, 'gateway_database_pool_connections', { state: 'used' })).not.toBeNull();
    expect(valueIn(text, 'gateway_database_pool_wait_seconds_count')).toBeGreaterThan(0);
    expect(valueIn(text, 'gateway_build_info', { mode: 'sandbox' })).toBe(1);
    expect(valueIn(text, 'gateway_ready')).toBe(1);
    for (const part of ['rpc', 'follower', 'feed', 'relayer']) expect(valueIn(text, 'gateway_part_ready', { chain: CHAIN, part })).toBe(1);
    expect(valueIn(text, 'gateway_nodejs_eventloop_lag_p99_seconds')).not.toBeNull();
    expect(valueIn(text, 'gateway_store_up')).toBe(1);
    socket.terminate();
    await collected(
      scrape,
      (later) =>
        valueIn(later, 'gateway_sockets', { api: 'native' }) === 0 && valueIn(later, 'gateway_subscriptions', { api: 'native' }) === 0,
    );
  });

  it('and the status add up to what the relayer paid for a bot, without naming it in a label', async () => {
    const [before] = ((await ask('/relayer/status')).body as Status).chains;
    const bot = await newFacadeTrader(sandbox);
    const { body } = await postExchange(
      sandbox.url,
      CHAIN,
      await signL1(new Wallet(bot.agentKey), orderAction(order({ p: '20000', t: { limit: { tif: 'Gtc' } } }))),
    );
    expect(body).toMatchObject({ status: 'ok' });
    const labels = { chain: CHAIN, action: 'order', outcome: 'mined' };
    await collected(scrape, (now) => valueIn(now, 'gateway_order_seconds_count', { chain: CHAIN, type: 'limit', phase: 'mined' }) === 1);
    const text = await collected(scrape, (now) => valueIn(now, 'gateway_relayer_transactions', labels) === 1);
    const { body: seen } = await ask('/relayer/status');
    const [chain] = (seen as Status).chains;
    const [wallet] = chain?.wallets ?? [];
    const cost = Number(chain?.today.total.costWei) / 1e18;
    expect(valueIn(text, 'gateway_relayer_cost_native', labels)).toBeCloseTo(cost, 12);
    expect(wallet).toMatchObject({ burn: { dayWei: chain?.today.total.costWei }, traders: (before?.wallets[0]?.traders ?? 0) + 1 });
    expect(wallet).toMatchObject({ lane: { state: 'ok', owner: { connection: expect.any(Number) as number }, openJobs: {} } });
    expect(wallet?.runwayDays).toBeCloseTo(Number(wallet?.balanceWei) / Number(wallet?.burn.dayWei), 0);
    expect(chain?.today.topTraders.map(({ trader }) => trader)).toEqual([bot.address.toLowerCase()]);
    expect(text.toLowerCase()).not.toContain(bot.address.toLowerCase());
    const { body: costs } = await ask(`/relayer/costs?chain=${CHAIN}&by=trader`);
    expect(costs).toMatchObject({
      rows: [{ key: bot.address.toLowerCase(), transactions: 1, costWei: chain?.today.total.costWei }],
      leftOut: 0,
    });
  });

  it('count what the journal holds, and say how long ago it was read to its end', async () => {
    const database = await venueDatabase(sandbox);
    const clock = createShiftedClock();
    const beside = await startSecondGateway(sandbox, { clock });
    try {
      const held = async (): Promise<number> => {
        const { rows } = await database.query<{ count: string }>('select count(*) from journal where chain = $1', [CHAIN]);
        return Number(rows[0]?.count);
      };
      const counted = async (): Promise<number | null> => {
        clock.move(60_000); // they are added up once a minute
        return valueIn(await scrapeOf(beside.url), 'gateway_journal_entries', { chain: CHAIN });
      };
      expect(await held()).toBeGreaterThan(0);
      await eventually(
        async () => [await counted(), await held()],
        ([shown, stored]) => shown === stored,
      );
      const age = async (): Promise<number> => valueIn(await scrape(), 'gateway_journal_read_age_seconds') ?? NaN;
      await collected(age, (seconds) => seconds < 2);
      await database.query('begin');
      await database.query('lock table journal in access exclusive mode');
      await collected(age, (seconds) => seconds > 2);
      await database.query('rollback');
      await collected(age, (seconds) => seconds < 2);
    } finally {
      await database.end();
      await beside.stop();
    }
  });

  it('and /ready name a relayer that sends nothing, which takes nothing else out of service', async () => {
    const set = (mode: string, reason?: string): Promise<Reply> =>
      sandbox.call('/relayer/switches', {
        method: 'POST',
        headers: { ...AS_OPERATOR.headers, 'Content-Type': 'application/json' },
        body: JSON.stringify({ chain: CHAIN, mode, ...(reason === undefined ? {} : { reason }) }),
      });
    const part = { chain: CHAIN, part: 'relayer' };
    expect((await set('paused', 'a new node')).status).toBe(200);
    const text = await collected(scrape, (now) => valueIn(now, 'gateway_part_ready', part) === 0);
    expect([valueIn(text, 'gateway_ready'), valueIn(text, 'gateway_part_ready', { chain: CHAIN, part: 'rpc' })]).toEqual([1, 1]);
    const { status, body } = await sandbox.get('/ready');
    expect([status, body]).toMatchObject([
      200,
      {
        chains: {
          [CHAIN]: {
            ready: true,
            reasons: [],
            relayer: { ready: false, reasons: [expect.stringMatching(/paused by its operator: a new node$/)] },
          },
        },
      },
    ]);
    await set('running');
    await collected(scrape, (now) => valueIn(now, 'gateway_part_ready', part) === 1);
  });

  it('and /ready name a node that is gone, its endpoint and its failed calls among them', async () => {
    const calls = { chain: CHAIN, method: 'eth_getBlockByNumber', outcome: 'failed' };
    const before = valueIn(await scrape(), 'gateway_rpc_calls_total', calls) ?? 0;
    await sandbox.post('/sandbox/chain', { action: 'rpc', mode: 'down' });
    const text = await collected(
      scrape,
      (now) =>
        valueIn(now, 'gateway_part_ready', { chain: CHAIN, part: 'rpc' }) === 0 &&
        (valueIn(now, 'gateway_rpc_calls_total', calls) ?? 0) > before,
    );
    expect([valueIn(text, 'gateway_ready'), valueIn(text, 'gateway_rpc_endpoint_up', { chain: CHAIN })]).toEqual([0, 0]);
    expect((await sandbox.get('/ready')).body).toMatchObject({
      database: { ready: true, reasons: [] },
      chains: { [CHAIN]: { ready: false } },
    });
    await sandbox.post('/sandbox/chain', { action: 'rpc', mode: 'ok' });
    await collected(scrape, (now) => valueIn(now, 'gateway_ready') === 1);
  });
});

describe('the costs', () => {
  it.each([
    ['', 'chain'],
    [`?chain=${CHAIN}&by=colour`, 'by'],
    [`?chain=${CHAIN}&from=2026-13-01`, 'from'],
    [`?chain=${CHAIN}&from=2026-02-02&to=2026-02-01`, 'from'],
    [`?chain=${CHAIN}&from=1970-01-01`, 'from'],
    [`?chain=${CHAIN}&from=2024-01-01&to=2025-01-01`, 'from'],
    [`?chain=${CHAIN}&limit=5000`, 'limit'],
    [`?chain=${CHAIN}&colour=red`, ''],
  ])('refuse %s for its %s', async (query, path) => {
    const { status, body } = await ask(`/relayer/costs${query}`);
    expect([status, body]).toMatchObject([400, { code: 'VALIDATION_ERROR', details: { issues: [{ path }] } }]);
  });

  it('know only chains that are served', async () => {
    expect((await ask('/relayer/costs?chain=base')).body).toMatchObject({ code: 'CHAIN_NOT_FOUND' });
  });
});
