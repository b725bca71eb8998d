import type { AgentCaller } from '../access/caller.js';
import { positionOf, type Position } from '../account/list-positions.js';
import { checkLeverage, checkMarket, utcDay } from '../domain/agent.js';
import { decimal, formatDecimal, round, type Decimal } from '../domain/decimal.js';
import type { IncreaseIntent } from '../domain/intent.js';
import { symbolOf, type Collateral } from '../domain/market.js';
import type { Order } from '../domain/order.js';
import { beforeV10InP10, PriceRangeError } from '../domain/pricing/exposure.js';
import { worstPrice, type PriceContext } from '../domain/pricing/execution-price.js';
import { marketView } from '../domain/pricing/market-view.js';
import { leverageAfter, leverageThatKeeps, predictIncrease, type IncreaseValues } from '../domain/pricing/predict-increase.js';
import { collateralForBaseSize, collateralToUsd, positionSizeCollateral } from '../domain/pricing/size.js';
import { MAX_LEVERAGE } from '../domain/pricing/units.js';
import { GatewayError } from '../errors.js';
import { requireOpeningsBy } from '../access/openings-after-loss.js';
import type { Gateway, Venue } from '../gateway.js';
import { requireCurrent } from '../indexer/identify.js';
import { fromNode } from '../ports/chain.js';
import type { OpeningFacts, UpdateFees } from '../ports/simulation.js';
import { maxLeverage, MIN_LEVERAGE, outOfRange, type ChangedPosition } from './change-leverage.js';
import { tooSmall } from './close-position.js';
import { encodeIntent } from './encode-intent.js';
import { isReverted } from './find-order.js';
import { onPosition, type HeldPosition, type PositionFigures } from './find-position.js';
import { baseUnits, exactUnits, LEVERAGE_DECIMALS, marketPrices, checkCollateral, slippageUnits } from './order-request.js';
import { describePlaced, placeUnnamed } from './place-order.js';
import { afterIncrease } from './position-after.js';
import { pricedPosition, positionOrder, refuseForeseen, undescribed, type Foreseen, type PricedPosition } from './position-order.js';
import { FULL } from './precheck-callback.js';
import { draftOf, notionalUsd, requireSession, USD_DECIMALS, type CheckedOrder } from './prepare-order.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';
import { wouldRevert } from './refuse-revert.js';

/** What is added to a position. */
export interface IncreaseRequest {
  /** Base units. */
  readonly size: Decimal;
  /** Of the added part; absent = the position's. */
  readonly leverage?: Decimal | undefined;
  /** Expected price; absent = the mark. */
  readonly price?: Decimal | undefined;
  /** Percent; absent = 1. */
  readonly slippage?: Decimal | undefined;
}

/** An increase in the contract's units. */
export interface Increase {
  readonly symbol: string;
  readonly collateral: Collateral;
  readonly intent: IncreaseIntent;
  /** 1e18, as requested. */
  readonly sizeBase: bigint;
  readonly sizeCollateral: bigint;
  /** 1e10; the price that the size was converted at. */
  readonly sizedAt: bigint;
  /** As requested; that of the intent may be a thousandth higher. */
  readonly leverage: bigint;
  /** Of the whole position afterwards. */
  readonly leverageAfter: bigint;
  readonly isPriceGiven: boolean;
}

/** Adds to a position at the market. The result is an ordinary order, which the oracle fills or rejects. */
export async function increasePosition(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  request: IncreaseRequest,
): Promise<ChangedPosition> {
  const { position, checked } = await prepareIncrease(gateway, venue, caller, id, request);
  const { order, transaction } = describePlaced(venue, await placeUnnamed(gateway, venue, caller, { legs: [checked] }), checked.write);
  return { position, order, transaction };
}

/** Checks and simulates the increase: the position as it will be, and the order. Nothing is stored. */
export async function prepareIncrease(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  request: IncreaseRequest,
): Promise<{ readonly position: Position; readonly checked: CheckedOrder }> {
  const { position, made } = await onPosition(gateway, venue, caller, id, async (figures) => {
    await requireCurrent(gateway, venue);
    await requireOpeningsBy(gateway, venue, caller);
    requireOpenSession(venue, figures);
    const increase = planIncrease(venue, figures, request);
    checkIncreaseScope(caller, increase);
    const { intent, collateral, sizeCollateral } = increase;
    // Started in the same turn of the event loop, so that both go into one RPC batch.
    const [write, fees] = await Promise.all([
      prepareTransaction(gateway, venue, caller, {
        intent,
        takes: { collateral, amount: intent.collateralDelta },
        opening: { ...figures, positionSizeCollateral: sizeCollateral },
      }).catch(refuseOldTrade),
      fromNode(venue.chain.updateFees(caller.trader, figures)),
    ]);
    return { increase, write, fees };
  });
  const { increase, write, fees } = made;
  const outcome = foreseeIncrease(venue, position, increase, { fees, facts: write.facts });
  refuse(venue, position, increase, { foreseen: outcome, write });
  const now = venue.clock.now();
  const order = orderOf(caller, position.figures, increase, { now, expiresAt: write.transaction.expiresAt });
  const account = { chain: venue.definition.slug, agent: caller.agent, trader: caller.trader, day: utcDay(now) };
  const spend = { account, usd: notionalUsd(increase), capUsd: caller.scope.dailySpendCapUsd };
  return {
    position: positionOf(venue, outcome.after ?? position.own, position.place),
    checked: { write, draft: draftOf(gateway, venue, caller, { order, write, spend }) },
  };
}

/** Checked before the figures: a closed market may have no price. */
function requireOpenSession(venue: Venue, figures: PositionFigures): void {
  const pair = venue.feed.config().pairs[figures.pairIndex];
  if (!pair) throw undescribed(venue, figures);
  requireSession(venue, { pair, symbol: symbolOf(pair) }, 'market');
}

/** The contract takes collateral, so the size is converted at the mark; a named price only bounds the execution. */
export function planIncrease(venue: Venue, figures: PositionFigures, request: IncreaseRequest): Increase {
  const config = venue.feed.config();
  const pair = config.pairs[figures.pairIndex];
  const view = marketView(config, figures);
  const collateral = config.collaterals.find(({ index }) => index === figures.collateralIndex);
  if (!pair || !view || !collateral) throw undescribed(venue, figures);
  const symbol = symbolOf(pair);
  const leverage = request.leverage === undefined ? figures.leverage : exactUnits('leverage', request.leverage, LEVERAGE_DECIMALS);
  if (leverage > MAX_LEVERAGE) throw outOfRange(venue, figures, leverage);
  const sizeBase = baseUnits(request.size);
  const { price: expectedPrice, sizedAt } = marketPrices(venue, view, request.price);
  const collateralDelta = collateralForBaseSize({ baseSize: sizeBase, price: sizedAt, leverage, collateral, rounding: 'half-up' });
  checkCollateral(figures.collateralAmount + collateralDelta);
  // Without collateral the contract would add the leverage to that of the whole position.
  if (collateralDelta === 0n) throw tooSmall(collateral);
  const leverageDelta = leverage === figures.leverage ? leverageThatKeeps(figures, collateralDelta) : leverage;
  const after = leverageAfter(figures, { collateral: collateralDelta, leverage: leverageDelta });
  if (after < MIN_LEVERAGE || after > MAX_LEVERAGE) throw outOfRange(venue, figures, after);
  return {
    symbol,
    collateral,
    sizeBase,
    sizedAt,
    leverage,
    leverageAfter: after,
    sizeCollateral: positionSizeCollateral({ collateralAmount: collateralDelta, leverage: leverageDelta }),
    isPriceGiven: request.price !== undefined,
    intent: {
      kind: 'increase',
      tradeIndex: figures.tradeIndex,
      collateralDelta,
      leverageDelta,
      expectedPrice,
      slippageP: slippageUnits(request.slippage),
    },
  };
}

/** The scope bounds the leverage of the added part and that of the position afterwards. */
export function checkIncreaseScope(
  { scope }: Pick<AgentCaller, 'scope'>,
  { symbol, leverage, leverageAfter: after }: Pick<Increase, 'symbol' | 'leverage' | 'leverageAfter'>,
): void {
  checkMarket(scope, symbol);
  for (const bound of [leverage, after]) checkLeverage(scope, decimal(bound, LEVERAGE_DECIMALS));
}

/** The contract adds only to positions that it opened since v10: older ones hold no tokens and pay no funding. */
function refuseOldTrade(error: unknown): never {
  if (!isReverted(error) || error.details.errorName !== 'NotAuthorized') throw error;
  throw tooOld();
}

export const tooOld = (): GatewayError =>
  new GatewayError('UNSUPPORTED', {
    reason: 'The contracts add nothing to a position from before v10: open another one beside it, or close it and open it again.',
  });

interface IncreaseFacts {
  /** null where this Diamond does not provide them. */
  readonly fees: UpdateFees | null;
  readonly facts: OpeningFacts | null;
}

export interface ForeseenIncrease extends Foreseen {
  readonly context: PriceContext;
  /** null when the contract stops before it computes them. */
  readonly values: IncreaseValues | null;
  /** The position afterwards; null where there is none. */
  readonly after: HeldPosition['own'] | null;
}

/** Predicts the oracle's callback at the current state, with the trader's own terms. */
export function foreseeIncrease(
  venue: Venue,
  position: HeldPosition,
  { intent }: Pick<Increase, 'intent'>,
  { fees, facts }: IncreaseFacts,
): ForeseenIncrease {
  const priced = pricedPosition(venue, position);
  if (priced === null) throw undescribed(venue, position.figures);
  const context = withFacts(priced, { fees, facts });
  const { trade, account } = priced.pricing;
  const { collateralDelta, leverageDelta, expectedPrice, slippageP: maxSlippageP } = intent;
  const request = { trade, account, collateralDelta, leverageDelta, expectedPrice, maxSlippageP };
  try {
    const { cancelReason: reason, values } = predictIncrease(context, request, facts?.isWithinGroupOi === false ? FULL : null);
    const worst = worstPrice({ expectedPrice, maxSlippageP, long: trade.long, open: true });
    const figures = reason === 'SLIPPAGE' && values !== null ? [values.impact.priceAfterImpact, worst] : [];
    const at = { pricing: priced.pricing, timestamp: position.place.block.timestamp, oraclePrice: context.oraclePrice };
    return { reason, figures, context, values, after: values === null ? null : afterIncrease(position.own, values, at) };
  } catch (error) {
    if (error instanceof PriceRangeError) throw wouldRevert(encodeIntent(intent, position.place.trader), error.code);
    throw error;
  }
}

/** The open interest of the newest block, and the trader's fees and share of the volume impact. */
function withFacts({ context }: PricedPosition, { fees, facts }: IncreaseFacts): PriceContext {
  const { market } = context;
  const oi = facts?.oi && { oiToken: facts.oi.oiToken, oiBeforeV10: beforeV10InP10(facts.oi.oiBeforeV10, market.collateral) };
  return {
    ...context,
    market: { ...market, state: { ...market.state, ...oi } },
    terms: {
      ...context.terms,
      cumulVolPriceImpactMultiplier: facts?.cumulVolPriceImpactMultiplier ?? context.terms.cumulVolPriceImpactMultiplier,
      feeMultiplier: fees?.feeMultiplier ?? context.terms.feeMultiplier,
    },
  };
}

const TOO_STEEP: readonly string[] = ['LIQ_REACHED', 'MAX_LEVERAGE'];

/** The contract compares the effective leverage; a leverage that is too high by itself is reported as such. */
function refuse(
  venue: Venue,
  { figures, own }: HeldPosition,
  { leverageAfter: after, collateral, intent }: Increase,
  { foreseen, write }: { readonly foreseen: ForeseenIncrease; readonly write: PreparedWrite },
): void {
  if (TOO_STEEP.includes(foreseen.reason) && after > maxLeverage(venue, figures)) throw outOfRange(venue, figures, after);
  if (foreseen.reason === 'WRONG_TRADE') throw belowStep(own.trade.collateralAmount, collateral, intent);
  refuseForeseen(foreseen, write);
}

/** Leverage has three decimals: what adds less than the last of them would be cut off all of the position. */
export function belowStep(held: bigint, collateral: Collateral, { collateralDelta, leverageDelta }: IncreaseIntent): GatewayError {
  const usd = (amount: bigint): string => formatDecimal(round(decimal(collateralToUsd(amount, collateral), 18), USD_DECIMALS, 'up'));
  const minimum = (held + collateralDelta) / leverageDelta + 1n;
  return new GatewayError('SIZE_BELOW_MINIMUM', { collateralUsd: usd(collateralDelta), minCollateralUsd: usd(minimum) });
}

function orderOf(
  caller: AgentCaller,
  figures: PositionFigures,
  { intent, sizeBase, sizeCollateral, isPriceGiven }: Increase,
  times: { readonly now: number; readonly expiresAt: number },
): Order {
  const { collateralDelta: collateralAmount, leverageDelta: leverage, slippageP, expectedPrice } = intent;
  const sized = { collateralAmount, leverage, sizeCollateral, sizeToken: null, asked: { sizeBase, sizeCollateral } };
  return positionOrder(caller, figures, { action: 'increase', ...sized, slippageP, ...(isPriceGiven && { price: expectedPrice }) }, times);
}
