import { requireDelegate } from '../access/agent-status.js';
import type { AgentCaller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';

/**
 * A write whose rehearsal reads the delegate on the way. Where it is refused before that, the delegate is asked for first: somebody
 * who may not act hears that, and nothing of the trader's orders.
 */
export async function forDelegate<Result>(venue: Venue, caller: AgentCaller, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    const isSettled = !(error instanceof GatewayError) || error.code === 'AGENT_NOT_DELEGATED' || error.status >= 500;
    if (!isSettled) await requireDelegate(venue, caller);
    throw error;
  }
}
