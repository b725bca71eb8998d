import { createPublicClient, http } from 'viem';
import { createManualClock } from '../../harness/time/manual-clock.js';
import { alice, bob, call, cleanUp, EMITTER, later, recordingLog, send, startNode, topic } from './fixture.js';
import { connect } from './socket.js';

afterEach(cleanUp);

describe('mining', () => {
  it('makes a block per tick by itself, never back in time, and stops when paused', async () => {
    const node = await startNode({ paused: false, blockMs: 20 });
    const seen = [await node.nextBlock(), await node.nextBlock(), await node.nextBlock()];
    expect(seen.map(({ number }) => number)).toEqual([1n, 2n, 3n].map((step) => step + (seen[0]?.number ?? 0n) - 1n));
    expect(seen.map(({ timestamp }) => timestamp)).toEqual(seen.map(({ timestamp }) => timestamp).toSorted());
    await node.pauseMining();
    const paused = await node.head();
    await call(node.url, 'eth_blockNumber');
    expect((await node.head()).number).toBe(paused.number);
    await node.resumeMining();
    expect((await node.nextBlock()).number).toBe(paused.number + 1n);
  });

  it('follows the wall clock, lets blocks share a second, and a warp moves it for good', async () => {
    const clock = createManualClock();
    const node = await startNode({ genesisTime: 1_700_000_000, clock });
    const { timestamp } = await node.mine(400);
    expect(Number(timestamp)).toBe(clock.now() / 1000);
    expect((await node.mine(3, { secondsPerBlock: 1 })).timestamp).toBeGreaterThanOrEqual(timestamp + 3n);
    await node.warp(1000);
    expect((await node.mine(1)).timestamp).toBeGreaterThanOrEqual(timestamp + 1003n);
    expect((await node.head()).number).toBe(404n);
  });

  it('keeps the base fee that was set until another is set', async () => {
    const node = await startNode();
    const baseFee = async (): Promise<unknown> =>
      ((await node.request('eth_getBlockByNumber', ['latest', false])) as { baseFeePerGas: string }).baseFeePerGas;
    await node.mine(30);
    expect(await baseFee()).toBe('0x5f5e100');
    await node.setBaseFee(2.5);
    await node.mine(30);
    expect(await baseFee()).toBe('0x9502f900');
  });

  it('leaves a transaction below the base fee waiting and mines the others', async () => {
    const node = await startNode();
    const low = await send(node.url, { nonce: 0, maxFeePerGas: 50n, maxPriorityFeePerGas: 1n });
    const good = await send(node.url, { nonce: 0 }, bob);
    await node.mine(2);
    expect(await node.request('eth_getTransactionReceipt', [good.result])).toMatchObject({ status: '0x1' });
    expect(await node.request('eth_getTransactionReceipt', [low.result])).toBeNull();
    await node.setBaseFee(0.00000001);
    await node.mine(2);
    expect(await node.request('eth_getTransactionReceipt', [low.result])).toMatchObject({ status: '0x1' });
  });

  it('goes on when one sender has spent what its waiting transaction needs', async () => {
    const node = await startNode();
    await send(node.url, { nonce: 0 });
    await node.admin('hardhat_setBalance', [alice.address, '0x1']);
    const other = await send(node.url, { nonce: 0 }, bob);
    await node.mine(1);
    expect(await node.request('eth_getTransactionReceipt', [other.result])).toMatchObject({ blockNumber: '0x1' });
  });

  it('throws out the transactions of a sender that no block can hold, and says so', async () => {
    const { log, entries } = recordingLog();
    const node = await startNode({ log });
    const impossible = [
      await send(node.url, { nonce: 0, value: 4n * 10n ** 20n }),
      await send(node.url, { nonce: 1, value: 4n * 10n ** 20n }),
    ];
    const other = await send(node.url, { nonce: 0 }, bob);
    await node.admin('hardhat_setBalance', [alice.address, '0x1b1ae4d6e2ef500000']); // 500: enough for either, not for both
    await node.mine(1);
    const hashes = impossible.map(({ result }) => result);
    expect(await node.request('eth_getTransactionReceipt', [other.result])).toMatchObject({ blockNumber: '0x1' });
    expect(entries).toMatchObject([{ level: 'warn', event: 'chain.pool.evicted', fields: { hashes } }]);
    expect(await node.request('eth_getTransactionByHash', [hashes[0]])).toBeNull();
  });

  it('of several chains side by side is each its own', async () => {
    const [one, two] = [await startNode({ chainId: 1001 }), await startNode({ chainId: 1002 })];
    await one.mine(5);
    await two.mine(2);
    expect([(await call(one.url, 'eth_chainId')).result, (await call(two.url, 'eth_chainId')).result]).toEqual(['0x3e9', '0x3ea']);
    expect([(await one.head()).number, (await two.head()).number]).toEqual([5n, 2n]);
  });
});

describe('a reorg', () => {
  async function chainWithLogs() {
    const node = await startNode();
    await node.admin('hardhat_setCode', [EMITTER.address, EMITTER.code]);
    await node.mine(40);
    const sent = [];
    for (const value of [1, 2, 3]) {
      sent.push((await send(node.url, { nonce: value - 1, to: EMITTER.address, data: topic(value) })).result);
      await node.mine(1);
    }
    return { node, sent, client: createPublicClient({ transport: http(node.url), pollingInterval: 10, cacheTime: 0 }) };
  }

  it('replaces blocks at the same heights and mines their transactions again in order', async () => {
    const { node, sent, client } = await chainWithLogs();
    const before = await Promise.all([40n, 41n, 42n, 43n].map((blockNumber) => client.getBlock({ blockNumber })));
    const { removed, head } = await node.reorg({ depth: 3 });
    const after = await Promise.all([40n, 41n, 42n, 43n].map((blockNumber) => client.getBlock({ blockNumber })));
    expect(removed).toEqual(before.slice(1).map(({ hash }) => hash));
    expect(after.map(({ hash }, index) => hash === before[index]?.hash)).toEqual([true, false, false, false]);
    expect([after[1]?.parentHash, head.hash, head.number]).toEqual([before[0]?.hash, after[3]?.hash, 43n]);
    expect(after[1]?.transactions).toEqual(sent);
    const logs = await client.getLogs({ address: EMITTER.address, fromBlock: 0n });
    expect(logs.map((log) => [log.topics[0], log.blockHash])).toEqual([1, 2, 3].map((value) => [topic(value), after[1]?.hash]));
    expect(await call(node.url, 'eth_getBlockByHash', [removed[0], false])).toMatchObject({ result: null });
  });

  it('that drops makes transactions, receipts and logs vanish, and their nonces are free again', async () => {
    const { node, sent, client } = await chainWithLogs();
    await node.reorg({ depth: 2, drop: true });
    expect(await Promise.all(sent.map((hash) => node.request('eth_getTransactionReceipt', [hash])))).toMatchObject(
      [{ status: '0x1' }, {}, {}].map((_, index) => (index === 0 ? { status: '0x1' } : null)),
    );
    expect(await client.getLogs({ address: EMITTER.address, fromBlock: 0n })).toHaveLength(1);
    expect(await client.getTransactionCount({ address: alice.address, blockTag: 'pending' })).toBe(1);
    await send(node.url, { nonce: 1 });
    await node.mine(1);
    expect(await client.getTransactionCount({ address: alice.address })).toBe(2);
  });

  it('keeps what was waiting and what the sandbox itself had set', async () => {
    const { node } = await chainWithLogs();
    await node.admin('hardhat_setBalance', ['0x00000000000000000000000000000000000e0009', '0x9']);
    await node.mine(1);
    const waiting = await send(node.url, { nonce: 0 }, bob);
    await node.reorg({ depth: 2, drop: true });
    expect(await node.request('eth_getBalance', ['0x00000000000000000000000000000000000e0009', 'latest'])).toBe('0x9');
    expect(await node.request('eth_getTransactionReceipt', [waiting.result])).toMatchObject({ blockNumber: '0x2b' });
  });

  it('can follow another, 64 blocks deep, and refuses to go deeper than it can', async () => {
    const node = await startNode();
    await node.mine(1300);
    const hashes = new Set([(await node.head()).hash]);
    for (const depth of [64, 1, 30, 64]) hashes.add((await node.reorg({ depth })).head.hash);
    expect(hashes.size).toBe(5);
    expect((await node.head()).number).toBe(1300n);
    await expect(node.reorg({ depth: 65 })).rejects.toThrow('too deep: this chain can take back 64');
    await expect(node.reorg({ depth: 0 })).rejects.toThrow('depth must be a whole number');
    expect((await node.mine(1)).number).toBe(1301n);
  });

  it('is seen by a viem client that watches blocks', async () => {
    const { node, client } = await chainWithLogs();
    const seen: string[] = [];
    const stop = client.watchBlocks({ emitOnBegin: true, onBlock: (block) => seen.push(block.hash) });
    later(stop);
    const until = async (hash: string): Promise<void> => {
      while (!seen.includes(hash)) await new Promise((resolve) => setImmediate(resolve));
    };
    await until((await node.head()).hash);
    await node.reorg({ depth: 2 });
    const { hash } = await node.mine(1);
    await until(hash);
    expect((await client.getBlock({ blockNumber: 44n })).hash).toBe(hash);
  });

  it('sends log subscribers and filters what was removed and what came instead', async () => {
    const { node } = await chainWithLogs();
    const socket = await connect(node.wsUrl);
    const id = await socket.call('eth_subscribe', ['logs', { address: EMITTER.address }]);
    const filter = await socket.call('eth_newFilter', [{ address: EMITTER.address, topics: [[topic(2), topic(3)]] }]);
    await node.reorg({ depth: 2 });
    const notes = await socket.notifications(id, 4);
    expect(notes.map((note) => [(note as { topics: string[] }).topics[0], (note as { removed: boolean }).removed])).toEqual([
      [topic(3), true],
      [topic(2), true],
      [topic(2), false],
      [topic(3), false],
    ]);
    expect(await socket.call('eth_getFilterChanges', [filter])).toEqual(notes);
    expect(await socket.call('eth_getFilterChanges', [filter])).toEqual([]);
  });
});
