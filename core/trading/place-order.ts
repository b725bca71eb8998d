import type { AgentCaller } from '../access/caller.js';
import type { SwitchMode, WalletMode } from '../ports/stores/switches.js';
import { capExceeded } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { QueuedAmend, QueuedJob, QueuedOrder, Relayer } from '../ports/relayer.js';
import type { Draft, KnownOrder, NotPlaced } from '../ports/stores/orders.js';
import type { Amendment, BotOrder, RelayedLeg, RelayPurpose, SignedAction, LaneProblem } from '../ports/stores/relay.js';
import type { Hex, Address } from '../types.js';
import { describeUnfilled, tooManyUnsent, type PreparedOrder } from './find-order.js';
import { freshFunds } from '../caching/opening-reads.js';
import { fingerprintOfCall } from './order-request.js';
import { collateralAt } from './position-order.js';
import type { CheckedDraft, CheckedOrder } from './prepare-order.js';
import type { PreparedTransaction, PreparedWrite } from './prepare-transaction.js';
import { shortage } from './refuse-revert.js';

export const CLOID_TAKEN = 'An order with this cloid is still open.';
export const TRADE_BUSY = 'Another order is executing on this position; retry in a moment.';

/** One request of an order, checked and simulated. */
export interface LegToPlace extends Pick<CheckedOrder, 'write'>, Pick<RelayedLeg, 'owed'> {
  /** Null for a TP/SL that is no order of its own. */
  readonly draft: CheckedDraft | null;
  /** What the relayer needs to derive the call again before it signs; absent for a leg that is held back, and where the agent sends. */
  readonly context?: unknown;
}

export interface OrderToPlace {
  /** At least one. The relayer sends each in a transaction of its own; those of an agent are one transaction. */
  readonly legs: readonly LegToPlace[];
  /** Of the first leg. */
  readonly clientId?: string | null;
  /** Of the first leg: see Draft. A past order may keep it as its clientId. */
  readonly freeCloid?: string | null;
  /** Hash of the client's request; absent: of the call. */
  readonly fingerprint?: Hex;
  /** Where the sender is the relayer: why it sends, and what is stored of the bot's order. */
  readonly relayed?: { readonly action: SignedAction; readonly purpose?: RelayPurpose; readonly record: BotOrder | null };
}

export type Placement =
  | {
      readonly kind: 'placed';
      /** The id by which the client knows it. */
      readonly oid: bigint;
      /** The order of each leg; null for a leg that is none. */
      readonly orders: readonly (KnownOrder | null)[];
      /** Without legs held back; none where the agent sends. */
      readonly jobs: readonly QueuedJob[];
    }
  /** The clientId is that of another order; nothing was stored. */
  | { readonly kind: 'known'; readonly stored: KnownOrder };

/**
 * Stores an order of either API: an agent gets its transaction and sends it; for the relayer its jobs are stored with it. Everything that
 * decides (clientId, unsent orders, spending cap, the operator's rules, funds) is checked in the transaction that stores it. Throws the
 * refusal of the first leg that is not placed; then nothing is.
 */
export async function placeOrder(gateway: Gateway, venue: Venue, caller: AgentCaller, order: OrderToPlace): Promise<Placement> {
  const refreshed = new Set<number>();
  let drafts = draftsOf(gateway, order);
  for (;;) {
    const placed = await store(gateway, venue, caller, order, drafts);
    if (placed.kind === 'placed') return placed;
    const { at, why } = placed;
    if (why.kind === 'known') return why;
    if (why.kind === 'cloid-taken') throw new GatewayError('UNSUPPORTED', { reason: CLOID_TAKEN });
    const [draft, leg] = [drafts[at], order.legs[at]];
    if (!draft || !leg) throw new TypeError('a leg without an order cannot be refused');
    if (why.kind !== 'short' || refreshed.has(at)) throw refusalOf(venue, { ...leg, draft }, why);
    // The figures that were insufficient may be a second old: they are read again, once.
    refreshed.add(at);
    const funds = await fundsNow(venue, draft, why.askedAt);
    drafts = drafts.map((each, index) => (index === at ? { ...draft, funds } : each));
  }
}

/** For an order without a clientId. */
export async function placeUnnamed(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  order: OrderToPlace,
): Promise<Extract<Placement, { kind: 'placed' }>> {
  const placed = await placeOrder(gateway, venue, caller, order);
  if (placed.kind === 'known') throw new TypeError('an order without a clientId cannot be known');
  return placed;
}

/** A placed order of an agent, as it is answered. */
export function describePlaced(
  venue: Venue,
  { orders }: Pick<Extract<Placement, { kind: 'placed' }>, 'orders'>,
  { transaction }: PreparedWrite,
): PreparedOrder {
  const [order, ...others] = orders.flatMap((stored) => (stored === null ? [] : [describeUnfilled(venue, stored)]));
  if (!order) throw new TypeError('nothing was placed');
  return { order, transaction, ...(others.length > 0 && { others }) };
}

/** What is stored of each leg. */
export const draftsOf = (gateway: Gateway, { legs, clientId = null, freeCloid, fingerprint }: OrderToPlace): readonly (Draft | null)[] =>
  legs.map(
    ({ draft, write }, at) =>
      draft && {
        ...draft,
        order: { ...draft.order, clientId: at === 0 ? clientId : null },
        ...(at === 0 && freeCloid != null && { freeCloid }),
        fingerprint: fingerprint ?? fingerprintOfCall(gateway, write.inner),
      },
  );

async function store(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { legs, relayed }: OrderToPlace,
  drafts: readonly (Draft | null)[],
): Promise<QueuedOrder> {
  if (relayed) {
    const { action, purpose, record } = relayed;
    const sent = legs.map(({ write: { transaction }, context, owed }, at): RelayedLeg => ({
      draft: drafts[at] ?? null,
      request: context === undefined ? null : requestOf(caller, { action, transaction, context, ...(purpose && { purpose }) }),
      ...(owed && { owed }),
    }));
    return relayerOf(venue).place({ legs: sent, record });
  }
  const [first, ...others] = drafts.flatMap((draft) => draft ?? []);
  if (!first) throw new TypeError('an agent places orders only');
  const placed = await gateway.store.orders.place(first, others);
  if (placed.kind !== 'placed') return { kind: 'refused', at: 0, why: placed };
  return { kind: 'placed', oid: placed.stored.id, orders: [placed.stored, ...placed.others], jobs: [] };
}

export function relayerOf({ relayer, definition }: Venue): Relayer {
  if (relayer === null) throw new GatewayError('CHAIN_READ_ONLY', { chain: definition.slug });
  return relayer;
}

/** Used if the node cannot estimate: more than any trading call takes. */
const FALLBACK_GAS = 3_000_000n;

export interface RelayedTransaction {
  readonly action: SignedAction;
  readonly transaction: Pick<PreparedTransaction, 'data' | 'gas' | 'expiresAt'>;
  /** Lets the relayer derive the call again before it signs. */
  readonly context: unknown;
  readonly purpose?: RelayPurpose;
}

/** The relayer's request without its order. */
export const requestOf = (
  { trader, sender }: AgentCaller,
  { action, transaction, context, purpose = 'action' }: RelayedTransaction,
): NonNullable<RelayedLeg['request']> => ({
  trader,
  wallet: sender,
  purpose,
  parent: action.id,
  data: transaction.data,
  gas: transaction.gas === null ? FALLBACK_GAS : BigInt(transaction.gas),
  context,
  notAfter: transaction.expiresAt,
});

/** Why the store did not place an order, as the answer to its client. */
export function refusalOf(
  venue: Venue,
  { draft, write }: Pick<LegToPlace, 'write'> & { readonly draft: Draft },
  refused: NotPlaced,
): Error {
  switch (refused.kind) {
    case 'known':
      return new TypeError('what a taken clientId means is decided by the API');
    case 'over-cap':
      return draft.spend?.capUsd
        ? capExceeded(draft.spend.capUsd, refused.spentUsd, draft.spend.usd)
        : new TypeError('the store reported an exceeded cap, but the order has none');
    case 'too-many':
      return tooManyUnsent(venue, refused.earliestExpiry);
    case 'cloid-taken':
      return new GatewayError('UNSUPPORTED', { reason: CLOID_TAKEN });
    case 'busy':
      return new GatewayError('UNSUPPORTED', { reason: TRADE_BUSY });
    case 'short':
      return shortage(venue, draft.order.trader, {
        ...leftOf(fundsOf(draft), refused),
        collateral: collateralAt(venue, draft.order),
        inner: write.inner,
      });
  }
}

type Funds = NonNullable<Draft['funds']>;

function fundsOf({ funds }: Draft): Funds {
  if (funds === undefined) throw new TypeError('an order that takes nothing cannot be short of funds');
  return funds;
}

async function fundsNow(venue: Venue, draft: Draft, now: number): Promise<Funds> {
  const funds = fundsOf(draft);
  const { address } = collateralAt(venue, draft.order);
  return { ...funds, ...(await freshFunds(venue, draft.order.trader, address, { since: funds.askedAt, now })) };
}

/** The trader's funds left after openings that are not mined yet, as reported to a client. */
function leftOf(funds: Funds, unmined: { readonly takes: bigint; readonly amount: bigint }) {
  const left = (have: bigint, taken: bigint): bigint => (have > taken ? have - taken : 0n);
  const isAllowed = unmined.amount + funds.amount <= funds.allowance;
  return {
    amount: isAllowed ? funds.takes : funds.amount,
    balance: left(funds.balance, unmined.takes),
    allowance: left(funds.allowance, unmined.amount),
  };
}

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

/** The same for a change of a resting order; null, with nothing stored, if the order has to be read again first. */
export async function sendAmend(
  venue: Venue,
  caller: AgentCaller,
  { write: { transaction }, orderId, ...relayed }: Omit<RelayedWrite, 'isOnce'>,
  amendment: Amendment,
): Promise<QueuedAmend | null> {
  const queued = await relayerOf(venue).sendAmend({ ...requestOf(caller, { ...relayed, transaction }), orderId }, amendment);
  if (queued === 'cloid-taken') throw new GatewayError('UNSUPPORTED', { reason: CLOID_TAKEN });
  return queued;
}

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

const DOES: Readonly<Record<Exclude<SwitchMode, 'running'>, string>> = {
  paused: 'is paused by its operator',
  draining: 'finishes what it has and takes nothing new',
};

/** The refusal for new requests; null while they are accepted. */
export function closedText({ mode, reason }: WalletMode): string | null {
  if (mode === 'running') return null;
  const why = reason === null ? '' : `: ${reason}`;
  return `The relayer ${DOES[mode]}${why}. Nothing was sent; orders and positions can be managed from the trader's own wallet meanwhile.`;
}
