import { createRequire } from 'node:module';
import type { Keccak, Recover } from '../../access/signature.js';
import { publicKeyAddress } from './public-key-address.js';

interface Addon {
  ecdsaRecover(signature: Uint8Array, recoveryId: number, digest: Uint8Array, compressed: boolean, output: Uint8Array): Uint8Array;
}

const isAddon = (module: unknown): module is Addon =>
  typeof module === 'object' && module !== null && 'ecdsaRecover' in module && typeof module.ecdsaRecover === 'function';

/**
 * libsecp256k1 as a native addon; null where it has no binary for this machine. Its bindings are loaded by name: the package's own
 * entry falls back to a JavaScript curve without a word, ten times slower than our WebAssembly.
 */
export function loadNativeRecover(keccak: Keccak): Recover | null {
  const addon = loadAddon();
  if (addon === null) return null;
  const publicKey = new Uint8Array(65);
  return (digest, { compact, yParity }) => {
    try {
      return publicKeyAddress(keccak, addon.ecdsaRecover(compact, yParity, digest, false, publicKey));
    } catch {
      return null; // the addon's only way to say that no key belongs to these numbers
    }
  };
}

function loadAddon(): Addon | null {
  try {
    const module: unknown = createRequire(import.meta.url)('secp256k1/bindings.js');
    return isAddon(module) ? module : null;
  } catch {
    return null;
  }
}
