import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { systemClock } from '../../../core/adapters/system/clock.js';
import { createEngine, type RpcAnswer } from '../../../sandbox/chain/engine.js';
import { createExternalNode } from '../../../sandbox/chain/external-node.js';
import { answerRpc } from '../../../sandbox/chain/rpc-server.js';
import { alice, bob, CHAIN_ID, cleanUp, later, recordingLog, sign } from './fixture.js';

afterEach(cleanUp);

type Answer = (method: string, params: readonly unknown[]) => Promise<RpcAnswer>;

/** What an operator might run: the engine with all of Hardhat's levers on its port, no anvil ones. */
async function hardhatLike(twist: (answer: Answer) => Answer = (answer) => answer) {
  const engine = await createEngine({ chainId: CHAIN_ID, genesisTime: 1_700_000_000, balances: new Map([[alice.address, 10n ** 21n]]) });
  const answer = twist((method, params) => engine.request(method, params));
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => void answerRpc(Buffer.concat(parts).toString(), answer).then((text) => response.end(text)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  later(() => {
    server.closeAllConnections();
    server.close();
    engine.close();
  });
  const address = server.address();
  const node = await createExternalNode({
    url: `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}`,
    clock: systemClock,
    log: recordingLog().log,
    pollMs: 5,
  });
  later(() => node.close());
  return node;
}

describe('an external node', () => {
  it('is identified, mined and changed through its own methods', async () => {
    const node = await hardhatLike();
    expect(node.chainId).toBe(CHAIN_ID);
    await node.request('eth_sendRawTransaction', [await sign({ nonce: 0 })]);
    const next = node.nextBlock();
    expect((await node.mine(3)).number).toBe(3n);
    expect((await next).number).toBe(3n);
    await node.admin('hardhat_setBalance', [bob.address, '0x5']);
    expect(await node.request('eth_getBalance', [bob.address, 'latest'])).toBe('0x5');
    expect(await node.request('eth_getTransactionCount', [alice.address, 'latest'])).toBe('0x1');
  });

  it('announces a block it was asked for also when the first look finds it there already', async () => {
    const mining = new EventEmitter();
    let isFirst = true;
    const node = await hardhatLike((answer) => async (method, params) => {
      const isFirstLook = isFirst && method === 'eth_getBlockByNumber';
      if (isFirstLook) isFirst = false;
      if (isFirstLook) await once(mining, 'done');
      const answered = await answer(method, params);
      if (method === 'hardhat_mine') mining.emit('done');
      return answered;
    });
    const next = node.nextBlock();
    await node.mine(3);
    expect((await next).number).toBe(3n);
  });

  it('says in one sentence what it cannot do', async () => {
    const node = await hardhatLike();
    await node.mine(3);
    await expect(node.reorg({ depth: 1 })).rejects.toThrow(/^reorg is not supported by the external node at 127\.0\.0\.1:\d+\.$/);
    await expect(node.reorg({ depth: 9 })).rejects.toThrow('too deep');
  });
});
