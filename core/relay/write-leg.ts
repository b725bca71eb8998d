import type { AgentCaller } from '../access/caller.js';
import type { CloseIntent, DecreaseIntent, OpenIntent, OpenTerms } from '../domain/intent.js';
import type { Order, OrderStatus } from '../domain/order.js';
import { positionSizeCollateral } from '../domain/pricing/size.js';
import type { Leg } from '../domain/relay/exchange-order.js';
import { capExceeded, checkMarket, utcDay } from '../domain/scope.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { marketName } from '../account/describe-order.js';
import { checkOpening, checkScope, notionalUsd, requireTradable } from '../orders/check-order.js';
import type { PositionFigures } from '../orders/find-position.js';
import { fingerprintOfCall } from '../orders/order-fingerprint.js';
import { MAX_COLLATERAL, orderMarket, storedStopLoss, type Opening } from '../orders/order-request.js';
import type { Draft, NotPlaced } from '../orders/orders-store.js';
import { preparedOrder, tooManyUnsent } from '../orders/place-order.js';
import { closingSlippage, positionOrder } from '../orders/position-order.js';
import { invalid } from '../orders/exact-units.js';
import { callbackQuestion, refuseCallback } from '../orders/precheck-callback.js';
import { prepareTransaction, type PreparedWrite } from '../orders/prepare-transaction.js';
import { checkPart } from './check-part.js';
import { openingGuard } from './rules-of-opening.js';

/** One leg of an exchange order, checked and rehearsed but not stored. */
export interface PreparedLeg {
  readonly leg: Leg;
  readonly write: PreparedWrite;
  /** null for a protection: it is no order of ours. */
  readonly draft: Draft | null;
}

const LIVE: ReadonlySet<OrderStatus> = new Set(['prepared', 'pending', 'open', 'timed_out']);
export const CLOID_TAKEN = 'An order with this cloid is still open.';
export const TRADE_BUSY = 'Another order is executing on this position; retry in a moment.';

/** The relayer sends at once: what waits is in its queue, not in somebody's hand. */
const MAX_UNSENT = 10_000;

/** One round trip; throws what the rules or the contracts say against it. */
export async function prepareLeg(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  positions: readonly PositionFigures[],
): Promise<PreparedLeg> {
  const { intent } = leg;
  if (intent.kind === 'open') return prepareOpening(gateway, venue, caller, leg, intent);
  if (intent.kind !== 'close' && intent.kind !== 'decrease') {
    const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
    return { leg, write, draft: null };
  }
  const position = positions.find(({ tradeIndex }) => tradeIndex === intent.tradeIndex);
  if (!position) throw new GatewayError('POSITION_NOT_FOUND', { id: String(intent.tradeIndex) });
  return prepareClosing(gateway, venue, caller, leg, { intent, position });
}

/** The leg in place of an order that rests: both in one transaction, which frees the collateral it takes. */
export function prepareReplacement(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  tradeIndex: number,
): Promise<PreparedLeg> {
  if (leg.intent.kind !== 'open') throw new TypeError('only an entry can stand in for another');
  return prepareOpening(gateway, venue, caller, leg, leg.intent, tradeIndex);
}

async function prepareOpening(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  leg: Leg,
  intent: OpenIntent,
  instead: number | null = null,
): Promise<PreparedLeg> {
  if (intent.collateralAmount > MAX_COLLATERAL) throw invalid('size', 'is more than the contracts can hold');
  const opening = openingOf(venue, intent, leg.sizeBase);
  checkScope(caller, opening);
  requireTradable(venue, opening);
  checkOpening(opening, caller.trader);
  const { collateral, terms } = opening;
  const write = await prepareTransaction(gateway, venue, caller, {
    intent: instead === null ? intent : { kind: 'replace', tradeIndex: instead, by: terms },
    takes: instead === null ? { collateral, amount: intent.collateralAmount } : null,
    opening: callbackQuestion(opening),
  });
  refuseCallback(venue, opening, write);
  const now = venue.clock.now();
  const order = preparedOrder(caller, opening, { clientId: null, now, expiresAt: write.transaction.expiresAt });
  const { agent, trader, scope } = caller;
  const account = { chain: venue.definition.slug, agent, trader, day: utcDay(now) };
  const spend = { account, usd: notionalUsd(opening), capUsd: scope.dailySpendCapUsd };
  const guard = openingGuard(gateway, venue, trader, terms, instead);
  return { leg, write, draft: { ...draftOf(gateway, venue, caller, order, write, spend), guard } };
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
  const order = positionOrder(caller, position, partOf(intent, position), times);
  // Of two on one trade the contract takes one: the other would be mined in vain.
  return { leg, write, draft: { ...draftOf(gateway, venue, caller, order, write, null), soleOn: position.tradeIndex } };
}

function partOf(intent: CloseIntent | DecreaseIntent, position: PositionFigures): Parameters<typeof positionOrder>[2] {
  const { leverage, sizeToken } = position;
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

/**
 * Stores the order of a leg. A cloid that an order of the past has used stays with that one; ours is found by the exchange's record.
 * One that still lives keeps its name for itself, also against the same request sent twice at once, unless this one takes its place.
 */
export async function storeLeg<Stored extends { readonly kind: 'placed' }>(
  venue: Venue,
  draft: Draft,
  { clientId, isInstead }: { readonly clientId: string | null; readonly isInstead: boolean },
  place: (draft: Draft) => Promise<Stored | NotPlaced>,
): Promise<Stored> {
  const placed = await place({ ...draft, order: { ...draft.order, clientId } });
  switch (placed.kind) {
    case 'placed':
      return placed;
    case 'known':
      if (!isInstead && LIVE.has(placed.stored.order.status)) throw new GatewayError('UNSUPPORTED', { reason: CLOID_TAKEN });
      return storeLeg(venue, draft, { clientId: null, isInstead }, place);
    case 'over-cap':
      throw draft.spend?.capUsd ? capExceeded(draft.spend.capUsd, placed.spentUsd, draft.spend.usd) : new TypeError('no cap, yet passed');
    case 'too-many':
      throw tooManyUnsent(venue, placed.earliestExpiry);
    case 'busy':
      throw new GatewayError('UNSUPPORTED', { reason: TRADE_BUSY });
  }
}
