import {
  decodeFunctionResult,
  encodeFunctionData,
  prepareEncodeFunctionData,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
} from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { Address, Hex } from '../../core/types.js';

/** One JSON-RPC request; rejects if the node returns an error. */
export type RpcRead = (method: string, params: readonly unknown[]) => Promise<unknown>;

type Abi = typeof diamondAbi;
export type ViewName = ContractFunctionName<Abi, 'view'>;
type Args<Name extends ViewName> = ContractFunctionArgs<Abi, 'view', Name>;
export type ViewResult<Name extends ViewName> = ContractFunctionReturnType<Abi, 'view', Name, Args<Name>>;

export interface DiamondReader {
  /** Reads of one turn of the event loop are batched as `multicall`s. */
  view<Name extends ViewName>(functionName: Name, args: Args<Name>): Promise<ViewResult<Name>>;
}

interface Waiting {
  readonly data: Hex;
  resolve(result: Hex): void;
  reject(error: unknown): void;
}

type Call = Parameters<typeof encodeFunctionData>[0];

/** Each function's ABI item and selector, computed once: hashing a selector takes longer than the rest of a call. */
const PREPARED = new Map<string, Call>();

function prepared(functionName: ViewName | 'multicall'): Call {
  const known = PREPARED.get(functionName) ?? prepareEncodeFunctionData({ abi: diamondAbi, functionName });
  PREPARED.set(functionName, known);
  return known;
}

/** The contract's limit of calls per multicall. */
const BATCH_SIZE = 20;

/** `block` pins every batch to one state; a tag or a hexadecimal number. */
export function createDiamondReader(read: RpcRead, diamond: Address, block: string): DiamondReader {
  let waiting: Waiting[] = [];

  const send = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const data = encodeFunctionData({ ...prepared('multicall'), args: [batch.map((one) => one.data)] });
      const answer = await read('eth_call', [{ to: diamond, data }, block]);
      const results = decodeFunctionResult({ abi: diamondAbi, functionName: 'multicall', data: answer as Hex });
      batch.forEach((one, at) => one.resolve(results[at] ?? '0x'));
    } catch (error) {
      for (const one of batch) one.reject(error);
    }
  };

  /** One batch after the other: the engine traces every step of a call, and concurrent traces would add up in memory. */
  const flush = async (): Promise<void> => {
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += BATCH_SIZE) await send(all.slice(from, from + BATCH_SIZE));
  };

  const ask = (data: Hex): Promise<Hex> =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(() => void flush());
      waiting.push({ data, resolve, reject });
    });

  return {
    async view(functionName, args) {
      const [call, name]: [Call, string] = [prepared(functionName), functionName];
      const data = await ask(encodeFunctionData({ ...call, args: args as never }));
      return decodeFunctionResult({ ...call, functionName: name, data }) as never;
    },
  };
}
