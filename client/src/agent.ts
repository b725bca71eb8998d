import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Hex } from './api.js';

/** EIP-712 data, as wallets take it. */
export interface TypedData {
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number; readonly verifyingContract: Hex };
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

export interface UnsignedTransaction {
  readonly type: 'eip1559';
  readonly chainId: number;
  readonly to: Hex;
  readonly data: Hex;
  readonly value: bigint;
  readonly gas: bigint;
  readonly nonce: number;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** Holds the agent's key: one in memory, or a wallet or key service elsewhere. */
export interface Signer {
  readonly address: Hex;
  signTypedData(data: TypedData): Promise<Hex>;
  /** A raw transaction, ready to be broadcast. */
  signTransaction(transaction: UnsignedTransaction): Promise<Hex>;
}

/** A new key, made here from the platform's random numbers. It is not sent anywhere. */
export const newAgentKey = (): Hex => generatePrivateKey();

export function agentFromKey(privateKey: Hex): Signer {
  const account = privateKeyToAccount(privateKey);
  return {
    address: account.address,
    signTypedData: (data) => account.signTypedData(data),
    signTransaction: (transaction) => account.signTransaction(transaction),
  };
}
