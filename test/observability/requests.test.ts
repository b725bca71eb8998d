import { Writable } from 'node:stream';
import { Wallet } from 'ethers';
import { WebSocket } from 'ws';
import { createLogger } from '../../core/adapters/telemetry/log.js';
import type { Address } from '../../core/types.js';
import { newAgentTrader } from '../harness/traders/agent-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { order, orderAction, postExchange, signL1, type ExchangeBody } from '../harness/hyperliquid/exchange.js';
import { domainOf, keyIssue, signWith } from '../harness/traders/master-wallet.js';
import { startOtlpReceiver, type OtlpReceiver, type SeenSpan } from '../harness/servers/otlp-receiver.js';
import { signRequest } from '../harness/traders/signed-request.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
const TOKEN = 'operator-token-nobody-may-see';
const COLLECTOR_KEY = 'collector-key-nobody-may-see';
const WEBHOOK_KEY = 'webhook-key-in-a-path';
const WEBHOOK_SECRET = 'webhook-secret-nobody-may-see';
const PARENT = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

let sandbox: TestVenue;
let collector: OtlpReceiver;
let bot: FacadeTrader;
let written = '';

beforeAll(async () => {
  collector = await startOtlpReceiver();
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString();
      done();
    },
  });
  sandbox = await startOwnVenue(
    {
      LOG_LEVEL: 'debug',
      OPERATOR_TOKEN: TOKEN,
      ALERT_WEBHOOK_URL: `http://127.0.0.1:9/${WEBHOOK_KEY}`,
      ALERT_WEBHOOK_SECRET: WEBHOOK_SECRET,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${COLLECTOR_KEY}`,
    },
    { ...createLogger('debug', sink), entries: [] },
  );
  bot = await newFacadeTrader(sandbox);
});
afterAll(async () => {
  await sandbox.stop();
  await collector.stop();
});

const linesOf = (requestId: string): Record<string, unknown>[] =>
  written
    .split('\n')
    .filter((line) => line.includes(requestId))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const restingOrder = (): Promise<ExchangeBody> =>
  signL1(new Wallet(bot.agentKey), orderAction(order({ p: '20000', t: { limit: { tif: 'Gtc' } } })));

const traceOf = (traceId: string): readonly SeenSpan[] => collector.spans().filter((span) => span.traceId === traceId);
const named = (spans: readonly SeenSpan[], name: string): SeenSpan | undefined => spans.find((span) => span.name === name);
const isBelow = (spans: readonly SeenSpan[], span: SeenSpan | undefined, top: SeenSpan | undefined): boolean => {
  if (span === undefined || top === undefined) return false;
  const above = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return span.spanId === top.spanId || isBelow(spans, above, top);
};

describe('a request', () => {
  it('of a bot is one trace, from the facade over the node to the block', async () => {
    const body = await restingOrder();
    const headers = { 'x-request-id': 'order-of-a-bot', traceparent: `00-${PARENT.traceId}-${PARENT.spanId}-01` };
    const answer = await fetch(`${sandbox.url}/hl/${CHAIN}/exchange`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(await answer.json()).toMatchObject({ status: 'ok' });
    const spans = await eventually(
      () => traceOf(PARENT.traceId),
      (seen) => named(seen, 'relay.mined') !== undefined && named(seen, 'facade order') !== undefined,
    );
    const requestSpan = named(spans, 'facade order');
    expect(requestSpan).toMatchObject({
      parentSpanId: PARENT.spanId,
      attributes: { 'gateway.operation': 'order', 'http.response.status_code': 200, 'gateway.request_id': 'order-of-a-bot' },
    });
    for (const name of [
      'rpc eth_call',
      'db relay.placeAndQueue',
      'relay.sign',
      'relay.store',
      'relay.broadcast',
      'rpc eth_sendRawTransaction',
      'relay.mined',
    ])
      expect([name, isBelow(spans, named(spans, name), requestSpan)]).toEqual([name, true]);
    const [broadcast, sent] = [named(spans, 'relay.broadcast'), named(spans, 'rpc eth_sendRawTransaction')];
    expect(sent).toMatchObject({
      parentSpanId: broadcast?.spanId,
      attributes: { 'server.address': expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string },
    });
  });

  it('of a bot at a replica without the lane is one trace too, which goes on at the sending replica', async () => {
    const beside = await startSecondGateway(sandbox, { relays: true });
    try {
      await eventually(
        () => beside.get('/ready'),
        ({ status }) => status === 200,
      );
      const traceId = 'c0ffee1916cd43dd8448eb211c80319c';
      const headers = { traceparent: `00-${traceId}-${PARENT.spanId}-01` };
      const body = JSON.stringify(await restingOrder());
      const answer = await fetch(`${beside.url}/hl/${CHAIN}/exchange`, { method: 'POST', headers, body });
      const { response } = (await answer.json()) as { response: { data: { statuses: { resting: { oid: number } }[] } } };
      const oid = response.data.statuses[0]?.resting.oid ?? 0;
      const spans = await eventually(
        () => traceOf(traceId),
        (seen) => named(seen, 'relay.mined') !== undefined && named(seen, 'facade order') !== undefined,
      );
      for (const name of ['relay.taken', 'relay.sign', 'relay.store', 'relay.broadcast', 'rpc eth_sendRawTransaction', 'relay.mined'])
        expect([name, isBelow(spans, named(spans, name), named(spans, 'facade order'))]).toEqual([name, true]);
      // The trace id is not part of the proof of a signed action.
      const { hashes } = (await sandbox.gateway.store.orders.find(CHAIN, bot.address.toLowerCase() as Address, BigInt(oid))) ?? {
        hashes: [],
      };
      const sign = signWith(new Wallet(bot.trader.privateKey), await domainOf(sandbox));
      const { body: key } = await sandbox.post(`/v1/${CHAIN}/api-keys`, await keyIssue(sign, bot.address, 'proofs'));
      const { apiKey } = key as { apiKey: string };
      const proof = await sandbox.get(`/v1/${CHAIN}/account/${bot.address}/proofs/${hashes[0]}`, { 'X-Service-Api-Key': apiKey });
      expect([proof.status, JSON.stringify(proof.body).includes(traceId)]).toEqual([200, false]);
    } finally {
      await beside.stop();
    }
  });

  it('of the native API begins a trace of its own where its parent is missing or malformed', async () => {
    for (const traceparent of ['', 'nonsense', `00-${'0'.repeat(32)}-${PARENT.spanId}-01`, `ff-${PARENT.traceId}-${PARENT.spanId}-01`])
      await sandbox.get(`/v1/${CHAIN}/readiness/${bot.address}`, { 'x-request-id': 'a-native-one', traceparent });
    const found = await eventually(
      () =>
        collector
          .spans()
          .filter(({ name, attributes }) => name === 'native getReadiness' && attributes['gateway.request_id'] === 'a-native-one'),
      (seen) => seen.length === 4,
    );
    expect(new Set(found.map(({ traceId }) => traceId)).size).toBe(4);
    expect(found.map(({ parentSpanId }) => parentSpanId)).toEqual([null, null, null, null]);
    const [first] = found;
    await eventually(
      () => traceOf(first?.traceId ?? ''),
      (spans) => spans.some(({ name }) => name.startsWith('db ')) && spans.some(({ name }) => name.startsWith('rpc ')),
    );
  });

  it('on a WebSocket of the facade is traced as over HTTP', async () => {
    const socket = new WebSocket(`${sandbox.url.replace('http', 'ws')}/hl/${CHAIN}/ws`, { headers: { 'x-request-id': 'a-line-of-a-bot' } });
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ method: 'post', id: 1, request: { type: 'action', payload: await restingOrder() } }));
    const [requestSpan] = await eventually(
      () => collector.spans().filter(({ name, attributes }) => name === 'facade order' && attributes['network.protocol.name'] === 'ws'),
      (seen) => seen.length === 1,
    );
    await eventually(
      () => traceOf(requestSpan?.traceId ?? ''),
      (spans) => isBelow(spans, named(spans, 'relay.broadcast'), requestSpan),
    );
    socket.terminate();
  });

  it('has its request id on its answer and in its log line, the client’s own where it is well-formed', async () => {
    const given = await fetch(`${sandbox.url}/v1/${CHAIN}/readiness/${bot.address}`, { headers: { 'x-request-id': 'mine-1.2:3_4' } });
    expect(given.headers.get('x-request-id')).toBe('mine-1.2:3_4');
    const [line] = await eventually(
      () => linesOf('mine-1.2:3_4'),
      (lines) => lines.some(({ event }) => event === 'request.answered'),
    );
    expect(line).toMatchObject({
      level: 'debug',
      api: 'native',
      operation: 'getReadiness',
      status: 200,
      traceId: expect.any(String) as string,
    });
    for (const [path, init] of [
      [`/v1/${CHAIN}/markets`, {}],
      [`/hl/${CHAIN}/info`, { method: 'POST', body: '{"type":"meta"}' }],
    ] as const) {
      const bad = await fetch(`${sandbox.url}${path}`, { ...init, headers: { 'x-request-id': 'a "quoted" one' } });
      expect(bad.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('of a bot has its request id on every log line that it causes', async () => {
    const reply = await fetch(`${sandbox.url}/hl/${CHAIN}/exchange`, {
      method: 'POST',
      headers: { 'x-request-id': 'an-order-to-follow' },
      body: JSON.stringify(await restingOrder()),
    });
    expect(reply.headers.get('x-request-id')).toBe('an-order-to-follow');
    const lines = await eventually(
      () => linesOf('an-order-to-follow'),
      (seen) => seen.length > 0,
    );
    for (const line of lines) expect(line).toMatchObject({ requestId: 'an-order-to-follow', traceId: expect.any(String) as string });
  });
});

describe('no secret', () => {
  it('is in a debug log or in a trace', async () => {
    const agent = await newAgentTrader(sandbox, firstChain(sandbox));
    const bodies = [await restingOrder(), await restingOrder()];
    for (const body of bodies) await postExchange(sandbox.url, CHAIN, body);
    await postExchange(sandbox.url, CHAIN, { ...bodies[0], nonce: 1 });
    await fetch(`${sandbox.url}/relayer/status`, { headers: { Authorization: `Bearer ${TOKEN}` } });
    await fetch(`${sandbox.url}/v1/${CHAIN}/orders?apiKey=key-in-a-query`, {
      headers: { 'X-Service-Api-Key': 'an-api-key-nobody-may-see' },
    });
    await fetch(`${sandbox.url}/v1/${CHAIN}/nowhere/key-in-a-path`);
    const path = `/v1/${CHAIN}/account/${agent.trader.account.address}/positions`;
    const signed = await signRequest(agent.wallet, firstChain(sandbox).definition, {
      operationId: 'listPositions',
      method: 'GET',
      path,
      body: new Uint8Array(),
    });
    const before = collector.spans().length;
    expect((await sandbox.get(path, signed)).status).toBe(200);
    await eventually(
      () => collector.spans().length,
      (count) => count > before,
    );
    const secrets = [
      TOKEN,
      COLLECTOR_KEY,
      WEBHOOK_KEY,
      WEBHOOK_SECRET,
      bot.agentKey,
      bot.trader.privateKey,
      agent.wallet.privateKey,
      Object.entries(signed).find(([name]) => /signature/i.test(name))?.[1] ?? 'none',
      ...bodies.flatMap(({ signature: { r, s } }) => [r, s]),
      'an-api-key-nobody-may-see',
      'key-in-a-query',
      'key-in-a-path',
      ...Object.values(sandbox.controls.accounts).map(({ privateKey }) => privateKey),
    ];
    const spans = collector.everything().replaceAll(COLLECTOR_KEY, '(sent to the collector only)');
    expect(collector.everything()).toContain(COLLECTOR_KEY);
    for (const secret of secrets) {
      const bare = secret.replace(/^0x/, '').toLowerCase();
      expect([secret.slice(0, 12), written.toLowerCase().includes(bare), spans.toLowerCase().includes(bare)]).toEqual([
        secret.slice(0, 12),
        false,
        false,
      ]);
    }
    expect(written.length).toBeGreaterThan(1_000);
  });
});
