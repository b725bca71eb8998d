import { privateKeyToAccount } from 'viem/accounts';
import { keccak256 } from 'viem/utils';
import type { Attempt } from '../core/relay/relay-store.js';
import type { Address, Hex } from '../core/ports.js';
import type { Fees } from './fees.js';

/** Signs for one address. The key stays inside the closure: it is no property of anything. */
export interface Wallet {
  readonly address: Address;
  sign(transaction: Unsigned): Promise<Pick<Attempt, 'hash' | 'raw'>>;
}

export interface Unsigned extends Fees {
  readonly chainId: number;
  readonly nonce: number;
  readonly to: Address;
  readonly data: Hex;
  readonly gas: bigint;
}

export function createWallet(privateKey: Hex): Wallet {
  const account = privateKeyToAccount(privateKey);
  return {
    address: account.address.toLowerCase() as Address,
    async sign(transaction) {
      const raw = await account.signTransaction({ ...transaction, type: 'eip1559', value: 0n });
      return { raw, hash: keccak256(raw) };
    },
  };
}
