import type { AgentCaller } from '../../../core/access/caller.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import type { Relayer } from '../../../core/ports/relayer.js';
import type { Fence } from '../../../core/ports/stores/relay.js';
import { closedText } from '../../../core/ports/stores/switches.js';

/** What could not be sent is not taken: a trader who knows at once can act, one whose order waits unseen cannot. Throws what to tell. */
export function requireLane({ relayer, clock }: Venue, { sender }: Pick<AgentCaller, 'sender'>): void {
  const closed = relayer && closedText(relayer.standing(sender));
  if (closed !== null) throw new GatewayError('UNSUPPORTED', { reason: closed });
  const fence = relayer?.fence(sender) ?? null;
  if (fence !== null) throw new GatewayError('UNSUPPORTED', { reason: fencedText(fence, clock.now()) });
}

/** For what can wait and is tried again: neither fenced nor switched off. */
export const takesWork = (relayer: Relayer, wallet: Address): boolean =>
  relayer.standing(wallet).mode === 'running' && relayer.fence(wallet) === null;

/** Why, since when, and when it is worth asking again. */
export function fencedText({ reason, since }: Fence, now: number): string {
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  return `Not sent: the relayer cannot send now, because ${reason}, since ${new Date(since).toISOString()} (${seconds} s). It tries again every second; sign and send the action again in a moment.`;
}
