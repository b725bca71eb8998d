import type { AgentCaller } from '../access/caller.js';
import type { OpenTerms } from '../domain/intent.js';
import type { Collateral } from '../domain/market.js';
import { newlyPrepared, type Order, type OrderStatus } from '../domain/order.js';
import { capExceeded, utcDay } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { checkOpening, checkScope, notionalUsd, requireTradable } from './check-order.js';
import { fingerprintOfCall, type Opening } from './order-request.js';
import type { Draft, NotPlaced } from '../ports/stores/orders.js';
import type { Hex } from '../types.js';
import { tooManyUnsent } from './find-order.js';
import { callbackQuestion, refuseCallback } from './precheck-callback.js';
import { shortage } from './refuse-revert.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';
import { freshFunds, knownFunds } from './opening-funds.js';
import { openingGuard } from './rules-of-opening.js';

/** An order that is checked and simulated but not stored. */
export interface DraftedWrite {
  readonly write: PreparedWrite;
  readonly draft: Draft;
}

const LIVE: ReadonlySet<OrderStatus> = new Set(['prepared', 'pending', 'open', 'timed_out']);
export const CLOID_TAKEN = 'An order with this cloid is still open.';
export const TRADE_BUSY = 'Another order is executing on this position; retry in a moment.';

/** The relayer sends immediately: unsent orders are in its queue, not waiting for a client. */
export const MAX_UNSENT = 10_000;

/** The resting order that is replaced. */
export interface Instead {
  readonly tradeIndex: number;
  readonly collateralIndex: number;
  /** The collateral that its cancellation returns in the same transaction. */
  readonly collateralAmount: bigint;
}

export interface OpeningOptions {
  readonly clientId?: string | null;
  /** Of the client's request; absent: of the call. */
  readonly fingerprint?: Hex;
  /** The relayer sends it: then the operator's rules apply, and funds are counted with all openings under way when the order is stored. */
  readonly relayed?: { readonly askedAt: number };
  readonly instead?: Instead | null;
}

/** Checks and simulates an opening of either API, sent by the agent or by the relayer. */
export async function prepareOpening(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  opening: Opening,
  { clientId = null, fingerprint, relayed, instead = null }: OpeningOptions,
): Promise<DraftedWrite> {
  const { collateral, terms } = opening;
  const { agent, trader, scope } = caller;
  checkScope(caller, opening);
  requireTradable(venue, opening);
  checkOpening(opening, trader);
  // Both run in one turn of the event loop, so they share one round trip.
  const [write, held] = await Promise.all([
    prepareTransaction(gateway, venue, caller, {
      intent: instead === null ? { kind: 'open', ...terms } : { kind: 'replace', tradeIndex: instead.tradeIndex, by: terms },
      takes: instead === null ? { collateral, amount: terms.collateralAmount } : null,
      opening: callbackQuestion(opening),
    }),
    relayed ? knownFunds(venue, trader, collateral.address, relayed.askedAt) : null,
  ]);
  refuseCallback(venue, opening, write);
  const now = venue.clock.now();
  const order = preparedOrder(caller, opening, { clientId, now, expiresAt: write.transaction.expiresAt });
  const account = { chain: venue.definition.slug, agent, trader, day: utcDay(now) };
  const spend = { account, usd: notionalUsd(opening), capUsd: scope.dailySpendCapUsd };
  const draft = draftOf(gateway, venue, caller, { order, write, spend, fingerprint });
  if (!relayed || held === null) return { write, draft };
  const guard = openingGuard(gateway, venue, trader, terms, instead?.tradeIndex ?? null);
  const amount = terms.collateralAmount;
  const funds = { collateralIndex: collateral.index, amount, takes: takenBy(terms, instead), askedAt: relayed.askedAt, ...held };
  return { write, draft: { ...draft, maxUnsent: MAX_UNSENT, guard, funds } };
}

function takenBy({ collateralIndex, collateralAmount }: OpenTerms, instead: Instead | null): bigint {
  const freed = instead?.collateralIndex === collateralIndex ? instead.collateralAmount : 0n;
  return freed > collateralAmount ? 0n : collateralAmount - freed;
}

export const draftOf = (
  gateway: Gateway,
  { definition }: Venue,
  { agent }: AgentCaller,
  {
    order,
    write,
    spend,
    fingerprint,
  }: Pick<Draft, 'order' | 'spend'> & { readonly write: PreparedWrite; readonly fingerprint?: Hex | undefined },
): Draft => ({
  ...write.handedOut,
  chain: definition.slug,
  agent,
  order,
  fingerprint: fingerprint ?? fingerprintOfCall(gateway, write.inner),
  spend,
  maxUnsent: gateway.orders.maxUnsent,
});

function preparedOrder(
  { trader }: AgentCaller,
  { terms, sizeBase, sizeCollateral, isPriceGiven, storedSl }: Opening,
  { clientId, now, expiresAt }: { readonly clientId: string | null; readonly now: number; readonly expiresAt: number },
): Order {
  const { type, pairIndex, collateralIndex, long, leverage, collateralAmount, tp, slippageP } = terms;
  return {
    ...{ type, pairIndex, collateralIndex, long, leverage, collateralAmount, tp, slippageP },
    trader,
    action: 'open',
    reduceOnly: false,
    sizeCollateral,
    sizeToken: null,
    asked: { sizeBase, sizeCollateral },
    // The expected price of a market order is stored only if the client named it.
    price: terms.type === 'market' && !isPriceGiven ? 0n : terms.price,
    sl: storedSl,
    tradeIndex: null,
    clientId,
    ...newlyPrepared(now, expiresAt),
  };
}

interface Naming {
  readonly clientId: string | null;
  /** It replaces the order that may have this clientId. */
  readonly isInstead: boolean;
}

/** Stores the order of a leg; a refused draft is tried again if it can be mended. */
export async function storeLeg<Stored extends { readonly kind: 'placed' }>(
  venue: Venue,
  { draft, write }: DraftedWrite,
  { clientId, isInstead }: Naming,
  place: (draft: Draft) => Promise<Stored | NotPlaced>,
): Promise<Stored> {
  let next: Draft = { ...draft, order: { ...draft.order, clientId } };
  for (let isFresh = false; ;) {
    const placed = await place(next);
    if (placed.kind === 'placed') return placed;
    next = await mendDraft(venue, { draft: next, write }, placed, { isInstead, isFresh });
    isFresh ||= placed.kind === 'short';
  }
}

/**
 * The draft to try next after a refusal; throws a refusal that stays. A cloid used by a past order stays with that order; ours is found by
 * the exchange record. A live order keeps its cloid, also against the same request sent twice at once, unless this leg replaces it.
 */
export async function mendDraft(
  venue: Venue,
  { draft, write }: DraftedWrite,
  refused: NotPlaced,
  /** `isFresh`: the trader's funds were read again after the cached figures were insufficient. */
  { isInstead, isFresh }: { readonly isInstead: boolean; readonly isFresh: boolean },
): Promise<Draft> {
  if (refused.kind === 'known' && (isInstead || !LIVE.has(refused.stored.order.status)))
    return { ...draft, order: { ...draft.order, clientId: null } };
  if (refused.kind !== 'short' || isFresh) throw refusalOf(venue, { draft, write }, refused);
  const funds = fundsOf(draft);
  const { address } = collateralOf(venue, funds.collateralIndex);
  const fresh = await freshFunds(venue, draft.order.trader, address, { since: funds.askedAt, now: refused.askedAt });
  return { ...draft, funds: { ...funds, ...fresh } };
}

/** Why the store did not place an order, as the answer to its client. */
export function refusalOf(venue: Venue, { draft, write }: DraftedWrite, refused: NotPlaced): Error {
  switch (refused.kind) {
    case 'known':
      return new GatewayError('UNSUPPORTED', { reason: CLOID_TAKEN });
    case 'over-cap':
      return draft.spend?.capUsd
        ? capExceeded(draft.spend.capUsd, refused.spentUsd, draft.spend.usd)
        : new TypeError('the store reported an exceeded cap, but the order has none');
    case 'too-many':
      return tooManyUnsent(venue, refused.earliestExpiry);
    case 'busy':
      return new GatewayError('UNSUPPORTED', { reason: TRADE_BUSY });
    case 'short': {
      const funds = fundsOf(draft);
      const collateral = collateralOf(venue, funds.collateralIndex);
      return shortage(venue, draft.order.trader, { ...leftOf(funds, refused), collateral, inner: write.inner });
    }
  }
}

function fundsOf({ funds }: Draft): NonNullable<Draft['funds']> {
  if (funds === undefined) throw new TypeError('an order that takes nothing cannot be short of funds');
  return funds;
}

function collateralOf(venue: Venue, index: number): Collateral {
  const found = venue.feed.config().collaterals.find((collateral) => collateral.index === index);
  if (!found) throw new GatewayError('NOT_READY', { reason: 'the collateral is not described yet' });
  return found;
}

/** The trader's funds left after openings that are not mined yet, as reported to a client. */
function leftOf(funds: NonNullable<Draft['funds']>, unmined: { readonly takes: bigint; readonly amount: bigint }) {
  const left = (have: bigint, taken: bigint): bigint => (have > taken ? have - taken : 0n);
  const isAllowed = unmined.amount + funds.amount <= funds.allowance;
  return {
    amount: isAllowed ? funds.takes : funds.amount,
    balance: left(funds.balance, unmined.takes),
    allowance: left(funds.allowance, unmined.amount),
  };
}
