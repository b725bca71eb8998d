import { createRequire } from 'node:module';
import { createKeccak } from 'hash-wasm';
import type { Crypto, Keccak, Recover } from '../../access/signature.js';
import type { Logger } from '../../ports/log.js';
import type { Address } from '../../types.js';

/** The fastest hash and curve this machine supports, loaded once and logged. */
export async function loadCrypto(log: Logger): Promise<Crypto> {
  const keccak = await loadKeccak();
  const native = loadNativeRecover(keccak);
  log.info('crypto.ready', { recovery: native === null ? 'libsecp256k1 WebAssembly' : 'libsecp256k1 addon' });
  return { keccak, recover: rememberRecoveries(native ?? (await loadWasmRecover(keccak))) };
}

/** Null where this machine has no native curve. */
export function loadNativeRecover(keccak: Keccak): Recover | null {
  const addon = loadSecp256k1Addon();
  if (addon === null) return null;
  const publicKey = new Uint8Array(65);
  return (digest, { compact, yParity }) => {
    try {
      return publicKeyAddress(keccak, addon.ecdsaRecover(compact, yParity, digest, false, publicKey));
    } catch {
      return null; // the addon throws when no key matches
    }
  };
}

/** libsecp256k1 in WebAssembly: runs everywhere. */
export async function loadWasmRecover(keccak: Keccak): Promise<Recover> {
  // Imported on demand, because it is large and most machines use the native addon.
  const { instantiateSecp256k1 } = await import('@bitauth/libauth');
  const curve = await instantiateSecp256k1();
  return (digest, { compact, yParity }) => {
    if (digest.length !== 32 || compact.length !== 64) return null;
    const publicKey = curve.recoverPublicKeyUncompressed(compact, yParity, digest);
    return typeof publicKey === 'string' ? null : publicKeyAddress(keccak, publicKey);
  };
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The address of an uncompressed public key (65 bytes), in lower case. */
function publicKeyAddress(keccak: Keccak, publicKey: Uint8Array): Address {
  const hash = keccak(publicKey.subarray(1));
  let address: Address = '0x';
  for (let index = 12; index < 32; index += 1) address = `${address}${HEX[hash[index] ?? 0] ?? ''}`;
  return address;
}

interface Secp256k1Addon {
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

/** Keccak-256 in WebAssembly: some 15 times the speed of the JavaScript ones on the short inputs of a request. */
export async function loadKeccak(): Promise<Keccak> {
  const hasher = await createKeccak(256);
  return (bytes) => hasher.init().update(bytes).digest('binary');
}

interface NativeSigning {
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

/** More than the recoveries of the one or two seconds between receiving an action and signing its transaction. */
const MAX_KEPT = 5_000;

/**
 * Caches the newest recoveries: the relayer recovers each action again before it signs, mostly in the process that received it. The result
 * depends on the input only.
 */
function rememberRecoveries(recover: Recover): Recover {
  let newer = new Map<string, Address | null>();
  let older = new Map<string, Address | null>();
  return (digest, signature) => {
    const key = Buffer.concat([digest, signature.compact, Uint8Array.of(signature.yParity)]).toString('latin1');
    const known = newer.get(key) ?? older.get(key);
    if (known !== undefined) return known;
    const signer = recover(digest, signature);
    if (newer.size >= MAX_KEPT / 2) [older, newer] = [newer, new Map<string, Address | null>()];
    newer.set(key, signer);
    return signer;
  };
}
