import type { PublicClient } from 'viem';
import type { SeenTransaction } from '../../ports/simulation.js';
import type { Address, Hex } from '../../types.js';

/** A transaction with its receipt, in one round trip; null when the node does not have it. */
export async function seenTransaction(client: PublicClient, hash: Hex): Promise<SeenTransaction | null> {
  const [transaction, mined] = await Promise.all([
    client.request({ method: 'eth_getTransactionByHash', params: [hash] }),
    outcomeOf(client, hash),
  ]);
  if (transaction === null) return null;
  return {
    from: lower(transaction.from),
    to: transaction.to === null ? null : lower(transaction.to),
    input: transaction.input,
    mined,
  };
}

export async function outcomeOf(client: PublicClient, hash: Hex): Promise<SeenTransaction['mined']> {
  const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] });
  if (receipt === null) return null;
  return { blockNumber: BigInt(receipt.blockNumber), blockHash: receipt.blockHash, succeeded: BigInt(receipt.status) === 1n };
}

const lower = (address: string): Address => address.toLowerCase() as Address;
