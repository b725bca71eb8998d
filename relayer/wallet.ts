import { createECDH } from 'node:crypto';
import { privateKeyToAccount, publicKeyToAddress } from 'viem/accounts';
import { bytesToHex, hexToBytes, keccak256, serializeTransaction } from 'viem/utils';
import type { Attempt } from '../core/ports/stores/relay.js';
import type { Address, Hex } from '../core/types.js';
import type { Fees } from './fees.js';

/** Signs for one address. The key stays in the closure and is no property of any object. */
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

/** Native curve and hash functions, faster than the library's, if the machine has them. */
export interface SigningCurve {
  readonly keccak: (bytes: Uint8Array) => Uint8Array;
  readonly sign: (digest: Uint8Array, key: Uint8Array) => { readonly compact: Uint8Array; readonly yParity: 0 | 1 };
}

const complete = (transaction: Unsigned) => ({ ...transaction, type: 'eip1559', value: 0n }) as const;

export function createWallet(privateKey: Hex, curve: SigningCurve | null = null): Wallet {
  const sign = curve === null ? slowly(privateKey) : quickly(privateKey, curve);
  return { address: addressOf(privateKey), sign };
}

/** By the runtime's own curve: the library's would first compute tables that only its signatures need. */
function addressOf(privateKey: Hex): Address {
  const curve = createECDH('secp256k1');
  curve.setPrivateKey(privateKey.slice(2), 'hex');
  return publicKeyToAddress(`0x${curve.getPublicKey('hex')}`).toLowerCase() as Address;
}

function slowly(privateKey: Hex): Wallet['sign'] {
  const account = privateKeyToAccount(privateKey);
  return async (transaction) => {
    const raw = await account.signTransaction(complete(transaction));
    return { raw, hash: keccak256(raw) };
  };
}

function quickly(privateKey: Hex, { keccak, sign }: SigningCurve): Wallet['sign'] {
  const key = hexToBytes(privateKey);
  const hash = (bytes: Hex): Uint8Array => keccak(Buffer.from(bytes.slice(2), 'hex')); // made by us: a general decoder takes ten times as long
  const signed = (transaction: Unsigned): Pick<Attempt, 'hash' | 'raw'> => {
    const whole = complete(transaction);
    const { compact, yParity } = sign(hash(serializeTransaction(whole)), key);
    const [r, s] = [bytesToHex(compact.subarray(0, 32)), bytesToHex(compact.subarray(32))];
    const raw = serializeTransaction(whole, { r, s, yParity });
    return { raw, hash: bytesToHex(hash(raw)) };
  };
  return (transaction) => new Promise((resolve) => resolve(signed(transaction)));
}
