import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem/utils';
import type { Caller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { ChainSlug } from '../chains/chains.js';
import type { Store } from '../ports/store.js';
import type { Address, Hex } from '../types.js';
import { withoutTrace } from '../observability/trace-relay.js';
import type { Mined, RelayJob, RelayPurpose, RelayState, SignedAction } from '../ports/stores/relay.js';
import type { OrderStatus } from '../domain/order.js';
import type { TranslationContext } from '../domain/relay/exchange-order.js';

/** An action as it was signed, and its signer's approval. */
export interface SignedBody {
  signer: Address;
  /** The signed body: the action and everything else that was hashed. Visible only to its owner. */
  envelope: string;
  actionHash: Hex;
  form: SignedAction['form'];
  network: SignedAction['network'];
  nonce: string;
  receivedAt: number;
  /** The `approveAgent` of the signer that was in force then, as the trader signed it; null where none is stored. */
  approval: string | null;
}

/** Evidence for a transaction signed by the relayer: the signed action, its translation, and the transaction sent. */
export interface RelayProof extends SignedBody {
  chainId: number;
  txHash: Hex;
  trader: Address;
  /** The `updateLeverage` that set the leverage of an opening; null where none did, and for anything but an opening. */
  leverage: SignedBody | null;
  purpose: RelayPurpose;
  /** When the call was first signed. */
  signedAt: number;
  relayer: Address;
  to: Address;
  data: Hex;
  /** The signed transaction as sent; it binds hash, sender, receiver and calldata. */
  rawTransaction: Hex;
  state: RelayState;
  orderId: string | null;
  /** Base units per unit of the asset, for orders: 1000 for assets quoted in thousands. */
  multiplier: number;
  /** What became of the order; null where the transaction made none. */
  outcome: OrderStatus | null;
  blockNumber: number | null;
  /** The time of that block; null while it is not mined, and where no node says it. */
  minedAt: number | null;
  /** The trader's delegate at that block, or now where no node knows the state of then; null where none says it. */
  delegate: Address | null;
  /** The input of the translation, as JSON; bigints are written `{"$n":"…"}`. */
  context: string;
}

async function multiplierOf({ facade }: Store, chain: ChainSlug, context: unknown): Promise<number> {
  const { pairIndex } = (context as { context?: { pairIndex?: number } } | null)?.context ?? {};
  return (await facade.assets.all(chain)).find((asset) => asset.pairIndex === pairIndex)?.multiplier ?? 1;
}

/** Proofs of another trader are reported as not found. */
export async function getRelayProof({ store }: Gateway, venue: Venue, { trader }: Caller, txHash: Hex): Promise<RelayProof> {
  const { slug, diamond, chainId } = venue.definition;
  const job = await store.relay.jobByHash(slug, txHash);
  const attempt = job?.attempts.find(({ hash }) => hash === txHash);
  const parent = job?.parent ?? null;
  const action = parent === null ? null : await store.relay.action(slug, parent);
  if (job?.trader !== trader || action === null || attempt === undefined) throw new GatewayError('ORDER_NOT_FOUND', { id: txHash });
  const mined = job.mined?.hash === txHash ? job.mined : null;
  const [signed, leverage, multiplier, outcome, minedAt, delegate] = await Promise.all([
    signedBody(store, action),
    leverageOf(store, slug, job),
    multiplierOf(store, slug, job.context),
    outcomeOf(store, slug, job),
    timeOf(venue, mined),
    delegateAt(venue, trader, mined),
  ]);
  return {
    chainId,
    txHash,
    trader,
    ...signed,
    leverage,
    relayer: job.wallet,
    // A nonce may have two transactions, the order and a no-op that replaced it; the one signed under this hash is shown.
    ...(attempt.isNoOp
      ? ({ purpose: 'no-op', to: job.wallet, data: '0x' } as const)
      : { purpose: job.purpose, to: diamond, data: job.data }),
    signedAt: (job.attempts.find(({ isNoOp }) => isNoOp === attempt.isNoOp) ?? attempt).signedAt,
    rawTransaction: attempt.raw,
    state: job.state,
    orderId: job.orderId?.toString() ?? null,
    multiplier,
    outcome,
    blockNumber: mined === null ? null : Number(mined.blockNumber),
    minedAt,
    delegate,
    context: JSON.stringify(withoutTrace(job.context), (_key, value: unknown) =>
      typeof value === 'bigint' ? { $n: value.toString() } : value,
    ),
  };
}

async function signedBody({ relay }: Store, action: SignedAction): Promise<SignedBody> {
  const { chain, signer, trader, envelope, actionHash, form, network, nonce, receivedAt } = action;
  const approvals = (await relay.approvals(chain, signer)).filter((each) => each.trader === trader);
  // The clocks of two replicas differ a little: an action may seem older than the approval that let it in.
  const approval = approvals.findLast(({ approvedAt }) => approvedAt <= receivedAt) ?? approvals[0];
  return { signer, envelope, actionHash, form, network, nonce: nonce.toString(), receivedAt, approval: approval?.envelope ?? null };
}

async function leverageOf(store: Store, chain: ChainSlug, { context, trader }: RelayJob): Promise<SignedBody | null> {
  const { chosen } = (context as { context?: Partial<TranslationContext> } | null)?.context ?? {};
  const action = chosen?.action == null ? null : await store.relay.action(chain, chosen.action);
  return action?.trader === trader ? signedBody(store, action) : null;
}

async function outcomeOf({ orders }: Store, chain: ChainSlug, { trader, orderId }: RelayJob): Promise<OrderStatus | null> {
  if (trader === null || orderId === null) return null;
  return (await orders.find(chain, trader, orderId))?.order.status ?? null;
}

/** A proof is worth having without what only a node knows: another node can be asked. */
const ifKnown = <Fact>(fact: Promise<Fact>): Promise<Fact | null> => fact.catch(() => null);

async function timeOf({ chain }: Venue, mined: Mined | null): Promise<number | null> {
  const [head] = (mined && (await ifKnown(chain.blocks([mined.blockNumber])))) ?? [];
  return head !== undefined && head.hash === mined?.blockHash ? Number(head.timestamp) * 1000 : null;
}

const DELEGATE = parseAbi(['function getTradingDelegate(address trader) view returns (address)']);

async function delegateAt({ chain, definition }: Venue, trader: Address, mined: Mined | null): Promise<Address | null> {
  const data = encodeFunctionData({ abi: DELEGATE, args: [trader] });
  const [found] = (mined && (await ifKnown(chain.views([{ to: definition.diamond, data }], mined.blockNumber)))) ?? [];
  if (found === undefined) return ifKnown(chain.delegateOf(trader));
  return decodeFunctionResult({ abi: DELEGATE, data: found }).toLowerCase() as Address;
}
