import type { Hex } from '../../../core/types.js';
import { systemClock } from '../../../core/adapters/system/clock.js';
import { createChainEvents } from '../../../sandbox/chain/chain-node.js';
import { openLedger } from '../../../sandbox/chain/open-ledger.js';
import { alice, CHAIN_ID, cleanUp, EMITTER, later, recordingLog, send, startNode, topic } from './fixture.js';

afterEach(cleanUp);

const BLOCKS = 1_500;

describe('a chain that was left running', () => {
  it('lets go of blocks that no reorganisation can reach', async () => {
    const options = {
      chainId: CHAIN_ID,
      balances: new Map<Hex, bigint>(),
      clock: systemClock,
      log: recordingLog().log,
      genesisTime: 1_000,
    };
    const { ledger, engine } = await openLedger(options, createChainEvents());
    later(() => engine.close());
    const kept: number[] = [];
    for (let block = 1; block <= BLOCKS; block += 1) {
      await ledger.mine(1_000 + block);
      kept.push(ledger.remembered());
    }
    expect(ledger.undoable()).toBe(64);
    // Two stretches of 512 blocks, and the 64 that are still within reach.
    expect(Math.max(...kept)).toBeLessThanOrEqual(2 * 512 + 64);
    expect(kept.at(-1)).toBeLessThanOrEqual(BLOCKS - 512);
  });

  it('still answers for old transactions, logs and blocks, and takes back the last 64', async () => {
    const node = await startNode();
    await node.admin('hardhat_setCode', [EMITTER.address, EMITTER.code]);
    const { result: old } = await send(node.url, { nonce: 0, to: EMITTER.address, data: topic(7) });
    await node.mine(BLOCKS);
    const { result: young } = await send(node.url, { nonce: 1, to: EMITTER.address, data: topic(8) });
    await node.mine(60);
    const { head } = await node.reorg({ depth: 64 });
    expect(head.number).toBe(BigInt(BLOCKS + 60));
    for (const hash of [old, young]) expect(await node.request('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' });
    const logs = await node.request('eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest', address: EMITTER.address }]);
    expect(logs).toMatchObject([{ topics: [topic(7)], blockNumber: '0x1' }, { topics: [topic(8)] }]);
    expect(await node.request('eth_getBlockByNumber', ['0x1', false])).toMatchObject({ transactions: [old] });
    expect(await node.request('eth_getTransactionCount', [alice.address, 'latest'])).toBe('0x2');
  });
});
