import type { PublicClient } from 'viem';
import type { ChainDefinition } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';

export async function delegateOf(client: PublicClient, { diamond }: ChainDefinition, trader: Address): Promise<Address | null> {
  const delegate = await client.readContract({ address: diamond, abi: diamondAbi, functionName: 'getTradingDelegate', args: [trader] });
  return BigInt(delegate) === 0n ? null : (delegate.toLowerCase() as Address);
}
