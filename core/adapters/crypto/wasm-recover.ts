import type { Keccak, Recover } from '../../access/signature.js';
import { publicKeyAddress } from './public-key-address.js';

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
