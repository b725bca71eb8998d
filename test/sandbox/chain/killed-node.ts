import { alice, EMITTER, send, startNode, topic } from './fixture.js';

/** A process of its own that says every block and receipt it announces, until it is killed. */
const node = await startNode({ dataDir: process.argv[2] ?? '', paused: false, blockMs: 5 });
await node.admin('hardhat_setCode', [EMITTER.address, EMITTER.code]);
node.onBlock(({ number, hash }) => process.stdout.write(`block ${number} ${hash}\n`));
const first = Number(await node.request('eth_getTransactionCount', [alice.address, 'latest']));
for (let nonce = first; ; nonce += 1) {
  const { result } = await send(node.url, { nonce, to: EMITTER.address, data: topic(nonce) });
  await node.nextBlock();
  const receipt = (await node.request('eth_getTransactionReceipt', [result])) as { blockHash: string } | null;
  if (receipt !== null) process.stdout.write(`receipt ${String(result)} ${receipt.blockHash}\n`);
}
