import { decodeFunctionResult, encodeFunctionData, erc20Abi, type Hex } from 'viem';
import type { Address } from '../../core/types.js';
import type { RpcRead } from './diamond-reader.js';

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
