import type { AgentCaller } from '../../../core/access/caller.js';
import { GatewayError } from '../../../core/errors.js';
import type { Venue } from '../../../core/gateway.js';
import type { PreparedTransaction, PreparedWrite } from '../../../core/trading/prepare-transaction.js';
import type { ExchangeRecord } from '../../../core/ports/stores/exchange.js';
import type { RelayedOrder, RelayPurpose, SignedAction } from '../../../core/ports/stores/relay.js';
import type { QueuedJob, Relayer } from '../../../core/ports/relayer.js';

/** Where the node could not estimate: more than any trading call takes. */
const FALLBACK_GAS = 3_000_000n;

export interface RelayedTransaction {
  readonly action: SignedAction;
  readonly orderId: bigint | null;
  readonly transaction: Pick<PreparedTransaction, 'data' | 'gas' | 'expiresAt'>;
  /** What the relayer needs to work out again what it is asked to sign. */
  readonly context: unknown;
  readonly purpose?: RelayPurpose;
  /** Of the bot's order, where it is stored with what sends it. */
  readonly record?: ExchangeRecord;
  /** It takes something back: where that is under way already, it is waited for and not sent twice. */
  readonly isOnce?: boolean;
}

/** Into the relayer's queue: stored when it resolves. */
export function sendTransaction(venue: Venue, caller: AgentCaller, relayed: RelayedTransaction): Promise<QueuedJob> {
  const { orderId, record, isOnce = false } = relayed;
  return relayerOf(venue).send({ ...requestOf(caller, relayed), orderId, isOnce, ...(record && { record }) });
}

export function relayerOf({ relayer, definition }: Venue): Relayer {
  if (relayer === null) throw new GatewayError('CHAIN_READ_ONLY', { chain: definition.slug });
  return relayer;
}

/** What is asked of the relayer, but for the order that it is about. */
export const requestOf = (
  { trader, sender }: AgentCaller,
  { action, transaction, context, purpose = 'action' }: Omit<RelayedTransaction, 'orderId' | 'record' | 'isOnce'>,
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
