import { once } from 'node:events';
import { systemClock } from '../../core/adapters/system/clock.js';
import { createFaultProxy, type FaultProxy } from '../../sandbox/fault-proxy.js';
import { alice, call, cleanUp, later, post, send, sign, startNode } from './chain/fixture.js';
import { connect } from './chain/socket.js';

afterEach(cleanUp);

async function proxied(seed = 1) {
  const node = await startNode();
  const proxy = await createFaultProxy({ target: node.url, clock: systemClock, seed });
  later(() => proxy.close());
  return { node, proxy };
}

/** What a client is left with: the answer, the HTTP status that came instead, or a broken connection. */
async function outcome(proxy: FaultProxy, method = 'eth_chainId', params: readonly unknown[] = []): Promise<unknown> {
  const answer = await post(proxy.url, { jsonrpc: '2.0', id: 1, method, params }).catch(() => 'broken');
  if (typeof answer === 'string') return answer;
  return answer.status === 200 ? (answer.body as { result: unknown }).result : answer.status;
}

describe('the fault proxy', () => {
  it('passes everything on unchanged when all is well', async () => {
    const { node, proxy } = await proxied();
    expect(await post(proxy.url, [{ jsonrpc: '2.0', id: 'a', method: 'eth_chainId' }])).toEqual(
      await post(node.url, [{ jsonrpc: '2.0', id: 'a', method: 'eth_chainId' }]),
    );
    expect((await post(proxy.url, 'no json')).body).toMatchObject({ error: { code: -32700 } });
    expect((await fetch(proxy.url)).status).toBe(405);
    const socket = await connect(proxy.wsUrl);
    const heads = await socket.call('eth_subscribe', ['newHeads']);
    const { hash } = await node.mine(1);
    expect(await socket.notifications(heads, 1)).toMatchObject([{ hash }]);
  });

  it('counts calls by method and round trips, batches as one', async () => {
    const { proxy } = await proxied();
    await post(
      proxy.url,
      [1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'eth_blockNumber' })),
    );
    await call(proxy.url, 'eth_chainId');
    const socket = await connect(proxy.wsUrl);
    await socket.call('eth_chainId');
    expect(proxy.counters()).toEqual({
      calls: { eth_blockNumber: 2, eth_chainId: 2 },
      roundTrips: 3,
      faults: { refuse: 0, reset: 0, forget: 0, answer: 0 },
    });
    proxy.resetCounters();
    expect(proxy.counters()).toMatchObject({ calls: {}, roundTrips: 0 });
  });

  it('when down cuts open sockets and new connections, and comes back on the same port', async () => {
    const { proxy } = await proxied();
    const socket = await connect(proxy.wsUrl);
    const closed = once(socket.socket, 'close');
    proxy.set({ mode: 'down' });
    expect((await closed)[0]).toBe(1006);
    expect(await outcome(proxy)).toBe('broken');
    await expect(connect(proxy.wsUrl)).rejects.toThrow();
    proxy.set({ mode: 'ok' });
    expect(await outcome(proxy)).toBe('0x66eee');
  });

  it('breaks a request under way when it goes down', async () => {
    const { proxy } = await proxied();
    let arrived = (): void => undefined;
    const underway = new Promise<void>((resolve) => (arrived = resolve));
    proxy.onRequest(() => new Promise(() => arrived()));
    const asked = outcome(proxy);
    await underway;
    proxy.set({ mode: 'down' });
    expect(await asked).toBe('broken');
  });

  it('when slow adds its latency to HTTP and WebSocket, in order', async () => {
    const { node, proxy } = await proxied();
    const socket = await connect(proxy.wsUrl);
    const heads = await socket.call('eth_subscribe', ['newHeads']);
    proxy.set({ mode: 'slow', latencyMs: 120 });
    for (const work of [() => outcome(proxy), () => socket.call('eth_chainId')]) {
      const started = performance.now();
      await work();
      expect(performance.now() - started).toBeGreaterThanOrEqual(115);
    }
    // A node announces blocks in their order; requests that are sent together it answers in any order.
    await node.mine(5);
    const announced = (await socket.notifications(heads, 5)) as { number: string }[];
    expect(announced.map(({ number }) => Number(number))).toEqual([1, 2, 3, 4, 5]);
  });

  it('when flaky fails the same requests in the same way for the same seed, each way at some time', async () => {
    const runs = await Promise.all(
      [7, 7, 8].map(async (seed) => {
        const { proxy } = await proxied(seed);
        proxy.set({ mode: 'flaky', errorShare: 0.5 });
        const outcomes: unknown[] = [];
        for (let request = 0; request < 60; request += 1) outcomes.push(await outcome(proxy));
        const { faults } = proxy.counters();
        expect(Math.min(faults.refuse, faults.reset, faults.forget)).toBeGreaterThan(0);
        expect(outcomes.filter((one) => one === '0x66eee').length).toBe(60 - faults.refuse - faults.reset - faults.forget);
        return outcomes;
      }),
    );
    expect(runs[0]).toEqual(runs[1]);
    expect(runs[0]).not.toEqual(runs[2]);
  });

  it.each(['http', 'ws'])('can have the node act over %s and the answer forgotten', async (kind) => {
    const { node, proxy } = await proxied();
    const raw = await sign({ nonce: 0 });
    const socket = kind === 'ws' ? await connect(proxy.wsUrl) : null;
    const stop = proxy.onRequest(() => 'forget');
    if (socket === null) expect(await outcome(proxy, 'eth_sendRawTransaction', [raw])).toBe('broken');
    else {
      const closed = once(socket.socket, 'close');
      socket.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] }));
      await closed;
      expect(socket.frames).toEqual([]);
    }
    stop();
    expect((await call(proxy.url, 'eth_sendRawTransaction', [raw])).error?.message).toBe('already known');
    await node.mine(1);
    expect(await outcome(proxy, 'eth_getTransactionCount', [alice.address, 'latest'])).toBe('0x1');
  });

  it('lets a test refuse, reset or answer single requests over both transports', async () => {
    const { node, proxy } = await proxied();
    const stop = proxy.onRequest((body) => {
      const { method } = body as { method: string };
      if (method === 'eth_sendRawTransaction') return 'reset';
      if (method === 'eth_gasPrice') return { answer: '0x1' };
      if (method === 'eth_call') return { answer: { error: { code: 3, message: 'execution reverted', data: '0x' } } };
      return method === 'eth_blockNumber' ? 'refuse' : undefined;
    });
    expect([await outcome(proxy, 'eth_gasPrice'), await outcome(proxy, 'eth_blockNumber'), await outcome(proxy)]).toEqual([
      '0x1',
      503,
      '0x66eee',
    ]);
    await expect(send(proxy.url, { nonce: 0 })).rejects.toThrow();
    expect(await node.request('eth_getTransactionCount', [alice.address, 'pending'])).toBe('0x0');
    const socket = await connect(proxy.wsUrl);
    expect((await socket.ask('eth_call')).error).toEqual({ code: 3, message: 'execution reverted', data: '0x' });
    expect((await socket.ask('eth_blockNumber')).error?.code).toBe(-32603);
    stop();
    expect(await socket.call('eth_blockNumber')).toBe('0x0');
  });

  it('answers 502 and ends sockets when the node itself is gone', async () => {
    const { node, proxy } = await proxied();
    const socket = await connect(proxy.wsUrl);
    const closed = once(socket.socket, 'close');
    await node.close();
    await closed;
    expect(await outcome(proxy)).toBe(502);
  });

  it('refuses settings that make no sense', async () => {
    const { proxy } = await proxied();
    expect(() => proxy.set({ mode: 'flaky', errorShare: 2 })).toThrow(RangeError);
    expect(() => proxy.set({ mode: 'slow', latencyMs: -1 })).toThrow(RangeError);
    expect(proxy.setting().mode).toBe('ok');
  });
});
