import { createRequire } from 'node:module';
import { loadKeccak } from './keccak.js';

interface SigningAddon {
  ecdsaSign(digest: Uint8Array, key: Uint8Array): { readonly signature: Uint8Array; readonly recid: number };
}

const isSigningAddon = (module: unknown): module is SigningAddon =>
  typeof module === 'object' && module !== null && 'ecdsaSign' in module && typeof module.ecdsaSign === 'function';

export interface NativeSigning {
  readonly keccak: (bytes: Uint8Array) => Uint8Array;
  /** RFC 6979, low s: the same bytes as any other implementation makes. */
  readonly sign: (digest: Uint8Array, key: Uint8Array) => { readonly compact: Uint8Array; readonly yParity: 0 | 1 };
}

/** libsecp256k1 and a hash in WebAssembly, some twenty times the speed of JavaScript; null where the addon has no binary for this machine. */
export async function loadNativeSigning(): Promise<NativeSigning | null> {
  const addon = loadAddon();
  if (addon === null) return null;
  return {
    keccak: await loadKeccak(),
    sign(digest, key) {
      const { signature, recid } = addon.ecdsaSign(digest, key);
      return { compact: signature, yParity: recid === 0 ? 0 : 1 };
    },
  };
}

function loadAddon(): SigningAddon | null {
  try {
    const module: unknown = createRequire(import.meta.url)('secp256k1/bindings.js');
    return isSigningAddon(module) ? module : null;
  } catch {
    return null;
  }
}
