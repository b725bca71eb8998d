/** The nonce rules of Hyperliquid: milliseconds, in no order, each once per signer. */

/** The highest nonces kept per signer; a nonce below all of them may have been used and deleted. */
export const KEPT_NONCES = 100;

/** Nonces of some clients lag this far behind the clock. Actions signed earlier than this before the approval are not accepted. */
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

/** The result for a nonce: accepted, already used, or out of range; `least` is the smallest that would not be too low. */
export type NonceVerdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'too-low'; readonly least: bigint }
  | { readonly kind: 'too-high'; readonly most: bigint };

/** The check against the clock; null when the nonce is in range. */
export function judgeByClock(nonce: bigint, now: number): NonceVerdict | null {
  const { after, before } = nonceWindow(now);
  if (nonce <= after) return { kind: 'too-low', least: after + 1n };
  if (nonce >= before) return { kind: 'too-high', most: before - 1n };
  return null;
}

/** A signer's stored nonces, ascending, and the floor up to which all nonces are invalid. */
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
 * The nonce up to which an approval invalidates actions the agent signed before it. A nonce ahead of the clock is capped at now, or an approval
 * could stop an agent for a day. A wallet that approves itself uses one clock, so no client lag is allowed.
 */
export function approvalFloor(approval: { readonly nonce: bigint; readonly isSelf: boolean }, now: number): bigint {
  const at = approval.nonce < BigInt(now) ? approval.nonce : BigInt(now);
  return approval.isSelf ? at : at - BigInt(CLIENT_LAG_MS);
}
