import { callerOf } from '../core/access/agent-status.js';
import type { AgentCaller } from '../core/access/caller.js';
import { judgeAfterLoss, untilContinuityKnown, waitAfterLoss } from '../core/access/after-loss.js';
import { judgeByClock } from '../core/access/signer-nonces.js';
import type { ActionProof, KeptAction } from '../core/ports/stores/signers.js';
import { checkMayTrade, isInForce, type Agent } from '../core/domain/agent.js';
import type { Gateway, Venue } from '../core/gateway.js';
import { itemLimit, measureWindow, refuseExceeded, windowStart, type Window } from '../core/access/limits.js';
import { BYTES_PER_WEIGHT } from '../core/stream/connection.js';
import type { Address } from '../core/types.js';
import { nonceText, TEXTS } from './reply.js';

/** What an action counts against: actions that open risk have a bucket of their own, so that they never use up the budget for closing. */
export interface Weight {
  readonly scope: 'agent' | 'agent-writes';
  readonly weight: number;
  /** Orders and changes in it, without cancels and closes. */
  readonly items: number;
}

/** An action between its signature and its handler. */
export interface Admittance {
  /** Possible signers, likeliest first. */
  readonly candidates: readonly Address[];
  readonly nonce: bigint;
  readonly weight: Weight;
  /** Set for an action that trades. */
  readonly proof?: ActionProof;
  /** Called as soon as the action is counted, so that a later error carries the window too. */
  readonly onCounted: OnCounted;
}

export type OnCounted = (window: Window) => void;

export type Admission =
  | { readonly kind: 'admitted'; readonly agent: Agent; readonly kept: KeptAction | null }
  /** No known agent signed it: nothing was stored. */
  | { readonly kind: 'unknown-signer' }
  | { readonly kind: 'refused'; readonly text: string };

/** Finds the signer, uses the nonce and stores the proof of a trading action, in one database round trip. Throws RATE_LIMITED. */
export async function admitAction({ store, access }: Gateway, venue: Venue, admittance: Admittance): Promise<Admission> {
  const { candidates, nonce, weight, onCounted, proof } = admittance;
  const now = venue.clock.now();
  const limit = access.limits[weight.scope];
  const mostItems = itemLimit(access.limits);
  const {
    agent,
    used,
    usedItems,
    kept,
    nonce: verdict,
  } = await store.signers.claim({
    chain: venue.definition.slug,
    candidates,
    nonce,
    now,
    count: {
      window: windowStart(now),
      bucket: `facade-${weight.scope}`,
      weight: weight.weight,
      limit,
      items: weight.items,
      itemLimit: mostItems,
    },
    ...(proof && { proof }),
  });
  // The database that took the nonce may have forgotten that it took it before.
  await untilContinuityKnown(store.continuity, venue.clock);
  const repeat = repeatText({ store }, venue, nonce);
  if (repeat !== null) return { kind: 'refused', text: repeat };
  if (agent === null || used === null) return { kind: 'unknown-signer' };
  const window = measureWindow(weight.scope, limit, used, now);
  onCounted(window);
  // Reported under the known scope of openings: clients do not know a scope for items.
  refuseExceeded([window, measureWindow('agent-writes', mostItems, usedItems, now)]);
  if (verdict === null || verdict.kind === 'taken') return { kind: 'admitted', agent, kept };
  return { kind: 'refused', text: nonceText(nonce, verdict, now) };
}

/** For actions refused for every known signer: nothing is counted and no nonce is used. */
export async function findSigner({ store }: Gateway, venue: Venue, candidates: readonly Address[]): Promise<Agent | null> {
  const agent = await store.signers.find(venue.definition.slug, candidates);
  return agent !== null && isInForce(agent, venue.clock.now()) ? agent : null;
}

/** Why a nonce may be that of an action whose commit was lost; null if it is newer. Throws NOT_READY until newer ones are to be had. */
function repeatText({ store }: Pick<Gateway, 'store'>, { clock }: Venue, nonce: bigint): string | null {
  const now = clock.now();
  const verdict = judgeAfterLoss(store.continuity.lastLoss(), nonce, 'facade', now);
  if (verdict?.kind === 'wait') throw waitAfterLoss(verdict.ms);
  return verdict && nonceText(nonce, { kind: 'too-low', least: BigInt(verdict.floor) + 1n }, now);
}

/** Why an envelope is refused before the database is queried; null if it is acceptable. */
export function refusalOf(
  gateway: Pick<Gateway, 'store'>,
  venue: Venue,
  { nonce, vault, expiresAfter }: { readonly nonce: bigint; readonly vault: Address | null; readonly expiresAfter: bigint | null },
): string | null {
  const now = venue.clock.now();
  if (vault !== null) return TEXTS.vault(vault);
  if (expiresAfter !== null && BigInt(now) > expiresAfter) return TEXTS.expired(Number(expiresAfter), now);
  const verdict = judgeByClock(nonce, now);
  return verdict === null || verdict.kind === 'taken' ? repeatText(gateway, venue, nonce) : nonceText(nonce, verdict, now);
}

/** The agent as a caller of use cases, once it may trade. */
export async function traderCaller(venue: Venue, agent: Agent, wallet: Address | null | undefined): Promise<AgentCaller> {
  checkMayTrade(agent.scope, agent.agent);
  return callerOf(venue, agent, wallet);
}

/** Weighs the reading, hashing and checking of an action by its length, independent of its signer. Throws when the address exceeds its limit. */
export function weighAction({ access }: Pick<Gateway, 'access'>, address: string, bytes: number): Window {
  const window = access.countActionWeight(address, 1 + Math.floor(bytes / BYTES_PER_WEIGHT));
  refuseExceeded([window]);
  return window;
}
