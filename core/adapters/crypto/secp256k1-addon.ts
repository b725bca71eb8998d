import { createRequire } from 'node:module';

export interface Secp256k1Addon {
  ecdsaRecover(signature: Uint8Array, recoveryId: number, digest: Uint8Array, compressed: boolean, output: Uint8Array): Uint8Array;
  ecdsaSign(digest: Uint8Array, key: Uint8Array): { readonly signature: Uint8Array; readonly recid: number };
}

/**
 * libsecp256k1 as a native addon; null where it has no binary for this machine. Its bindings are loaded by name, because the package's own
 * entry silently falls back to a JavaScript curve, ten times slower than our WebAssembly.
 */
export function loadSecp256k1Addon(): Secp256k1Addon | null {
  try {
    const module: unknown = createRequire(import.meta.url)('secp256k1/bindings.js');
    return isAddon(module) ? module : null;
  } catch {
    return null;
  }
}

const isAddon = (module: unknown): module is Secp256k1Addon =>
  typeof module === 'object' && module !== null && hasFunction(module, 'ecdsaRecover') && hasFunction(module, 'ecdsaSign');

const hasFunction = (module: object, name: string): boolean => typeof Reflect.get(module, name) === 'function';
