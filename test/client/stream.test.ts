import WebSocket from 'ws';
import type { CreateOrderRequest, FillHistoryEntry, Messages, Order } from '../../client/src/api.js';
import type { StreamState } from '../../client/src/line.js';
import type { Stream, StreamOptions } from '../../client/src/stream.js';
import { masterTypedData } from '../../client/src/master.js';
import { agentFromKey } from '../../client/src/agent.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { eventually } from '../harness/time/eventually.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';
import { newClientTrader } from './client-trader.js';

const LIMIT: CreateOrderRequest = { market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' };
const MARKET: CreateOrderRequest = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' };

let sandbox: TestVenue;
let chain: ChainControls;
const open: Stream[] = [];

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
});
afterEach(() => open.splice(0).forEach((stream) => stream.close()));
afterAll(() => sandbox.stop());

/** A constructor of sockets that can be cut, or go silent, as a network does. */
function cuttable() {
  const made: WebSocket[] = [];
  class Cuttable extends WebSocket {
    constructor(url: string) {
      super(url);
      made.push(this);
    }
  }
  return {
    Cuttable,
    made,
    cut: () => made.splice(0).forEach((socket) => socket.terminate()),
  };
}

const keep = (stream: Stream): Stream => {
  open.push(stream);
  return stream;
};

/** What an account's channels delivered after their snapshots. */
function recorder(stream: Stream) {
  const orders: Messages['orders'][] = [];
  const fills: Messages['fills'][] = [];
  const snapshots: string[] = [];
  stream.subscribe({ channel: 'orders' }, (message) => (message.snapshot ? snapshots.push('orders') : orders.push(message)));
  stream.subscribe({ channel: 'fills' }, (message) => (message.snapshot ? snapshots.push('fills') : fills.push(message)));
  return { orders, fills, snapshots };
}

describe('the stream', () => {
  it('delivers prices, book and candles after their snapshots', async () => {
    const { client } = await newClientTrader(sandbox, chain);
    const states: StreamState[] = [];
    const stream = keep(client.stream({ onState: (state) => states.push(state) }));
    const seen = new Map<string, boolean[]>();
    const note = ({ channel, snapshot }: { channel: string; snapshot: boolean }) =>
      void seen.set(channel, [...(seen.get(channel) ?? []), snapshot]);
    stream.subscribe({ channel: 'prices' }, note);
    stream.subscribe({ channel: 'book', market: 'btc-usd' }, note);
    stream.subscribe({ channel: 'candles', market: 'BTC/USD', interval: '1m' }, note);
    await eventually(
      () => seen.size,
      (size) => size === 3,
    );
    expect([...seen.values()].map(([first]) => first)).toEqual([true, true, true]);
    await eventually(
      () => seen.get('prices')?.length ?? 0,
      (count) => count > 1,
    );
    expect(states).toEqual(['live']);
    expect(() => stream.subscribe({ channel: 'prices' }, note)).toThrow('There is a subscription to prices already.');
  });

  it('continues behind its cursor after every cut: no event is lost and none comes twice', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const { client } = trader;
    const { Cuttable, cut } = cuttable();
    const stream = keep(client.stream({ WebSocket: Cuttable }));
    const seen = recorder(stream);
    await eventually(
      () => seen.snapshots.length,
      (count) => count === 2,
    );
    const prices = Array.from({ length: 6 }, (_, at) => String(50_000 + at));
    for (const price of prices) {
      cut();
      await client.execute('createOrder', { ...LIMIT, price });
      await client.execute('createOrder', MARKET);
    }
    const events = await eventually(
      async () => (await client.listEvents({ limit: 500 })).data.filter(({ kind }) => kind === 'order' || kind === 'fill'),
      (found) => found.filter(({ kind }) => kind === 'fill').length === prices.length,
    );
    const cursorsOf = (kind: string): number[] => events.filter((event) => event.kind === kind).map(({ cursor }) => cursor);
    await eventually(
      () => stream.cursors(),
      ({ orders, fills }) => orders === cursorsOf('order').at(-1) && fills === cursorsOf('fill').at(-1),
    );
    expect(seen.orders.map(({ cursor }) => cursor)).toEqual(cursorsOf('order'));
    expect(seen.fills.map(({ cursor }) => cursor)).toEqual(cursorsOf('fill'));
    expect([...seen.snapshots].sort()).toEqual(['fills', 'orders']);
    const filled = seen.orders.map(({ data }) => data as Order).filter(({ status }) => status === 'filled');
    expect(new Set(filled.map(({ id }) => id)).size).toBe(prices.length);
  });

  it('continues in another process where the last one had come to', async () => {
    const { client } = await newClientTrader(sandbox, chain);
    const first = keep(client.stream());
    const before = recorder(first);
    await eventually(
      () => before.snapshots.length,
      (count) => count === 2,
    );
    await client.execute('createOrder', LIMIT);
    await eventually(
      () => before.orders.length,
      (count) => count >= 2,
    );
    const reached = JSON.parse(JSON.stringify(first.cursors())) as StreamOptions['cursors'];
    first.close();
    const missed = await client.execute('createOrder', MARKET);
    const second = keep(client.resume(reached ?? {}));
    const after = recorder(second);
    await eventually(
      () => after.fills.length,
      (count) => count === 1,
    );
    expect(after.snapshots).toEqual([]);
    expect((after.fills[0]?.data as FillHistoryEntry).positionId).toBe(missed?.fill?.positionId);
    const cursors = [...before.orders, ...after.orders].map(({ cursor }) => cursor);
    const { data } = await client.listEvents({ limit: 500 });
    expect(cursors).toEqual(data.filter(({ kind }) => kind === 'order').map(({ cursor }) => cursor));
  });

  it('says that it is stale when nothing comes, lost when it is cut, and live when it is back', async () => {
    const { client } = await newClientTrader(sandbox, chain);
    const { Cuttable, cut, made } = cuttable();
    const states: StreamState[] = [];
    let reached = -1;
    /** Only the order counts: on a busy machine it may be stale, and live again, more often. */
    const reaches = async (state: StreamState): Promise<void> => {
      reached = await eventually(
        () => states.indexOf(state, reached + 1),
        (at) => at >= 0,
      );
    };
    const stream = keep(client.stream({ WebSocket: Cuttable, pingMs: 50, staleMs: 3_000, onState: (state) => states.push(state) }));
    stream.subscribe({ channel: 'prices' }, () => undefined);
    await reaches('live');
    made.forEach((socket) => socket.pause());
    await reaches('stale');
    made.forEach((socket) => socket.resume());
    await reaches('live');
    cut();
    await reaches('lost');
    await reaches('live');
    stream.close();
    expect(states.at(-1)).toBe('closed');
  });

  it('gives a silent connection up and makes a new one', async () => {
    const { client } = await newClientTrader(sandbox, chain);
    const { Cuttable, made } = cuttable();
    const stream = keep(client.stream({ WebSocket: Cuttable, pingMs: 50, staleMs: 300 }));
    await eventually(
      () => stream.state(),
      (state) => state === 'live',
    );
    made.forEach((socket) => socket.pause());
    await eventually(
      () => made.length,
      (count) => count > 1,
    );
    await eventually(
      () => stream.state(),
      (state) => state === 'live',
    );
  });

  it('begins with a snapshot where the journal does not have the cursor, and reports it', async () => {
    const { client } = await newClientTrader(sandbox, chain);
    const errors: unknown[] = [];
    const stream = keep(client.resume({ orders: 1_000_000 }, { onError: (error) => errors.push(error) }));
    const seen = recorder(stream);
    await eventually(
      () => seen.snapshots.length,
      (count) => count === 2,
    );
    expect(errors).toMatchObject([{ name: 'GatewayError', code: 'VALIDATION_ERROR' }]);
  });

  it('follows the clock of the gateway when it logs in, and logs in with an API key', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const late = trader.at({ clock: () => Date.now() - 60_000 });
    const seen = recorder(keep(late.stream()));
    await eventually(
      () => seen.snapshots.length,
      (count) => count === 2,
    );
    const info = await trader.client.getChainInfo();
    const wish = { type: 'ApiKeyIssue', label: 'stream', timestamp: Date.now() } as const;
    const domain = { serviceName: info.signing.domain.name, chain: trader.client.chain };
    const signature = await agentFromKey(trader.traderKey).signTypedData(masterTypedData(domain, wish));
    const { apiKey } = await trader.client.issueApiKey({ trader: trader.trader, label: 'stream', timestamp: wish.timestamp, signature });
    const reader = trader.at({ agent: undefined, apiKey, trader: trader.trader });
    expect((await reader.listPositions()).data).toEqual([]);
    const read = recorder(keep(reader.stream()));
    await eventually(
      () => read.snapshots.length,
      (count) => count === 2,
    );
  });

  it('reports a login that is refused, and goes on with what is public', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const errors: unknown[] = [];
    const stream = keep(
      trader.at({ agent: undefined, apiKey: 'none', trader: trader.trader }).stream({ onError: (error) => errors.push(error) }),
    );
    recorder(stream);
    let prices = 0;
    stream.subscribe({ channel: 'prices' }, () => void (prices += 1));
    await eventually(
      () => [errors.length, prices] as const,
      ([failed, came]) => failed > 0 && came > 0,
    );
    expect(errors).toMatchObject([{ code: 'API_KEY_UNKNOWN' }]);
  });

  it('needs a constructor where the platform has none', async () => {
    const { at } = await newClientTrader(sandbox, chain);
    if ('WebSocket' in globalThis) return;
    expect(() => at({ WebSocket: undefined }).stream()).toThrow('pass the constructor of the package ws');
  });
});
