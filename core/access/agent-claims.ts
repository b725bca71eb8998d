import type { Gateway } from '../gateway.js';
import type { AgentClaim } from '../ports/stores/access.js';
import { standingOf } from './agent-status.js';
import { forgetDelegate } from './delegation.js';

/** How often a claim on an agent whose registration changes meanwhile is tried again. */
export const CLAIM_TRIES = 5;

/**
 * Whether a registration stands in the way of another trader: only while it is active on its chain, judged on the chain as it is now, or
 * once the agent signed an accepted action for it. Registering an address needs no consent, so a mere registration blocks no other.
 */
export async function standsInTheWay({ venues }: Pick<Gateway, 'venues'>, { chain, agent, hasSigned }: AgentClaim): Promise<boolean> {
  if (hasSigned) return true;
  const venue = venues.get(chain);
  // A chain that is not served here has no active agents.
  if (venue === undefined) return false;
  forgetDelegate(venue, agent.trader);
  return (await standingOf(venue, agent)).status === 'active';
}
