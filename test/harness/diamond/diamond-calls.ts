import {
  decodeErrorResult,
  decodeEventLog,
  encodeFunctionData,
  zeroAddress,
  type Abi,
  type AbiStateMutability,
  type ContractEventName,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type DecodeEventLogReturnType,
  type Hex,
} from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { sandboxControlAbi, tokenAbi } from '../../../sandbox/contracts/artefact.js';

/** Encoding calls of the Diamond and reading what it logs and refuses, in names instead of selectors. */

type Args<Known extends Abi, Name extends ContractFunctionName<Known>> = ContractFunctionArgs<Known, AbiStateMutability, Name> &
  readonly unknown[];

const encode = (abi: Abi, functionName: string, args: readonly unknown[]): Hex => encodeFunctionData({ abi, functionName, args });

export function diamondCall<Name extends ContractFunctionName<typeof diamondAbi>>(name: Name, args: Args<typeof diamondAbi, Name>): Hex {
  return encode(diamondAbi, name, args);
}

export function controlCall<Name extends ContractFunctionName<typeof sandboxControlAbi>>(
  name: Name,
  args: Args<typeof sandboxControlAbi, Name>,
): Hex {
  return encode(sandboxControlAbi, name, args);
}

export function tokenCall<Name extends ContractFunctionName<typeof tokenAbi>>(name: Name, args: Args<typeof tokenAbi, Name>): Hex {
  return encode(tokenAbi, name, args);
}

export type EventName = ContractEventName<typeof diamondAbi>;
export type DiamondLog = DecodeEventLogReturnType<typeof diamondAbi>;
type LogNamed<Name extends EventName> = DecodeEventLogReturnType<typeof diamondAbi, Name>;

export interface RawLog {
  readonly address: string;
  readonly topics: [Hex, ...Hex[]];
  readonly data: Hex;
}

export const decodeLog = ({ topics, data }: RawLog): DiamondLog => decodeEventLog({ abi: diamondAbi, topics, data });

/** Arguments of the only event of that name; a test that expects one must not overlook a second. */
export function argsOf<Name extends EventName>(logs: readonly DiamondLog[], name: Name): LogNamed<Name>['args'] {
  const found = logs.filter((log): log is DiamondLog & LogNamed<Name> => log.eventName === name);
  const [only] = found;
  if (!only || found.length > 1)
    throw new Error(`expected one ${name}, found ${found.length} in ${logs.map((log) => log.eventName).join(', ')}`);
  return only.args;
}

const errors: Abi = [...diamondAbi, ...tokenAbi].filter((item) => item.type === 'error');

export class RevertedError extends Error {
  readonly data: Hex;
  /** `empty` when the revert carried no data. */
  readonly errorName: string;
  readonly args: readonly unknown[];

  constructor(data: Hex) {
    const decoded = data === '0x' ? { errorName: 'empty', args: [] } : decodeErrorResult({ abi: errors, data });
    super(`reverted with ${decoded.errorName}`);
    this.data = data;
    this.errorName = decoded.errorName;
    this.args = decoded.args ?? [];
  }
}

/** Name of the error a call fails with; fails itself when the call succeeds. */
export async function errorOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof RevertedError) return error.errorName;
    throw error;
  }
  throw new Error('the call succeeded');
}

export type Trade = Args<typeof diamondAbi, 'openTrade'>[0];

/** A long of BTC over 100 USDC at 10x, at the market; a test states what it changes. */
export const trade = (changes: Partial<Trade> = {}): Trade => ({
  user: zeroAddress,
  index: 0,
  pairIndex: 0,
  leverage: 10_000,
  long: true,
  isOpen: true,
  collateralIndex: 3,
  tradeType: 0,
  collateralAmount: 100_000_000n,
  openPrice: price(60_000),
  tp: 0n,
  sl: 0n,
  isCounterTrade: false,
  positionSizeToken: 0n,
  __placeholder: 0,
  ...changes,
});

export const price = (value: number): bigint => BigInt(Math.round(value * 1e4)) * 1_000_000n;

export const usdc = (value: number): bigint => BigInt(Math.round(value * 1e6));

/** What a keeper names an order by. */
export const packed = (orderType: number, trader: `0x${string}`, index: number): bigint =>
  BigInt(orderType) | (BigInt(trader) << 8n) | (BigInt(index) << 168n);
