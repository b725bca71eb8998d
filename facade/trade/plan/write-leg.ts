import type { AgentCaller } from '../../../core/access/caller.js';
import type { CloseIntent, DecreaseIntent, OpenIntent, OpenTerms } from '../../../core/domain/intent.js';
import type { Collateral } from '../../../core/domain/market.js';
import type { Order, OrderStatus } from '../../../core/domain/order.js';
import { positionSizeCollateral } from '../../../core/domain/pricing/size.js';
import type { Leg } from '../../../core/domain/relay/exchange-order.js';
import { capExceeded, checkMarket, utcDay } from '../../../core/domain/scope.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { marketName } from '../../../core/account/describe-order.js';
import { checkOpening, checkScope, notionalUsd, requireTradable } from '../../../core/trading/check-order.js';
import type { PositionFigures } from '../../../core/trading/find-position.js';
import { fingerprintOfCall } from '../../../core/trading/order-fingerprint.js';
import { MAX_COLLATERAL, orderMarket, storedStopLoss, type Opening } from '../../../core/trading/order-request.js';
import type { Draft, NotPlaced } from '../../../core/ports/stores/orders.js';
import { preparedOrder } from '../../../core/trading/place-order.js';
import { tooManyUnsent } from '../../../core/trading/find-order.js';
import { closingSlippage, positionOrder, tokensHeld } from '../../../core/trading/position-order.js';
import { invalid } from '../../../core/trading/exact-units.js';
import { callbackQuestion, refuseCallback } from '../../../core/trading/precheck-callback.js';
import { shortage } from '../../../core/trading/precheck-funds.js';
import { prepareTransaction, type PreparedWrite } from '../../../core/trading/prepare-transaction.js';
import { checkPart } from './check-part.js';
import type { ExchangeFacts } from './exchange-facts.js';
import { freshFunds, knownFunds } from './opening-funds.js';
import { openingGuard } from '../../../core/trading/rules-of-opening.js';

/** One leg of an exchange order, checked and simulated but not stored. */
export interface PreparedLeg {
  readonly leg: Leg;
  readonly write: PreparedWrite;
  /** null for a protection: it is no order of ours. */
  readonly draft: Draft | null;
}

const LIVE: ReadonlySet<OrderStatus> = new Set(['prepared', 'pending', 'open', 'timed_out']);
export const CLOID_TAKEN = 'An order with this cloid is still open.';
export const TRADE_BUSY = 'Another order is executing on this position; retry in a moment.';

/** The relayer sends immediately: unsent orders are in its queue, not waiting for a client. */
const MAX_UNSENT = 10_000;

/** Takes one round trip; throws refusals of the rules or the contracts. */
export async function prepareLeg(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  { positions, askedAt }: Pick<ExchangeFacts, 'positions' | 'askedAt'>,
): Promise<PreparedLeg> {
  const { intent } = leg;
  if (intent.kind === 'open') return prepareOpening(gateway, venue, caller, leg, { intent, askedAt, instead: null });
  if (intent.kind !== 'close' && intent.kind !== 'decrease') {
    const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
    return { leg, write, draft: null };
  }
  const position = positions.find(({ tradeIndex }) => tradeIndex === intent.tradeIndex);
  if (!position) throw new GatewayError('POSITION_NOT_FOUND', { id: String(intent.tradeIndex) });
  return prepareClosing(gateway, venue, caller, leg, { intent, position });
}

/** Prepares the leg as a replacement of a resting order: one transaction does both, which frees the order's collateral. */
export function prepareReplacement(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  { instead, askedAt }: { readonly instead: Instead; readonly askedAt: number },
): Promise<PreparedLeg> {
  if (leg.intent.kind !== 'open') throw new TypeError('only an entry can stand in for another');
  return prepareOpening(gateway, venue, caller, leg, { intent: leg.intent, askedAt, instead });
}

/** The resting order that is replaced. */
export interface Instead {
  readonly tradeIndex: number;
  readonly collateralIndex: number;
  /** The collateral that its cancellation returns in the same transaction. */
  readonly collateralAmount: bigint;
}

async function prepareOpening(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  { intent, instead, askedAt }: { readonly intent: OpenIntent; readonly instead: Instead | null; readonly askedAt: number },
): Promise<PreparedLeg> {
  if (intent.collateralAmount > MAX_COLLATERAL) throw invalid('size', 'is more than the contracts can hold');
  const opening = openingOf(venue, intent, leg.sizeBase);
  checkScope(caller, opening);
  requireTradable(venue, opening);
  checkOpening(opening, caller.trader);
  const { collateral, terms } = opening;
  // Both run in one turn of the event loop, so they share one round trip.
  const [write, held] = await Promise.all([
    prepareTransaction(gateway, venue, caller, {
      intent: instead === null ? intent : { kind: 'replace', tradeIndex: instead.tradeIndex, by: terms },
      takes: instead === null ? { collateral, amount: intent.collateralAmount } : null,
      opening: callbackQuestion(opening),
    }),
    knownFunds(venue, caller.trader, collateral.address, askedAt),
  ]);
  refuseCallback(venue, opening, write);
  const now = venue.clock.now();
  const order = preparedOrder(caller, opening, { clientId: null, now, expiresAt: write.transaction.expiresAt });
  const { agent, trader, scope } = caller;
  const account = { chain: venue.definition.slug, agent, trader, day: utcDay(now) };
  const spend = { account, usd: notionalUsd(opening), capUsd: scope.dailySpendCapUsd };
  const guard = openingGuard(gateway, venue, trader, terms, instead?.tradeIndex ?? null);
  const funds = { collateralIndex: collateral.index, amount: intent.collateralAmount, takes: takenBy(intent, instead), askedAt, ...held };
  return { leg, write, draft: { ...draftOf(gateway, venue, caller, order, write, spend), guard, funds } };
}

function takenBy({ collateralIndex, collateralAmount }: OpenIntent, instead: Instead | null): bigint {
  const freed = instead?.collateralIndex === collateralIndex ? instead.collateralAmount : 0n;
  return freed > collateralAmount ? 0n : collateralAmount - freed;
}

function openingOf(venue: Venue, intent: OpenIntent, sizeBase: bigint): Opening {
  const config = venue.feed.config();
  const collateral = config.collaterals.find(({ index }) => index === intent.collateralIndex);
  const market = orderMarket(venue, { market: marketName(config, intent.pairIndex), collateral: collateral?.symbol });
  const terms = termsOf(intent);
  return {
    ...market,
    terms,
    sizeBase,
    sizeCollateral: positionSizeCollateral(terms),
    isPriceGiven: true,
    storedSl: storedStopLoss(market.view, terms),
  };
}

export const termsOf = ({
  type,
  pairIndex,
  collateralIndex,
  long,
  leverage,
  collateralAmount,
  price,
  tp,
  sl,
  slippageP,
  referrer,
}: OpenIntent): OpenTerms => ({
  type,
  pairIndex,
  collateralIndex,
  long,
  leverage,
  collateralAmount,
  price,
  tp,
  sl,
  slippageP,
  ...(referrer && { referrer }),
});

async function prepareClosing(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  { intent, position }: { readonly intent: CloseIntent | DecreaseIntent; readonly position: PositionFigures },
): Promise<PreparedLeg> {
  const market = marketName(venue.feed.config(), position.pairIndex);
  checkMarket(caller.scope, market);
  const session = venue.feed.session(position.pairIndex, venue.clock.now());
  if (session === 'closed') throw new GatewayError('MARKET_CLOSED', { market, session });
  if (intent.kind === 'decrease') checkPart(venue, position, intent.collateralDelta);
  const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
  const times = { now: venue.clock.now(), expiresAt: write.transaction.expiresAt };
  const order = positionOrder(caller, position, partOf(venue, intent, position), times);
  // The contract accepts one pending order per trade: a second one would be mined in vain.
  return { leg, write, draft: { ...draftOf(gateway, venue, caller, order, write, null), soleOn: position.tradeIndex } };
}

function partOf(venue: Venue, intent: CloseIntent | DecreaseIntent, position: PositionFigures): Parameters<typeof positionOrder>[2] {
  const { leverage } = position;
  const sizeToken = tokensHeld(venue, position);
  const collateralAmount = intent.kind === 'close' ? position.collateralAmount : intent.collateralDelta;
  const [size, whole] = [positionSizeCollateral({ collateralAmount, leverage }), positionSizeCollateral(position)];
  return {
    action: intent.kind,
    leverage,
    collateralAmount,
    sizeCollateral: size,
    sizeToken: intent.kind === 'close' || whole === 0n ? sizeToken : (sizeToken * size) / whole,
    slippageP: intent.slippageP ?? closingSlippage(position),
  };
}

const draftOf = (
  gateway: Gateway,
  { definition }: Venue,
  { agent }: AgentCaller,
  order: Order,
  write: PreparedWrite,
  spend: Draft['spend'],
): Draft => ({
  ...write.handedOut,
  chain: definition.slug,
  agent,
  order,
  fingerprint: fingerprintOfCall(gateway, write.inner),
  spend,
  maxUnsent: MAX_UNSENT,
});

interface Naming {
  readonly clientId: string | null;
  /** It replaces the order that may have this clientId. */
  readonly isInstead: boolean;
}

/** Stores the order of a leg; a refused draft is tried again if it can be mended. */
export async function storeLeg<Stored extends { readonly kind: 'placed' }>(
  venue: Venue,
  { draft, write }: { readonly draft: Draft; readonly write: PreparedWrite },
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
  { draft, write }: { readonly draft: Draft; readonly write: PreparedWrite },
  refused: NotPlaced,
  /** `isFresh`: the trader's funds were read again after the cached figures were insufficient. */
  { isInstead, isFresh }: { readonly isInstead: boolean; readonly isFresh: boolean },
): Promise<Draft> {
  switch (refused.kind) {
    case 'known':
      if (!isInstead && LIVE.has(refused.stored.order.status)) throw new GatewayError('UNSUPPORTED', { reason: CLOID_TAKEN });
      return { ...draft, order: { ...draft.order, clientId: null } };
    case 'over-cap':
      throw draft.spend?.capUsd ? capExceeded(draft.spend.capUsd, refused.spentUsd, draft.spend.usd) : new TypeError('no cap, yet passed');
    case 'too-many':
      throw tooManyUnsent(venue, refused.earliestExpiry);
    case 'busy':
      throw new GatewayError('UNSUPPORTED', { reason: TRADE_BUSY });
    case 'short': {
      const funds = fundsOf(draft);
      const collateral = collateralOf(venue, funds.collateralIndex);
      const { trader } = draft.order;
      if (isFresh) throw shortage(venue, trader, { ...leftOf(funds, refused), collateral, inner: write.inner });
      const fresh = await freshFunds(venue, trader, collateral.address, { since: funds.askedAt, now: refused.askedAt });
      return { ...draft, funds: { ...funds, ...fresh } };
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
