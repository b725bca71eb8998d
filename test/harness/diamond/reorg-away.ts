import type { PublicClient } from 'viem';
import type { ChainControls } from '../../../sandbox/controls.js';

/** Takes the block back, and what was built on it. No block comes between the look and the deed. */
export async function reorgAway(chain: ChainControls, client: PublicClient, blockNumber: bigint): Promise<void> {
  await chain.pauseMining(true);
  try {
    const head = await client.getBlockNumber({ cacheTime: 0 });
    await chain.reorg(Number(head - blockNumber) + 1, true);
  } finally {
    await chain.pauseMining(false);
  }
}
