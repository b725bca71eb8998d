import { alice, bob, call, cleanUp, sign, startNode } from './fixture.js';

afterEach(cleanUp);

describe('under load', () => {
  it('two senders get 2,000 transactions mined while others read, none lost, and blocks keep coming', async () => {
    const node = await startNode({ paused: false, blockMs: 50 });
    const raws = await Promise.all(
      Array.from({ length: 1000 }, (_, nonce) => [alice, bob].map((by) => sign({ nonce, gas: 21_000n }, by))).flat(),
    );
    let busy = true;
    const readers = Array.from({ length: 4 }, async () => {
      while (busy) await call(node.url, 'eth_call', [{ to: bob.address }, 'latest']);
    });
    const hashes: unknown[] = [];
    for (let start = 0; start < raws.length; start += 40) {
      const answers = await Promise.all(raws.slice(start, start + 40).map((raw) => call(node.url, 'eth_sendRawTransaction', [raw])));
      hashes.push(...answers.map(({ result, error }) => result ?? error));
    }
    const mined = async (): Promise<number[]> =>
      Promise.all(
        [alice, bob].map(async ({ address }) => Number((await call(node.url, 'eth_getTransactionCount', [address, 'latest'])).result)),
      );
    while ((await mined()).some((count) => count < 1000)) await node.nextBlock();
    busy = false;
    await Promise.all(readers);
    const receipts = await Promise.all(hashes.map((hash) => node.request('eth_getTransactionReceipt', [hash])));
    expect(receipts.filter((receipt) => (receipt as { status: string } | null)?.status === '0x1')).toHaveLength(2000);
    expect(Number((await node.head()).number)).toBeGreaterThan(5);
  });
});
