import type { Caller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { ChainSlug } from '../chains/chains.js';
import type { Store } from '../ports/store.js';
import type { Address, Hex } from '../types.js';
import { withoutTrace } from '../observability/trace-relay.js';
import type { RelayPurpose, RelayState, SignedAction } from '../ports/stores/relay.js';

/** Evidence for a transaction signed by the relayer: the signed action, its translation, and the transaction sent. */
export interface RelayProof {
  txHash: Hex;
  trader: Address;
  signer: Address;
  /** The signed body: the action and everything else that was hashed. Visible only to its owner. */
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
  /** The signed transaction as sent; it binds hash, sender, receiver and calldata. */
  rawTransaction: Hex;
  state: RelayState;
  orderId: string | null;
  /** Base units per unit of the asset, for orders: 1000 for assets quoted in thousands. */
  multiplier: number;
  blockNumber: number | null;
  /** The input of the translation, as JSON; bigints are written `{"$n":"…"}`. */
  context: string;
}

async function multiplierOf({ facade }: Store, chain: ChainSlug, context: unknown): Promise<number> {
  const { pairIndex } = (context as { context?: { pairIndex?: number } } | null)?.context ?? {};
  return (await facade.assets.all(chain)).find((asset) => asset.pairIndex === pairIndex)?.multiplier ?? 1;
}

/** Proofs of another trader are reported as not found. */
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
    // A nonce may have two transactions, the order and a no-op that replaced it; the one signed under this hash is shown.
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
