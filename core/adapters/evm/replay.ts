import type { PublicClient } from 'viem';
import type { Revert, SeenTransaction } from '../../ports/simulation.js';
import { revertOf } from './decode-revert.js';

/** Repeats the call on the state of a block: receipts show that a transaction failed, not why. */
export async function replay(
  client: PublicClient,
  { from, to, input }: Pick<SeenTransaction, 'from' | 'to' | 'input'>,
  blockNumber: bigint,
): Promise<Revert | null> {
  try {
    await client.call({ account: from, to, data: input, blockNumber });
    return null;
  } catch (error) {
    const revert = revertOf(error);
    if (revert === null) throw error;
    return revert;
  }
}
