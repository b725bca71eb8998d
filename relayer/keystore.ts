import type { Keystore } from '../core/config/relayer-keys.js';
import type { Hex } from '../core/types.js';

/**
 * The key in an encrypted keystore; null where the password does not open it. Why it does not is never passed on: what libraries say
 * about a password may quote it.
 */
export async function openKeystore({ json, password }: Keystore): Promise<Hex | null> {
  // Loaded by those alone who have such a file: it is large.
  const { decryptKeystoreJson } = await import('ethers');
  try {
    const { privateKey } = await decryptKeystoreJson(json(), password());
    return privateKey.toLowerCase() as Hex;
  } catch {
    return null;
  }
}
