/** The nonce rules of Hyperliquid: milliseconds, in no order, each once per signer. */

/** Of each signer the highest are kept; a nonce below all of them could be one that was forgotten. */
export const KEPT_NONCES = 100;

/** Counters of some clients run this far behind the clock. What an agent signed before that was not meant for its trader. */
export const CLIENT_LAG_MS = 300_000;

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

/**
 * Up to which nonce an approval kills what the agent signed before it. A nonce that lies ahead of the clock does not count, or an approval
 * could stop an agent for a day. A wallet that approves itself signs by one clock, so nothing that it signed before counts.
 */
export function approvalFloor(approval: { readonly nonce: bigint; readonly isSelf: boolean }, now: number): bigint {
  const at = approval.nonce < BigInt(now) ? approval.nonce : BigInt(now);
  return approval.isSelf ? at : at - BigInt(CLIENT_LAG_MS);
}
