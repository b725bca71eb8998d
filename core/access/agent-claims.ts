import type { Gateway } from '../gateway.js';
import type { AgentClaim } from '../ports/stores/access.js';
import { readAgentState } from './agent-status.js';
import { forgetDelegate } from './delegation.js';

/** Tries of a claim on an agent whose registration changes concurrently. */
export const CLAIM_TRIES = 5;

/**
 * Whether a registration blocks another trader from registering the agent: only while it is active on its chain (checked with a fresh read),
 * or once the agent signed an accepted action for it. Registering needs no consent of the agent, so a registration alone blocks no one.
 */
export async function standsInTheWay({ venues }: Pick<Gateway, 'venues'>, { chain, agent, hasSigned }: AgentClaim): Promise<boolean> {
  if (hasSigned) return true;
  const venue = venues.get(chain);
  // A chain that is not served here has no active agents.
  if (venue === undefined) return false;
  forgetDelegate(venue, agent.trader);
  return (await readAgentState(venue, agent)).status === 'active';
}
