import type { Keccak, Recover } from '../../access/signature.js';
import { publicKeyAddress } from './public-key-address.js';
import { loadSecp256k1Addon } from './secp256k1-addon.js';

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
