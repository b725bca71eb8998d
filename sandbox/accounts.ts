import { createECDH } from 'node:crypto';
import { privateKeyToAccount, publicKeyToAddress, toAccount, type PrivateKeyAccount } from 'viem/accounts';
import { hashMessage, hashTypedData, keccak256, serializeSignature, serializeTransaction } from 'viem';
import { demoKey } from '../core/config/relayer-keys.js';
import type { Hex } from '../core/types.js';
import { loadSecp256k1Addon } from '../core/adapters/crypto/load-crypto.js';

/** `operator` runs the venue (oracle, keeper, faucet); the others are for users and listed in `GET /sandbox`. */
export const DEMO_ROLES = ['trader', 'agent', 'hl-trader', 'hl-agent'] as const;
export type DemoRole = (typeof DEMO_ROLES)[number];
export type SandboxRole = DemoRole | 'operator' | 'relayer';

export interface SandboxAccount {
  readonly role: SandboxRole;
  readonly address: `0x${string}`;
  readonly privateKey: Hex;
  readonly signer: PrivateKeyAccount;
}

/** Keys are derived from the seed alone; production refuses them. */
export function sandboxAccount(seed: string, role: SandboxRole): SandboxAccount {
  const privateKey = demoKey(seed, role);
  const signer = localSigner(privateKey);
  return { role, address: signer.address, privateKey, signer };
}

export type SandboxAccounts = Readonly<Record<SandboxRole, SandboxAccount>>;

export const sandboxAccounts = (seed: string): SandboxAccounts => ({
  operator: sandboxAccount(seed, 'operator'),
  relayer: sandboxAccount(seed, 'relayer'),
  trader: sandboxAccount(seed, 'trader'),
  agent: sandboxAccount(seed, 'agent'),
  'hl-trader': sandboxAccount(seed, 'hl-trader'),
  'hl-agent': sandboxAccount(seed, 'hl-agent'),
});

const addon = loadSecp256k1Addon();

/**
 * An account of the sandbox. With the native curve it signs the same bytes as the library's own, whose curve in JavaScript first computes
 * tables that take longer than all signatures of a start together.
 */
export function localSigner(privateKey: Hex): PrivateKeyAccount {
  if (addon === null) return privateKeyToAccount(privateKey);
  const key = Buffer.from(privateKey.slice(2), 'hex');
  const publicKey: Hex = `0x${publicKeyOf(key).toString('hex')}`;

  const signHash = (hash: Hex): { r: Hex; s: Hex; yParity: number; v: bigint } => {
    const { signature, recid } = addon.ecdsaSign(Buffer.from(hash.slice(2), 'hex'), key);
    const text = Buffer.from(signature).toString('hex');
    return { r: `0x${text.slice(0, 64)}`, s: `0x${text.slice(64)}`, yParity: recid, v: BigInt(recid + 27) };
  };
  const sign = (hash: Hex): Promise<Hex> => Promise.resolve(serializeSignature(signHash(hash)));

  const account = toAccount({
    address: publicKeyToAddress(publicKey),
    sign: ({ hash }) => sign(hash),
    signAuthorization: (authorization) => privateKeyToAccount(privateKey).signAuthorization(authorization),
    signMessage: ({ message }) => sign(hashMessage(message)),
    signTypedData: (typedData) => sign(hashTypedData(typedData)),
    signTransaction: async (transaction, { serializer = serializeTransaction } = {}) =>
      serializer(transaction, signHash(keccak256(await serializer(transaction)))),
  });
  return { ...account, publicKey, source: 'privateKey' } as PrivateKeyAccount;
}

function publicKeyOf(key: Buffer): Buffer {
  const curve = createECDH('secp256k1');
  curve.setPrivateKey(key);
  return curve.getPublicKey(null, 'uncompressed');
}
