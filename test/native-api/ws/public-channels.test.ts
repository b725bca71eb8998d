import { newTrader } from '../../harness/traders/chain-trader.js';
import { price } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';
import { connect, expectContinuous, isData, isOp, type Message, type SocketClient } from './socket-client.js';

let sandbox: TestVenue;
const BASE = '/v1/arbitrum-sepolia';

beforeAll(async () => {
  sandbox = await sharedVenue();
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '60000' });
});
afterAll(() => sandbox.stop());

const clients: SocketClient[] = [];
const open = async (): Promise<SocketClient> => {
  const client = await connect(sandbox.url);
  clients.push(client);
  return client;
};
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

interface PriceRow {
  market: string;
  index: string;
}
/** The mark differs from what was set by what the market's skew adds. */
const isNear = ({ data }: Message, value: number): boolean => Math.abs(Number((data as { markPrice: string }).markPrice) - value) < 1;
const pricesOf = (message: Message): PriceRow[] => message['data'] as PriceRow[];

/** A snapshot of the channel holds no more; other files have traded here too. */
const MOST_TRADES = 100;

it('greets with the chain and the heartbeat, and names the handshake like every answer', async () => {
  const client = await open();
  expect(await client.find(isOp('hello'))).toEqual({ op: 'hello', chain: 'arbitrum-sepolia', heartbeatMs: 15_000 });
  expect(client.handshake).toMatchObject({ 'x-request-id': expect.any(String), 'ratelimit-limit': '1000000' });
});

it('sends every price once, then only those that changed', async () => {
  const client = await open();
  await client.ask({ op: 'subscribe', channel: 'prices' }, isOp('subscribed'));
  const first = await client.find(isData('prices'));
  const all = (await sandbox.get(`${BASE}/prices`)).body as { data: PriceRow[] };
  expect(pricesOf(first).map(({ market }) => market)).toEqual(all.data.map(({ market }) => market));
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '61234.5' });
  const change = await client.find(isData('prices', (message) => pricesOf(message).some(({ index }) => index === '61234.5')));
  expect(pricesOf(change).length).toBeLessThan(all.data.length);
  expectContinuous(client.of('prices'));
});

it('sends the whole book, and again when the price moves', async () => {
  const client = await open();
  await client.ask({ op: 'subscribe', channel: 'book', market: 'btc-usd' }, isOp('subscribed'));
  const first = await client.find(isData('book'));
  expect(first).toMatchObject({ market: 'BTC/USD', snapshot: true, seq: 1, data: { market: 'BTC/USD' } });
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '59000' });
  const moved = await client.find(isData('book', (message) => message['snapshot'] === false && isNear(message, 59_000)));
  const rest = (await sandbox.get(`${BASE}/markets/BTC-USD/book`)).body as { bids: unknown[] };
  expect((moved['data'] as { bids: unknown[] }).bids.length).toBe(rest.bids.length);
  expectContinuous(client.of('book'));
});

it('sends recent trades, then each execution once', async () => {
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '60000' });
  const client = await open();
  await client.ask({ op: 'subscribe', channel: 'trades', market: 'BTC/USD' }, isOp('subscribed'));
  const before = ((await client.find(isData('trades')))['data'] as unknown[]).length;
  const [chain] = sandbox.controls.chains;
  if (!chain) throw new Error('the sandbox has no chain');
  const trader = await newTrader(chain);
  await trader.open({ openPrice: price(60_000) });
  const update = await client.find(isData('trades', ({ snapshot }) => snapshot === false));
  expect(update['data']).toMatchObject([{ market: 'BTC/USD', side: 'long', action: 'open', sizeUsd: expect.any(String) }]);
  const second = await open();
  await second.ask({ op: 'subscribe', channel: 'trades', market: 'BTC/USD' }, isOp('subscribed'));
  const again = (await second.find(isData('trades')))['data'] as { txHash: string }[];
  expect(again.length).toBe(Math.min(before + 1, MOST_TRADES));
  expect(again[0]).toEqual((update['data'] as unknown[])[0]);
  expectContinuous(client.of('trades'));
});

it('sends candles up to now, then the running one as it grows', async () => {
  const client = await open();
  const asked = { op: 'subscribe', channel: 'candles', market: 'ETH-USD', interval: '5m' };
  const first = await client.ask(asked, isData('candles'));
  const past = first['data'] as { time: number; high: string }[];
  expect(past.length).toBeGreaterThan(100);
  await sandbox.post('/sandbox/price', { market: 'ETH/USD', price: '9999' });
  const grown = await client.find(isData('candles', ({ data }) => (data as { high: string }[]).some(({ high }) => high === '9999')));
  expect(grown).toMatchObject({ market: 'ETH/USD', interval: '5m', snapshot: false });
  const rest = await eventually(
    async () => ((await sandbox.get(`${BASE}/markets/ETH-USD/candles?interval=5m`)).body as { data: unknown[] }).data,
    (data) => data.length > 0,
  );
  expect(rest.at(-1)).toMatchObject({ high: '9999', time: (grown['data'] as { time: number }[]).at(-1)?.time });
  expectContinuous(client.of('candles'));
});

it('answers a repeated subscription as a duplicate, and sends nothing after an unsubscription', async () => {
  const client = await open();
  const asked = { op: 'subscribe', channel: 'book', market: 'BTC/USD' };
  expect(await client.ask(asked, isOp('subscribed'))).toEqual({ op: 'subscribed', channel: 'book', market: 'BTC/USD' });
  expect(await client.ask(asked, isOp('subscribed'))).toEqual({ op: 'subscribed', channel: 'book', market: 'BTC/USD', duplicate: true });
  const left = { ...asked, op: 'unsubscribe' };
  expect(await client.ask(left, isOp('unsubscribed'))).toEqual({ op: 'unsubscribed', channel: 'book', market: 'BTC/USD' });
  const count = client.of('book').length;
  expect(await client.ask(left, isOp('unsubscribed'))).toMatchObject({ duplicate: true });
  await client.ask({ op: 'subscribe', channel: 'prices' }, isOp('subscribed'));
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '58000' });
  await client.find(isData('prices', (message) => pricesOf(message).some(({ index }) => index === '58000')));
  expect(client.of('book').length).toBe(count);
  const again = await client.ask(asked, isData('book'));
  expect(again).toMatchObject({ snapshot: true, seq: count + 1 });
});
