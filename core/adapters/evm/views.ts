import { BaseError, decodeFunctionResult, encodeFunctionData, RpcRequestError, type PublicClient } from 'viem';
import type { ChainDefinition } from '../../chains/chains.js';
import type { Chain } from '../../ports/chain.js';
import type { Address, Hex } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';

interface View {
  readonly to: Address;
  readonly data: Hex;
}

/** Limit of the Diamond's multicall. */
const PACK = 20;

/** Batches reads of the Diamond in its `multicall`; without one, and for other contracts, they are single calls in JSON-RPC batches. */
export function createViews(client: PublicClient, { diamond }: ChainDefinition): Chain['views'] {
  let canPack = true;

  const one = async ({ to, data }: View, blockNumber: bigint): Promise<Hex> => {
    const { data: answer } = await client.call({ to, data, blockNumber });
    return answer ?? '0x';
  };

  const packed = async (calls: readonly View[], blockNumber: bigint): Promise<readonly Hex[]> => {
    const data = encodeFunctionData({ abi: diamondAbi, functionName: 'multicall', args: [calls.map((call) => call.data)] });
    return decodeFunctionResult({ abi: diamondAbi, functionName: 'multicall', data: await one({ to: diamond, data }, blockNumber) });
  };

  const pack = async (calls: readonly View[], blockNumber: bigint): Promise<readonly Hex[]> => {
    const singly = (): Promise<readonly Hex[]> => Promise.all(calls.map((call) => one(call, blockNumber)));
    if (!canPack || calls.length === 1) return singly();
    try {
      return await packed(calls, blockNumber);
    } catch (error) {
      if (!isRevert(error)) throw error;
      const answers = await singly();
      canPack = false;
      return answers;
    }
  };

  return async (calls, block) => {
    const isOwn = ({ to }: View): boolean => to.toLowerCase() === diamond.toLowerCase();
    const own = calls.filter(isOwn);
    const packs = Array.from({ length: Math.ceil(own.length / PACK) }, (_, at) => own.slice(at * PACK, (at + 1) * PACK));
    const answers = (await Promise.all(packs.map((calls) => pack(calls, block)))).flat();
    const others = await Promise.all(calls.map(async (call) => (isOwn(call) ? null : one(call, block))));
    let next = 0;
    return others.map((other) => other ?? answers[next++] ?? '0x');
  };
}

/** The node answered, and the contract reverted. */
const isRevert = (error: unknown): boolean =>
  error instanceof BaseError &&
  error.walk((cause) => cause instanceof RpcRequestError) !== null &&
  !/timeout|limit|rate/i.test(error.message);
