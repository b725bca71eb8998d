import { GatewayError } from '../errors.js';
import { within, type Clock } from '../ports/clock.js';
import { FACADE_FLOOR_MS, NATIVE_FLOOR_MS, type CommitLoss, type ContinuityStore } from '../ports/stores/continuity.js';

/** After lost commits: a signed request that was accepted before may come again, and nothing in the database says that it was used. */

const FLOOR_MS = { facade: FACADE_FLOOR_MS, native: NATIVE_FLOOR_MS } as const;
export type SigningApi = keyof typeof FLOOR_MS;

/** `wait`: until then nothing signed up to the floor is accepted. `repeat`: it never will be. */
export type LossVerdict = { readonly kind: 'wait'; readonly ms: number } | { readonly kind: 'repeat'; readonly floor: number };

/** `signedAt`: the timestamp of a request, or a nonce of the facade, which is one too. Null: the request is newer than the loss. */
export function judgeAfterLoss(
  loss: Pick<CommitLoss, 'detectedAt'> | null,
  signedAt: bigint | number,
  api: SigningApi,
  now: number,
): LossVerdict | null {
  if (loss === null) return null;
  const floor = loss.detectedAt + FLOOR_MS[api];
  if (signedAt > floor) return null;
  return now <= floor ? { kind: 'wait', ms: floor + 1 - now } : { kind: 'repeat', floor };
}

const SECOND_MS = 1_000;

export const waitAfterLoss = (ms: number): GatewayError =>
  new GatewayError('NOT_READY', {
    reason: 'the database lost commits, and a request signed until now may be a repeat: sign it again later',
    retryAfterSeconds: Math.max(1, Math.ceil(ms / SECOND_MS)),
  });

/** Throws for a request that may be a repeat. Reads memory only. */
export function refuseRepeat(loss: CommitLoss | null, signedAt: bigint | number, api: SigningApi, now: number): void {
  const verdict = judgeAfterLoss(loss, signedAt, api, now);
  if (verdict === null) return;
  if (verdict.kind === 'wait') throw waitAfterLoss(verdict.ms);
  throw new GatewayError('NONCE_REUSED', { nonce: String(signedAt), signedAfter: verdict.floor });
}

/** Longer than a review takes. */
const WAIT_AT_MOST_MS = 8_000;

/** Resolves when it is known whether the database lost commits; throws NOT_READY if that takes too long. */
export async function untilContinuityKnown(continuity: Pick<ContinuityStore, 'doubt' | 'known'>, clock: Clock): Promise<void> {
  if (continuity.doubt() === null) return;
  const isKnown = await within(clock, WAIT_AT_MOST_MS, (signal) => Promise.race([continuity.known().then(() => true), aborted(signal)]));
  if (!isKnown) throw suspected(continuity.doubt());
}

/** For a write that must not be stored before it is known whether commits were lost. */
export const suspected = (reason: string | null = null): GatewayError =>
  new GatewayError('NOT_READY', { reason: reason ?? 'it is being checked whether the database lost commits' });

const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(false), { once: true }));
