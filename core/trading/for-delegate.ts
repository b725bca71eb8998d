import { requireDelegate } from '../access/agent-status.js';
import type { AgentCaller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';

/**
 * A write whose rehearsal reads the delegate on the way. Where it needs none, or is refused before, the delegate is asked for by
 * itself: somebody who may not act hears that, and nothing of the trader's orders.
 */
export async function forDelegate<Result extends { readonly transaction: unknown }>(
  venue: Venue,
  caller: AgentCaller,
  work: Promise<Result>,
): Promise<Result> {
  const result = await work.catch(async (error: unknown) => {
    const isSettled = !(error instanceof GatewayError) || error.code === 'AGENT_NOT_DELEGATED' || error.status >= 500;
    if (!isSettled) await requireDelegate(venue, caller);
    throw error;
  });
  if (result.transaction === null) await requireDelegate(venue, caller);
  return result;
}
