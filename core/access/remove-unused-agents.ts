import { AGENT_MODES, type Agent } from '../domain/agent.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Cancel } from '../types.js';
import { readAgentState } from './agent-status.js';

const CHECK_EVERY_MS = 60_000;
/** A registration that did not become active within this time is removed; its trader can register the agent again at any time. */
export const UNUSED_KEPT_MS = 7 * 86_400_000;
/** Each check may cost an RPC call, so the number per round is bounded. */
const MAX_PER_ROUND = 500;
const BATCH_SIZE = 20;

/**
 * Removes registrations that never became active; runs on every replica, row updates make that safe. The chain is read only once a
 * registration is old enough, and one that is found active is not checked again.
 */
export function removeUnusedAgents(gateway: Gateway, venue: Venue): Cancel {
  let isBusy = false;
  return venue.clock.every(CHECK_EVERY_MS, () => {
    if (isBusy) return;
    isBusy = true;
    removeUnused(gateway, venue)
      .catch((error: unknown) => venue.log.warn('agents.not-removed', { error }))
      .finally(() => (isBusy = false));
  });
}

export async function removeUnused({ store }: Gateway, venue: Venue): Promise<void> {
  const { slug } = venue.definition;
  const now = venue.clock.now();
  // Without a relayer all facade agents are inactive, so they must not be judged as unused.
  const modes = venue.relayer === null ? (['self'] as const) : AGENT_MODES;
  const found = await store.access.unusedAgents(slug, { before: now - UNUSED_KEPT_MS, modes, limit: MAX_PER_ROUND });
  for (let at = 0; at < found.length; at += BATCH_SIZE) {
    const agents = found.slice(at, at + BATCH_SIZE);
    const verdicts = await Promise.all(agents.map((agent) => isActive(venue, agent)));
    const active = agents.filter((_agent, index) => verdicts[index]);
    const unused = agents.filter((_agent, index) => !verdicts[index]);
    if (active.length > 0) await store.access.noteActive(slug, active, now);
    const removed = unused.length > 0 ? await store.access.removeUnused(slug, unused) : 0;
    if (removed > 0) venue.log.info('agents.removed', { count: removed });
  }
}

const isActive = async (venue: Venue, agent: Agent): Promise<boolean> => (await readAgentState(venue, agent)).status === 'active';
