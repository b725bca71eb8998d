import type { Recover } from '../../access/signature.js';
import type { Address } from '../../types.js';

/** Between the request that brings an action and the signature of its transaction lie a second or two; two thousand orders a second are more than one process takes. */
const MOST_KEPT = 5_000;

/**
 * The same recovery with the newest answers kept: the relayer recovers each action once more before it signs, mostly in the process that
 * did so when it came. An answer depends on nothing but its question.
 */
export function rememberRecoveries(recover: Recover): Recover {
  let newer = new Map<string, Address | null>();
  let older = new Map<string, Address | null>();
  return (digest, signature) => {
    const key = Buffer.concat([digest, signature.compact, Uint8Array.of(signature.yParity)]).toString('latin1');
    const known = newer.get(key) ?? older.get(key);
    if (known !== undefined) return known;
    const signer = recover(digest, signature);
    if (newer.size >= MOST_KEPT / 2) [older, newer] = [newer, new Map<string, Address | null>()];
    newer.set(key, signer);
    return signer;
  };
}
