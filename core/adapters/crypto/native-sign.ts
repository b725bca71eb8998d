import type { Keccak } from '../../access/signature.js';
import { loadKeccak } from './keccak.js';
import { loadSecp256k1Addon } from './secp256k1-addon.js';

export interface NativeSigning {
  readonly keccak: Keccak;
  /** RFC 6979, low s: the same bytes as every other implementation. */
  readonly sign: (digest: Uint8Array, key: Uint8Array) => { readonly compact: Uint8Array; readonly yParity: 0 | 1 };
}

/** A native curve and a hash in WebAssembly, some twenty times the speed of JavaScript; null where this machine has no native curve. */
export async function loadNativeSigning(): Promise<NativeSigning | null> {
  const addon = loadSecp256k1Addon();
  if (addon === null) return null;
  return {
    keccak: await loadKeccak(),
    sign(digest, key) {
      const { signature, recid } = addon.ecdsaSign(digest, key);
      return { compact: signature, yParity: recid === 0 ? 0 : 1 };
    },
  };
}
