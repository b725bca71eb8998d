import type { AgentCaller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import type { PreparedTransaction, PreparedWrite } from '../orders/prepare-transaction.js';
import type { ExchangeRecord } from './exchange-store.js';
import type { RelayJob, RelayPurpose, SignedAction } from './relay-store.js';

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
}

type Queued = Promise<{ readonly job: RelayJob; readonly handedOver: Promise<RelayJob> }>;

/** Into the relayer's queue: stored when it resolves. */
export function sendTransaction(venue: Venue, { trader, sender }: AgentCaller, relayed: RelayedTransaction): Queued {
  const { relayer, definition } = venue;
  if (relayer === null) throw new GatewayError('CHAIN_READ_ONLY', { chain: definition.slug });
  const { action, orderId, transaction, context, purpose = 'action', record } = relayed;
  return relayer.send({
    trader,
    wallet: sender,
    purpose,
    parent: action.id,
    orderId,
    data: transaction.data,
    gas: transaction.gas === null ? FALLBACK_GAS : BigInt(transaction.gas),
    context,
    notAfter: transaction.expiresAt,
    ...(record && { record }),
  });
}

export const sendWrite = (
  venue: Venue,
  caller: AgentCaller,
  { write, ...relayed }: Omit<RelayedTransaction, 'transaction'> & { readonly write: PreparedWrite },
): Queued => sendTransaction(venue, caller, { ...relayed, transaction: write.transaction });
