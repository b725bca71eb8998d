import type { AgentCaller } from './caller.js';
import { GatewayError } from '../errors.js';
import { requireOpenings, type Gateway, type Venue } from '../gateway.js';
import { awaitsOperator } from '../ports/stores/continuity.js';

/**
 * Why an agent of the facade may only close and cancel, as a clause; null if it may open. Its revocation may be among the lost commits, and
 * unlike that of a native agent it is not on the chain.
 */
export async function haltAfterLoss(
  { store }: Pick<Gateway, 'store'>,
  { definition }: Pick<Venue, 'definition'>,
  { agent, mode }: Pick<AgentCaller, 'agent' | 'mode'>,
): Promise<string | null> {
  const loss = store.continuity.lastLoss();
  if (mode !== 'relayed' || loss === null || !awaitsOperator(loss)) return null;
  const approvedAt = await store.signers.approvedAt(definition.slug, agent);
  if (approvedAt !== null && approvedAt > loss.detectedAt) return null;
  const at = new Date(loss.detectedAt).toISOString();
  return `the database lost commits, noticed at ${at}, and a revocation of this agent may be among them: its trader approves it again, or the operator adopts the loss`;
}

/** For what opens or increases a position. */
export async function requireOpeningsBy(gateway: Pick<Gateway, 'store'>, venue: Venue, caller: AgentCaller): Promise<void> {
  requireOpenings(venue);
  const reason = await haltAfterLoss(gateway, venue, caller);
  if (reason !== null) throw new GatewayError('NOT_READY', { reason, concerns: 'openings' });
}
