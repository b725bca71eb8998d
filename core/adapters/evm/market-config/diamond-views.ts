import {
  decodeFunctionResult,
  encodeFunctionData,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
} from 'viem';
import type { Chain } from '../../../ports/chain.js';
import type { Address, Hex } from '../../../types.js';
import { diamondAbi } from '../diamond-abi.js';

type Abi = typeof diamondAbi;
type ViewName = ContractFunctionName<Abi, 'view'>;
type Args<Name extends ViewName> = ContractFunctionArgs<Abi, 'view', Name>;
type Result<Name extends ViewName> = ContractFunctionReturnType<Abi, 'view', Name, Args<Name>>;

export interface DiamondViews {
  view<Name extends ViewName>(functionName: Name, args: Args<Name>): Promise<Result<Name>>;
  /** Any other contract. */
  call(to: Address, data: Hex): Promise<Hex>;
}

interface Waiting {
  readonly to: Address;
  readonly data: Hex;
  resolve(answer: Hex): void;
  reject(error: unknown): void;
}

/** Typed reads at one block; reads of one turn of the event loop are sent as one batch. */
export function createDiamondViews(views: Chain['views'], diamond: Address, block: bigint): DiamondViews {
  let waiting: Waiting[] = [];

  const flush = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    try {
      const answers = await views(batch, block);
      batch.forEach((one, at) => one.resolve(answers[at] ?? '0x'));
    } catch (error) {
      for (const one of batch) one.reject(error);
    }
  };

  const call = (to: Address, data: Hex): Promise<Hex> =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(() => void flush());
      waiting.push({ to, data, resolve, reject });
    });

  return {
    call,
    async view(functionName, args) {
      // viem's types cannot infer from a generic function name.
      const request = { abi: diamondAbi, functionName, args } as unknown as Parameters<typeof encodeFunctionData>[0];
      const data = await call(diamond, encodeFunctionData(request));
      return decodeFunctionResult({ ...request, data }) as never;
    },
  };
}
