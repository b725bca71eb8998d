/** The nonce rules of Hyperliquid: milliseconds, in no order, each once per signer. */

/** Of each signer the highest are kept; a nonce below all of them could be one that was forgotten. */
export const KEPT_NONCES = 100;

const DAY_MS = 86_400_000;
const PAST_MS = 2 * DAY_MS;
const FUTURE_MS = DAY_MS;

export interface NonceWindow {
  /** Nonces must be above. */
  readonly after: bigint;
  /** And below. */
  readonly before: bigint;
}

export const nonceWindow = (now: number): NonceWindow => ({ after: BigInt(now - PAST_MS), before: BigInt(now + FUTURE_MS) });

/** What became of a nonce: taken now, taken before, or not to be had; `least` is the smallest that would not be too low. */
export type NonceVerdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'too-low'; readonly least: bigint }
  | { readonly kind: 'too-high'; readonly most: bigint };

/** The part that needs no books: null when the clock has nothing against it. */
export function judgeByClock(nonce: bigint, now: number): NonceVerdict | null {
  const { after, before } = nonceWindow(now);
  if (nonce <= after) return { kind: 'too-low', least: after + 1n };
  if (nonce >= before) return { kind: 'too-high', most: before - 1n };
  return null;
}

/** What a signer's books say: the nonces kept, ascending, and the one up to which all are dead. */
export interface KeptNonces {
  readonly kept: readonly bigint[];
  readonly floor: bigint;
}

export function judgeByBooks(nonce: bigint, { kept, floor }: KeptNonces): NonceVerdict {
  if (kept.includes(nonce)) return { kind: 'duplicate' };
  const [smallest] = kept;
  const least = kept.length < KEPT_NONCES || smallest === undefined || smallest < floor ? floor : smallest;
  return nonce > least ? { kind: 'taken' } : { kind: 'too-low', least: least + 1n };
}
