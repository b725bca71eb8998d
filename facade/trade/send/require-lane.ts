import type { AgentCaller } from '../../../core/access/caller.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import type { Relayer } from '../../../core/ports/relayer.js';
import type { LaneProblem } from '../../../core/ports/stores/relay.js';
import { closedText } from '../../../core/ports/stores/switches.js';

/** Refuses an action that could not be sent now: the trader can react to a refusal, but not to an order that waits unseen. */
export function requireLane({ relayer, clock }: Venue, { sender }: Pick<AgentCaller, 'sender'>): void {
  const closed = relayer && closedText(relayer.walletMode(sender));
  if (closed !== null) throw new GatewayError('UNSUPPORTED', { reason: closed });
  const problem = relayer?.laneProblem(sender) ?? null;
  if (problem !== null) throw new GatewayError('UNSUPPORTED', { reason: laneProblemText(problem, clock.now()) });
}

/** For work that can be retried later: the lane is neither blocked nor switched off. */
export const takesWork = (relayer: Relayer, wallet: Address): boolean =>
  relayer.walletMode(wallet).mode === 'running' && relayer.laneProblem(wallet) === null;

/** Why, since when, and when to retry. */
export function laneProblemText({ reason, since }: LaneProblem, now: number): string {
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  return `Not sent: the relayer cannot send now, because ${reason}, since ${new Date(since).toISOString()} (${seconds} s). It tries again every second; sign and send the action again in a moment.`;
}
