import type { AgentCaller } from '../../../core/access/caller.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import type { PreparedTransaction, PreparedWrite } from '../../../core/trading/prepare-transaction.js';
import type { RelayedOrder, RelayPurpose, SignedAction } from '../../../core/ports/stores/relay.js';
import type { QueuedJob, Relayer } from '../../../core/ports/relayer.js';

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
