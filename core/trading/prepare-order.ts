import type { AgentCaller } from '../access/caller.js';
import { marketName } from '../domain/market.js';
import { checkMarket, utcDay, checkLeverage } from '../domain/agent.js';
import type { CloseIntent, DecreaseIntent, OpenTerms, Intent } from '../domain/intent.js';
import { newlyPrepared, type Order, type OrderType } from '../domain/order.js';
import { positionSizeCollateral, collateralToUsd } from '../domain/pricing/size.js';
import { GatewayError } from '../errors.js';
import { requireOpeningsBy } from '../access/openings-after-loss.js';
import type { Gateway, Venue } from '../gateway.js';
import { requireCurrent } from '../indexer/identify.js';
import type { Draft } from '../ports/stores/orders.js';
import type { PositionFigures } from './find-position.js';
import { knownFunds } from '../caching/opening-reads.js';
import { type Opening, LEVERAGE_DECIMALS, type OrderMarket } from './order-request.js';
import { closingSlippage, positionOrder, tokensHeld, type PositionPart } from './position-order.js';
import { callbackQuestion, refuseCallback, withImpact } from './precheck-callback.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';
import { openingGuard } from './rules-of-opening.js';
import { decimal, formatDecimal, round, type Decimal } from '../domain/decimal.js';
import { minOpeningCollateral } from '../domain/pricing/fees.js';
import type { Address } from '../types.js';
import { encodeIntent } from './encode-intent.js';
import { wouldRevert } from './refuse-revert.js';

/** What will be stored of an order; a fingerprint is added then. */
export type CheckedDraft = Omit<Draft, 'fingerprint'>;

/** An order that is checked and simulated but not stored. */
export interface CheckedOrder {
  readonly write: PreparedWrite;
  readonly draft: CheckedDraft;
}

/** The relayer sends immediately: unsent orders are in its queue, not waiting for a client. */
const MAX_UNSENT_RELAYED = 10_000;

/** The resting order that is replaced. */
export interface Instead {
  readonly tradeIndex: number;
  readonly collateralIndex: number;
  /** The collateral that its cancellation returns in the same transaction. */
  readonly collateralAmount: bigint;
}

export interface OpeningOptions {
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
  { relayed, instead = null }: OpeningOptions = {},
): Promise<CheckedOrder> {
  const { collateral, terms } = opening;
  const { agent, trader, scope } = caller;
  await requireCurrent(gateway, venue);
  await requireOpeningsBy(gateway, venue, caller);
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
  ]).catch((error: unknown) => {
    throw withImpact(venue, opening, error);
  });
  refuseCallback(venue, opening, write);
  const now = venue.clock.now();
  const order = preparedOrder(caller, opening, { now, expiresAt: write.transaction.expiresAt });
  const account = { chain: venue.definition.slug, agent, trader, day: utcDay(now) };
  const spend = { account, usd: notionalUsd(opening), capUsd: scope.dailySpendCapUsd };
  const draft = draftOf(gateway, venue, caller, { order, write, spend });
  if (!relayed || held === null) return { write, draft };
  const guard = openingGuard(gateway, venue, trader, terms, instead?.tradeIndex ?? null);
  const amount = terms.collateralAmount;
  const funds = { collateralIndex: collateral.index, amount, takes: takenBy(terms, instead), askedAt: relayed.askedAt, ...held };
  return { write, draft: { ...draft, guard, funds } };
}

function takenBy({ collateralIndex, collateralAmount }: OpenTerms, instead: Instead | null): bigint {
  const freed = instead?.collateralIndex === collateralIndex ? instead.collateralAmount : 0n;
  return freed > collateralAmount ? 0n : collateralAmount - freed;
}

interface Ordered extends Pick<Draft, 'order' | 'spend'> {
  readonly write: Pick<PreparedWrite, 'handedOut'>;
}

export const draftOf = (
  { orders }: Gateway,
  { definition }: Venue,
  { agent, mode }: AgentCaller,
  { order, write, spend }: Ordered,
): CheckedDraft => ({
  ...write.handedOut,
  chain: definition.slug,
  agent,
  order,
  spend,
  maxUnsent: mode === 'relayed' ? MAX_UNSENT_RELAYED : orders.maxUnsent,
});

function preparedOrder(
  { trader }: AgentCaller,
  { terms, sizeBase, sizeCollateral, isPriceGiven, storedSl }: Opening,
  { now, expiresAt }: { readonly now: number; readonly expiresAt: number },
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
    clientId: null,
    ...newlyPrepared(now, expiresAt),
  };
}

/** A close of a position, as a whole or in part. */
export interface Closing {
  readonly intent: CloseIntent | DecreaseIntent;
  readonly position: PositionFigures;
  /** Base units (1e18) that the client asked for; absent where it did not. */
  readonly sizeBase?: bigint | undefined;
}

/** Closing is possible while the market is close-only, but not while it is closed. */
export function requireClosable({ feed, clock }: Venue, { scope }: AgentCaller, { pairIndex }: PositionFigures): void {
  const market = marketName(feed.config(), pairIndex);
  checkMarket(scope, market);
  const session = feed.session(pairIndex, clock.now());
  if (session === 'closed') throw new GatewayError('MARKET_CLOSED', { market, session });
}

/** Checks and simulates closes of either API, all in one transaction and each an order of its own. */
export async function prepareClosings(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  closings: readonly [Closing, ...Closing[]],
): Promise<readonly [CheckedOrder, ...CheckedOrder[]]> {
  const [first, ...others] = closings;
  for (const { position } of closings) requireClosable(venue, caller, position);
  const intent = others.length === 0 ? first.intent : { kind: 'reduce' as const, parts: closings.map((closing) => closing.intent) };
  const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null, others: others.length });
  const times = { now: venue.clock.now(), expiresAt: write.transaction.expiresAt };
  const prepared = (closing: Closing, own: PreparedWrite): CheckedOrder => {
    const order = positionOrder(caller, closing.position, partOf(venue, closing), times);
    const draft = draftOf(gateway, venue, caller, { order, write: own, spend: null });
    // The contract accepts one pending order per trade: a second one of the relayer would be mined in vain.
    return { write: own, draft: caller.mode === 'relayed' ? { ...draft, soleOn: closing.position.tradeIndex } : draft };
  };
  return [
    prepared(first, write),
    ...others.map((closing, at) => prepared(closing, { ...write, handedOut: write.others[at] ?? write.handedOut })),
  ];
}

function partOf(venue: Venue, { intent, position, sizeBase }: Closing): PositionPart {
  const { leverage } = position;
  const sizeToken = tokensHeld(venue, position);
  const collateralAmount = intent.kind === 'close' ? position.collateralAmount : intent.collateralDelta;
  const [sizeCollateral, whole] = [positionSizeCollateral({ collateralAmount, leverage }), positionSizeCollateral(position)];
  return {
    action: intent.kind,
    leverage,
    collateralAmount,
    sizeCollateral,
    sizeToken: intent.kind === 'close' || whole === 0n ? sizeToken : (sizeToken * sizeCollateral) / whole,
    slippageP: intent.slippageP ?? closingSlippage(position),
    ...(sizeBase !== undefined && { asked: { sizeBase, sizeCollateral } }),
  };
}

/** Decimals of published USD amounts; the contract uses 18. */
export const USD_DECIMALS = 6;

/** Limit and stop orders may rest while the market is closed: the oracle is not asked before it opens again. */
export function requireSession({ feed, clock }: Venue, { pair, symbol }: Pick<OrderMarket, 'pair' | 'symbol'>, type: OrderType): void {
  const session = feed.session(pair.index, clock.now());
  const mayRest = session === 'closed' && type !== 'market' && feed.config().tradingState === 'active';
  if (session !== 'open' && !mayRest) throw new GatewayError('MARKET_CLOSED', { market: symbol, session });
}

export const requireTradable = (venue: Venue, opening: Opening): void => requireSession(venue, opening, opening.terms.type);

/** Checks that do not depend on the state of the market. */
export function checkOpening(opening: Opening, trader: Address, intent?: Intent): void {
  const { terms, view, collateral } = opening;
  const minimum = minOpeningCollateral(view.fees, view.collateral);
  if (terms.collateralAmount < minimum) {
    const usd = (amount: bigint): string => formatDecimal(round(decimal(collateralToUsd(amount, collateral), 18), USD_DECIMALS, 'half-up'));
    const notional = positionSizeCollateral({ collateralAmount: minimum, leverage: terms.leverage });
    throw new GatewayError('SIZE_BELOW_MINIMUM', {
      collateralUsd: usd(terms.collateralAmount),
      minCollateralUsd: usd(minimum),
      leverage: formatDecimal(decimal(terms.leverage, LEVERAGE_DECIMALS)),
      // Rounded up to the cent, so that an order of this value is large enough.
      minNotionalUsd: formatDecimal(round(decimal(collateralToUsd(notional, collateral), 18), 2, 'up')),
    });
  }
  checkLevels(opening, trader, intent);
}

/** Take profit and stop loss must be on the correct side of the price. */
export function checkLevels({ terms }: Pick<Opening, 'terms'>, trader: Address, intent: Intent = { kind: 'open', ...terms }): void {
  const { tp, sl, price, long } = terms;
  const isWrong = (trigger: bigint, isAbove: boolean): boolean => trigger > 0n && (isAbove ? trigger <= price : trigger >= price);
  const inner = () => encodeIntent(intent, trader);
  if (isWrong(tp, long)) throw wouldRevert(inner(), 'TradeTpInvalid');
  if (isWrong(sl, !long)) throw wouldRevert(inner(), 'TradeSlInvalid');
}

/** Scope checks that need no stored data; the spending cap is checked when the order is stored. */
export function checkScope({ scope }: AgentCaller, { symbol, terms }: Opening): void {
  checkMarket(scope, symbol);
  checkLeverage(scope, decimal(terms.leverage, LEVERAGE_DECIMALS));
}

/** Notional in USD, rounded up so that rounding never exceeds a cap. */
export const notionalUsd = ({ sizeCollateral, collateral }: Pick<Opening, 'sizeCollateral' | 'collateral'>): Decimal =>
  round(decimal(collateralToUsd(sizeCollateral, collateral), 18), USD_DECIMALS, 'up');
