import {
  decodeFunctionResult,
  encodeFunctionData,
  erc20Abi,
  hexToNumber,
  prepareEncodeFunctionData,
  toEventSelector,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  type DecodeEventLogReturnType,
} from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { Address, Hex } from '../../core/types.js';
import { eventDecoder } from '../../core/adapters/evm/logs.js';

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

export interface Token {
  readonly address: Address;
  readonly symbol: string;
  readonly decimals: number;
}

const call = async (read: RpcRead, to: Address, data: Hex): Promise<Hex> => (await read('eth_call', [{ to, data }, 'latest'])) as Hex;

export async function readToken(read: RpcRead, address: Address): Promise<Token> {
  const [symbol, decimals] = await Promise.all([
    call(read, address, encodeFunctionData({ abi: erc20Abi, functionName: 'symbol' })),
    call(read, address, encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' })),
  ]);
  return {
    address,
    symbol: decodeFunctionResult({ abi: erc20Abi, functionName: 'symbol', data: symbol }),
    decimals: decodeFunctionResult({ abi: erc20Abi, functionName: 'decimals', data: decimals }),
  };
}

export async function readBalance(read: RpcRead, token: Address, owner: Address, spender: Address) {
  const [balance, allowance] = await Promise.all([
    call(read, token, encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [owner] })),
    call(read, token, encodeFunctionData({ abi: erc20Abi, functionName: 'allowance', args: [owner, spender] })),
  ]);
  return {
    balance: decodeFunctionResult({ abi: erc20Abi, functionName: 'balanceOf', data: balance }),
    allowance: decodeFunctionResult({ abi: erc20Abi, functionName: 'allowance', data: allowance }),
  };
}

type AllEvents = Extract<(typeof diamondAbi)[number], { type: 'event' }>['name'];

/** Distributes over the event names, so that `switch (name)` narrows the arguments. */
type Decoded<Name extends AllEvents> = Name extends AllEvents
  ? { readonly name: Name; readonly args: DecodeEventLogReturnType<typeof diamondAbi, Name>['args'] }
  : never;

export type DiamondLog = Decoded<AllEvents> & { readonly block: number; readonly tx: Hex; readonly logIndex: number };

interface RawLog {
  readonly data: Hex;
  readonly topics: [Hex, ...Hex[]];
  readonly blockNumber: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: Hex;
}

/** Looked up by topic: the decoder itself would hash every signature of the ABI for every log. */
const EVENTS = new Map(
  diamondAbi.flatMap((item) =>
    item.type === 'event' ? [[toEventSelector(item), { name: item.name, decode: eventDecoder(item) }] as const] : [],
  ),
);

/** Null for logs of controls and other events outside the ABI. */
export function readLog(raw: unknown): DiamondLog | null {
  const log = raw as RawLog;
  const event = EVENTS.get(log.topics[0]);
  if (!event) return null;
  try {
    const args = event.decode(log.topics, log.data);
    const place = { block: hexToNumber(log.blockNumber), tx: log.transactionHash, logIndex: hexToNumber(log.logIndex) };
    return { name: event.name, args, ...place } as unknown as DiamondLog;
  } catch {
    return null;
  }
}
