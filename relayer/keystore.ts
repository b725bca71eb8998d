import type { Keystore } from '../core/config/relayer-keys.js';
import type { Hex } from '../core/types.js';

/**
 * The key of an encrypted keystore; null if the password does not open it. The cause is never passed on: a library's error message
 * may quote the password.
 */
export async function openKeystore({ json, password }: Keystore): Promise<Hex | null> {
  // Imported lazily, because it is large and only needed for keystores.
  const { decryptKeystoreJson } = await import('ethers');
  try {
    const { privateKey } = await decryptKeystoreJson(json(), password());
    return privateKey.toLowerCase() as Hex;
  } catch {
    return null;
  }
}
