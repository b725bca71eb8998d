import type { Recover } from '../../access/signature.js';
import type { Address } from '../../types.js';

/** More than the recoveries of the one or two seconds between receiving an action and signing its transaction. */
const MAX_KEPT = 5_000;

/**
 * Caches the newest recoveries: the relayer recovers each action again before it signs, mostly in the process that received it. The result
 * depends on the input only.
 */
export function rememberRecoveries(recover: Recover): Recover {
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
