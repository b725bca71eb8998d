import type { AgentCaller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import type { PreparedWrite } from '../orders/prepare-transaction.js';
import type { RelayJob, RelayPurpose, SignedAction } from './relay-store.js';
import type { Relayer } from './relayer.js';

/** Where the node could not estimate: more than any trading call takes. */
const FALLBACK_GAS = 3_000_000n;

export function relayerOf({ relayer, definition }: Venue): Relayer {
  if (relayer === null) throw new GatewayError('CHAIN_READ_ONLY', { chain: definition.slug });
  return relayer;
}

export interface RelayedWrite {
  readonly action: SignedAction;
  readonly orderId: bigint | null;
  readonly write: PreparedWrite;
  readonly context: unknown;
  readonly purpose?: RelayPurpose;
}

/** Into the relayer's queue: stored when it resolves. */
export const sendWrite = (
  venue: Venue,
  { trader }: AgentCaller,
  { action, orderId, write, context, purpose }: RelayedWrite,
): Promise<{ readonly job: RelayJob; readonly handedOver: Promise<RelayJob> }> =>
  relayerOf(venue).send({
    trader,
    purpose: purpose ?? 'action',
    parent: action.id,
    orderId,
    data: write.handedOut.data,
    gas: write.handedOut.gas ?? FALLBACK_GAS,
    context,
    notAfter: write.transaction.expiresAt,
  });
