import type { Caller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { ChainSlug } from '../chains/chains.js';
import type { Store } from '../ports/store.js';
import type { Address, Hex } from '../types.js';
import { withoutTrace } from '../observability/job-trace.js';
import type { RelayPurpose, RelayState, SignedAction } from '../ports/stores/relay.js';

/** Everything that shows why the relayer signed a transaction: what its owner signed, what it was taken to mean, and what was sent. */
export interface RelayProof {
  txHash: Hex;
  trader: Address;
  signer: Address;
  /** The signed body: the action with everything that was hashed, and what was hashed beside it. Only its owner sees it. */
  envelope: string;
  actionHash: Hex;
  form: SignedAction['form'];
  network: SignedAction['network'];
  nonce: string;
  receivedAt: number;
  purpose: RelayPurpose;
  relayer: Address;
  to: Address;
  data: Hex;
  /** Signed, as it was sent: it binds hash, sender, receiver and call data to each other. */
  rawTransaction: Hex;
  state: RelayState;
  orderId: string | null;
  /** Base units in one unit of the asset, where it was an order: 1000 for coins that are counted in thousands. */
  multiplier: number;
  blockNumber: number | null;
  /** What the translation stood on, as JSON; big numbers are written `{"$n":"…"}`. */
  context: string;
}

async function multiplierOf({ facade }: Store, chain: ChainSlug, context: unknown): Promise<number> {
  const { pairIndex } = (context as { context?: { pairIndex?: number } } | null)?.context ?? {};
  return (await facade.assets.all(chain)).find((asset) => asset.pairIndex === pairIndex)?.multiplier ?? 1;
}

/** Another trader's proof is not there. */
export async function getRelayProof({ store }: Gateway, { definition }: Venue, { trader }: Caller, txHash: Hex): Promise<RelayProof> {
  const { slug, diamond } = definition;
  const job = await store.relay.jobByHash(slug, txHash);
  const attempt = job?.attempts.find(({ hash }) => hash === txHash);
  const parent = job?.parent ?? null;
  const action = parent === null ? null : await store.relay.action(slug, parent);
  if (job?.trader !== trader || action === null || attempt === undefined) throw new GatewayError('ORDER_NOT_FOUND', { id: txHash });
  const { signer, envelope, actionHash, form, network, nonce, receivedAt } = action;
  return {
    txHash,
    trader,
    signer,
    envelope,
    actionHash,
    form,
    network,
    nonce: nonce.toString(),
    receivedAt,
    relayer: job.wallet,
    // Of one nonce, the order and what gave the nonce away are both kept: what is shown is what was signed under this hash.
    ...(attempt.isNoOp
      ? ({ purpose: 'no-op', to: job.wallet, data: '0x' } as const)
      : { purpose: job.purpose, to: diamond, data: job.data }),
    rawTransaction: attempt.raw,
    state: job.state,
    orderId: job.orderId?.toString() ?? null,
    multiplier: await multiplierOf(store, slug, job.context),
    blockNumber: job.mined?.hash === txHash ? Number(job.mined.blockNumber) : null,
    context: JSON.stringify(withoutTrace(job.context), (_key, value: unknown) =>
      typeof value === 'bigint' ? { $n: value.toString() } : value,
    ),
  };
}
