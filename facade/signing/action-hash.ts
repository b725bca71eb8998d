import { hexToBytes } from 'viem/utils';
import type { Keccak } from '../../core/access/signature.js';
import type { Address } from '../../core/types.js';
import { packMessage, type Packable } from './msgpack.js';

/** The fields hashed after the action. */
export interface HashExtras {
  readonly nonce: bigint;
  readonly vault: Address | null;
  readonly expiresAfter: bigint | null;
}

/** The connection id of an L1 action. The flag before the expiry is 0x00, unlike the one before a vault. */
export const actionHash = (keccak: Keccak, action: Packable, extras: HashExtras): Uint8Array => keccak(hashedBytes(action, extras));

export function hashedBytes(action: Packable, { nonce, vault, expiresAfter }: HashExtras): Uint8Array {
  const parts = [packMessage(action), uint64(nonce), vaultBytes(vault)];
  if (expiresAfter !== null) parts.push(Uint8Array.of(0), uint64(expiresAfter));
  return join(parts);
}

export const vaultBytes = (vault: Address | null): Uint8Array =>
  vault === null ? Uint8Array.of(0) : join([Uint8Array.of(1), hexToBytes(vault)]);

export function uint64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value);
  return bytes;
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
