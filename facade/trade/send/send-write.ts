import type { AgentCaller } from '../../../core/access/caller.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import { relayerOf, requestOf, type RelayedTransaction } from '../../../core/trading/place-order.js';
import type { PreparedWrite } from '../../../core/trading/prepare-transaction.js';
import type { LaneProblem } from '../../../core/ports/stores/relay.js';
import type { QueuedJob, Relayer } from '../../../core/ports/relayer.js';
import type { Address } from '../../../core/types.js';
import { closedText } from '../../../core/ports/stores/switches.js';

export interface RelayedWrite extends Omit<RelayedTransaction, 'transaction'> {
  readonly write: PreparedWrite;
  readonly orderId: bigint | null;
  /** For a cancel: if the same one is already pending, it is awaited instead of sent twice. */
  readonly isOnce?: boolean;
}

/** Adds a transaction without an order of its own to the relayer's queue; resolves when the job is stored. */
export const sendWrite = (
  venue: Venue,
  caller: AgentCaller,
  { write: { transaction }, orderId, isOnce = false, ...relayed }: RelayedWrite,
): Promise<QueuedJob> => relayerOf(venue).send({ ...requestOf(caller, { ...relayed, transaction }), orderId, isOnce });

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
function laneProblemText({ reason, since }: LaneProblem, now: number): string {
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  return `Not sent: the relayer cannot send now, because ${reason}, since ${new Date(since).toISOString()} (${seconds} s). It tries again every second; sign and send the action again in a moment.`;
}
