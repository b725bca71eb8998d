import { AGENT_MODES, type Agent } from '../domain/agent.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Cancel } from '../types.js';
import { standingOf } from './agent-status.js';

const LOOK_EVERY_MS = 60_000;
/** A registration that did not become active for so long is removed; its trader can register the agent again at any time. */
export const UNUSED_KEPT_MS = 7 * 86_400_000;
/** Each may cost a question to the node, so that a flood of registrations does not become a flood of questions. */
const MOST_AT_ONCE = 500;
const ASKED_TOGETHER = 20;

/**
 * Removes registrations that never became active, on each replica; the rows decide which is first. The chain is asked only once a
 * registration is old enough, and one that is found active is never asked about again.
 */
export function removeUnusedAgents(gateway: Gateway, venue: Venue): Cancel {
  let isBusy = false;
  return venue.clock.every(LOOK_EVERY_MS, () => {
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
  // Without a relayer here no agent of the facade is active, which says nothing about the agent.
  const modes = venue.relayer === null ? (['self'] as const) : AGENT_MODES;
  const found = await store.access.unusedAgents(slug, { before: now - UNUSED_KEPT_MS, modes, limit: MOST_AT_ONCE });
  for (let at = 0; at < found.length; at += ASKED_TOGETHER) {
    const agents = found.slice(at, at + ASKED_TOGETHER);
    const verdicts = await Promise.all(agents.map((agent) => isActive(venue, agent)));
    const active = agents.filter((_agent, index) => verdicts[index]);
    const unused = agents.filter((_agent, index) => !verdicts[index]);
    if (active.length > 0) await store.access.noteActive(slug, active, now);
    const removed = unused.length > 0 ? await store.access.removeUnused(slug, unused) : 0;
    if (removed > 0) venue.log.info('agents.removed', { count: removed });
  }
}

const isActive = async (venue: Venue, agent: Agent): Promise<boolean> => (await standingOf(venue, agent)).status === 'active';
