import type { AgentCaller } from '../../../core/access/caller.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import type { PreparedTransaction, PreparedWrite } from '../../../core/trading/prepare-transaction.js';
import type { RelayedOrder, RelayPurpose, SignedAction, LaneProblem } from '../../../core/ports/stores/relay.js';
import type { QueuedJob, Relayer } from '../../../core/ports/relayer.js';
import type { Address } from '../../../core/types.js';
import { closedText } from '../../../core/ports/stores/switches.js';

/** Used if the node cannot estimate: more than any trading call takes. */
const FALLBACK_GAS = 3_000_000n;

export interface RelayedTransaction {
  readonly action: SignedAction;
  readonly orderId: bigint | null;
  readonly transaction: Pick<PreparedTransaction, 'data' | 'gas' | 'expiresAt'>;
  /** Lets the relayer re-encode the job before signing. */
  readonly context: unknown;
  readonly purpose?: RelayPurpose;
  /** For a cancel: if the same one is already pending, it is awaited instead of sent twice. */
  readonly isOnce?: boolean;
}

/** Adds to the relayer's queue; resolves when the job is stored. */
export function sendTransaction(venue: Venue, caller: AgentCaller, relayed: RelayedTransaction): Promise<QueuedJob> {
  const { orderId, isOnce = false } = relayed;
  return relayerOf(venue).send({ ...requestOf(caller, relayed), orderId, isOnce });
}

export function relayerOf({ relayer, definition }: Venue): Relayer {
  if (relayer === null) throw new GatewayError('CHAIN_READ_ONLY', { chain: definition.slug });
  return relayer;
}

/** The relayer request without its order. */
export const requestOf = (
  { trader, sender }: AgentCaller,
  { action, transaction, context, purpose = 'action' }: Omit<RelayedTransaction, 'orderId' | 'isOnce'>,
): RelayedOrder['request'] => ({
  trader,
  wallet: sender,
  purpose,
  parent: action.id,
  data: transaction.data,
  gas: transaction.gas === null ? FALLBACK_GAS : BigInt(transaction.gas),
  context,
  notAfter: transaction.expiresAt,
});

export const sendWrite = (
  venue: Venue,
  caller: AgentCaller,
  { write, ...relayed }: Omit<RelayedTransaction, 'transaction'> & { readonly write: PreparedWrite },
): Promise<QueuedJob> => sendTransaction(venue, caller, { ...relayed, transaction: write.transaction });

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
