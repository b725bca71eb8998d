import { once } from 'node:events';
import { WebSocket } from 'ws';
import { cleanUp, EMITTER, send, startNode, topic, bob } from './fixture.js';
import { connect } from './socket.js';

afterEach(cleanUp);

describe('a subscription', () => {
  it('reaches the connection that asked for it and no other', async () => {
    const node = await startNode();
    const [one, two] = [await connect(node.wsUrl), await connect(node.wsUrl)];
    const [heads, pending] = [await one.call('eth_subscribe', ['newHeads']), await two.call('eth_subscribe', ['newPendingTransactions'])];
    const { result: hash } = await send(node.url, { nonce: 0 });
    const { hash: block } = await node.mine(1);
    expect(await one.notifications(heads, 1)).toMatchObject([{ number: '0x1', hash: block }]);
    expect(await two.notifications(pending, 1)).toEqual([hash]);
    await Promise.all([one.call('eth_chainId'), two.call('eth_chainId')]);
    expect([one.frames, two.frames].map((frames) => frames.filter(({ method }) => method === 'eth_subscription').length)).toEqual([1, 1]);
  });

  it('cannot be ended by another connection, only by its own', async () => {
    const node = await startNode();
    const [one, two] = [await connect(node.wsUrl), await connect(node.wsUrl)];
    const heads = await one.call('eth_subscribe', ['newHeads']);
    expect((await two.ask('eth_unsubscribe', [heads])).error).toEqual({ code: -32000, message: 'subscription not found' });
    await node.mine(1);
    await one.notifications(heads, 1);
    expect(await one.call('eth_unsubscribe', [heads])).toBe(true);
    await node.mine(3);
    await one.call('eth_chainId');
    expect(one.frames.filter(({ method }) => method === 'eth_subscription')).toHaveLength(1);
  });

  it('gets its id before its first notification, however fast the blocks', async () => {
    const node = await startNode({ paused: false, blockMs: 1 });
    const client = await connect(node.wsUrl);
    for (let round = 0; round < 20; round += 1) await client.call('eth_subscribe', ['newHeads']);
    const ids = new Set<unknown>();
    for (const { id, result, params } of client.frames) {
      if (id !== undefined) ids.add(result);
      else expect(ids.has(params?.subscription)).toBe(true);
    }
  });

  it.each([
    ['an address', { address: EMITTER.address }, [1, 2]],
    ['another address', { address: bob.address }, []],
    ['a topic', { topics: [topic(2)] }, [2]],
    ['alternatives', { address: [EMITTER.address], topics: [[topic(1), topic(9)]] }, [1]],
    ['more topics than a log has', { topics: [null, topic(1)] }, []],
    ['nothing in particular', {}, [1, 2]],
  ])('to logs by %s sees just those', async (_, criteria, expected) => {
    const node = await startNode();
    await node.admin('hardhat_setCode', [EMITTER.address, EMITTER.code]);
    const client = await connect(node.wsUrl);
    const logs = await client.call('eth_subscribe', ['logs', criteria]);
    const heads = await client.call('eth_subscribe', ['newHeads']);
    for (const value of [1, 2]) await send(node.url, { nonce: value - 1, to: EMITTER.address, data: topic(value) });
    await node.mine(2);
    await client.notifications(heads, 2);
    const seen = await client.notifications(logs, 0);
    expect(seen.map((log) => (log as { topics: string[] }).topics[0])).toEqual(expected.map(topic));
    expect(await client.call('eth_getLogs', [{ fromBlock: '0x0', ...criteria }])).toEqual(seen);
  });

  it('to something unknown or with a broken filter is refused', async () => {
    const node = await startNode();
    const client = await connect(node.wsUrl);
    expect((await client.ask('eth_subscribe', ['syncing'])).error).toEqual({
      code: -32602,
      message: 'no "syncing" subscription in eth namespace',
    });
    expect((await client.ask('eth_subscribe', ['logs', { address: 'zz' }])).error?.code).toBe(-32602);
  });
});

describe('a WebSocket', () => {
  it('answers batches and broken JSON, and is cut off by close', async () => {
    const node = await startNode();
    const client = await connect(node.wsUrl);
    client.socket.send('nonsense');
    await once(client.socket, 'message');
    expect(client.frames[0]).toMatchObject({ id: null, error: { code: -32700 } });
    const closed = once(client.socket, 'close');
    await node.close();
    await closed;
  });

  it('from a page of another origin is refused', async () => {
    const { wsUrl } = await startNode();
    const socket = new WebSocket(wsUrl, { origin: 'https://evil.example' });
    const [error] = (await once(socket, 'error')) as [Error];
    expect(error.message).toContain('403');
  });
});
