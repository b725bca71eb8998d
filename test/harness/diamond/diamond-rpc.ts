import {
  createPublicClient,
  custom,
  isHex,
  type Abi,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  type Hex,
  type PublicClient,
} from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import type { Address } from '../../../core/types.js';
import type { Engine } from '../../../sandbox/chain/engine.js';
import { RevertedError, decodeLog, type DiamondLog, type RawLog } from './diamond-calls.js';

/** Sending, mining and reading on a bare engine. */

export interface Receipt {
  readonly hash: Hex;
  readonly block: number;
  readonly gasUsed: bigint;
  /** What the Diamond logged, in order. */
  readonly logs: readonly DiamondLog[];
  readonly names: readonly string[];
}

/** The engine nests the revert bytes; a node in front of it hands them out as geth does. */
function revertData(data: unknown): Hex | null {
  const bytes = typeof data === 'object' && data !== null && 'data' in data ? data.data : data;
  return isHex(bytes) ? bytes : null;
}

/** One RPC call of the engine; a revert is a `RevertedError`. */
export function createRequest(engine: Engine): RpcRequest {
  return async (method, params = []) => {
    const answer = await engine.request(method, params);
    if (!('error' in answer)) return answer.result;
    const reverted = revertData(answer.error.data);
    if (reverted !== null) throw new RevertedError(reverted);
    throw new Error(`${method}: ${answer.error.message}`);
  };
}

/** viem's reader on top, for what it types better than we could. */
export function createClient(request: RpcRequest): PublicClient {
  const ask = ({ method, params }: { method: string; params?: readonly unknown[] }): Promise<unknown> => request(method, params);
  return createPublicClient({ transport: custom({ request: ask }, { retryCount: 0 }) });
}

export type Send = (from: PrivateKeyAccount, data: Hex, options?: { to?: Address; value?: bigint }) => Promise<Receipt>;
export type RpcRequest = (method: string, params?: readonly unknown[]) => Promise<unknown>;

export interface ChainAt {
  readonly request: RpcRequest;
  readonly client: PublicClient;
  readonly chainId: number;
  readonly diamond: Address;
}

type ViewName = ContractFunctionName<typeof diamondAbi, 'view' | 'pure'>;
type ViewArgs<Name extends ViewName> = ContractFunctionArgs<typeof diamondAbi, 'view' | 'pure', Name> & readonly unknown[];
type ViewResult<Name extends ViewName> = ContractFunctionReturnType<typeof diamondAbi, 'view' | 'pure', Name>;

export type Reader = <Name extends ViewName>(functionName: Name, args: ViewArgs<Name>) => Promise<ViewResult<Name>>;

export function createReader({ client, diamond }: ChainAt): Reader {
  const abi: Abi = diamondAbi;
  /** The one seam between the wide ABI viem decodes with and the types its names stand for. */
  return async <Name extends ViewName>(functionName: Name, args: ViewArgs<Name>) =>
    (await client.readContract({ address: diamond, abi, functionName, args })) as ViewResult<Name>;
}

export function createClock(request: RpcRequest) {
  const now = async (): Promise<number> =>
    Number(((await request('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }).timestamp);
  const mine = async (seconds = 1): Promise<void> => {
    await request('evm_mine', [`0x${((await now()) + seconds).toString(16)}`]);
  };
  const mineBlocks = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await mine(0);
  };
  return { now, mine, mineBlocks };
}

export const simulate = (at: ChainAt, from: PrivateKeyAccount, to: Address, data: Hex, value: bigint): Promise<unknown> =>
  at.request('eth_call', [{ from: from.address, to, data, value: `0x${value.toString(16)}`, gas: '0xf42400' }, 'latest']);

export function createSender(at: ChainAt, mine: () => Promise<void>): Send {
  return async (from, data, { to = at.diamond, value = 0n } = {}) => {
    await simulate(at, from, to, data, value);
    const nonce = Number(await at.request('eth_getTransactionCount', [from.address, 'latest']));
    const fees = { gas: 16_000_000n, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 0n };
    const signed = await from.signTransaction({ type: 'eip1559', chainId: at.chainId, nonce, to, data, value, ...fees });
    const hash = (await at.request('eth_sendRawTransaction', [signed])) as Hex;
    await mine();
    return readReceipt(at, hash);
  };
}

async function readReceipt(at: ChainAt, hash: Hex): Promise<Receipt> {
  const receipt = (await at.request('eth_getTransactionReceipt', [hash])) as {
    status: string;
    blockNumber: string;
    gasUsed: string;
    logs: RawLog[];
  };
  if (receipt.status !== '0x1') throw new Error(`transaction ${hash} failed when it was mined`);
  const logs = receipt.logs.filter(({ address }) => address.toLowerCase() === at.diamond.toLowerCase()).map(decodeLog);
  return {
    hash,
    block: Number(receipt.blockNumber),
    gasUsed: BigInt(receipt.gasUsed),
    logs,
    names: logs.map(({ eventName }) => eventName),
  };
}
