import { requireDelegate } from '../access/agent-status.js';
import type { AgentCaller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';

/**
 * Runs a write whose simulation also reads the delegate. If the write needs no simulation or is refused before it, the delegate is checked
 * separately: an agent without delegation must get that error, and no information about the trader's orders.
 */
export async function forDelegate<Result extends { readonly transaction: unknown }>(
  venue: Venue,
  caller: AgentCaller,
  work: Promise<Result>,
): Promise<Result> {
  const result = await work.catch(async (error: unknown) => {
    const isFinal = !(error instanceof GatewayError) || error.code === 'AGENT_NOT_DELEGATED' || error.status >= 500;
    if (!isFinal) await requireDelegate(venue, caller);
    throw error;
  });
  if (result.transaction === null) await requireDelegate(venue, caller);
  return result;
}
