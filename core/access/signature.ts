import { hexToBytes } from 'viem/utils';
import type { Address } from '../types.js';

/** 32 bytes. */
export type Keccak = (bytes: Uint8Array) => Uint8Array;

export interface RecoverableSignature {
  /** r and s, 32 bytes each. */
  readonly compact: Uint8Array;
  readonly yParity: 0 | 1;
}

/** The signer in lower case; null for an invalid signature. Never throws. */
export type Recover = (digest: Uint8Array, signature: RecoverableSignature) => Address | null;

export interface Crypto {
  readonly keccak: Keccak;
  readonly recover: Recover;
}

const SHAPE = /^0x[0-9a-fA-F]{130}$/;
const HALF_ORDER = hexToBytes('0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0');
const PARITIES: ReadonlyMap<number | undefined, 0 | 1> = new Map([
  [0, 0],
  [1, 1],
  [27, 0],
  [28, 1],
]);

/** Null for everything but 65 bytes with v 0, 1, 27 or 28 and s in the lower half, so that a signature is not malleable. */
export function parseSignature(text: string): RecoverableSignature | null {
  if (!SHAPE.test(text)) return null;
  const bytes = Buffer.from(text.slice(2), 'hex'); // the shape is checked above; viem's decoder takes ten times as long
  const yParity = PARITIES.get(bytes[64]);
  if (yParity === undefined || isAboveHalf(bytes.subarray(32, 64))) return null;
  return { compact: bytes.subarray(0, 64), yParity };
}

function isAboveHalf(s: Uint8Array): boolean {
  const at = s.findIndex((byte, index) => byte !== HALF_ORDER[index]);
  return at !== -1 && (s[at] ?? 0) > (HALF_ORDER[at] ?? 0);
}
