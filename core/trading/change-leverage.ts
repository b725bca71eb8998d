import type { AgentCaller } from '../access/caller.js';
import type { Order } from '../account/describe-order.js';
import { marketName, maxLeverageOf, type Collateral } from '../domain/market.js';
import { positionOf, type Position } from '../account/list-positions.js';
import { decimal, divideInteger, formatDecimal, type Decimal } from '../domain/decimal.js';
import { collateralAtLeverage, predictLeverageUpdate } from '../domain/pricing/leverage-update.js';
import { collateralToUsd } from '../domain/pricing/size.js';
import { MAX_LEVERAGE } from '../domain/pricing/units.js';
import { checkLeverage, checkMarket } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import { fromNode } from '../ports/chain.js';
import type { Gateway, Venue } from '../gateway.js';
import { exactUnits, invalid, LEVERAGE_DECIMALS } from './order-request.js';
import { onPosition, type HeldPosition, type PositionFigures } from './find-position.js';
import { closingSlippage, collateralAt, foresee, positionOrder, refuseForeseen, storedSl, type Foreseen } from './position-order.js';
import { describePlaced, placeUnnamed } from './place-order.js';
import { draftOf, type CheckedOrder } from './prepare-order.js';
import { prepareTransaction, type PreparedTransaction, type PreparedWrite } from './prepare-transaction.js';
import type { UpdateFees } from '../ports/simulation.js';

/** Both are `updateLeverage` on the contract: the position keeps its size, and collateral is added or removed. */
export type LeverageChange =
  { readonly leverage: Decimal } | { readonly collateral: { readonly action: 'add' | 'remove'; readonly amount: Decimal } };

/** Lower bound, 1e3; the upper bound is the market's, checked at the oracle's price. */
export const MIN_LEVERAGE = 100n;

/** The position as it will be once the change is executed. */
export interface ChangedPosition {
  position: Position;
  /** null where the change takes effect with its transaction, without the oracle. */
  order: Order | null;
  transaction: PreparedTransaction | null;
}

export async function changeLeverage(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  change: LeverageChange,
): Promise<ChangedPosition> {
  const { position, checked } = await prepareLeverage(gateway, venue, caller, id, change);
  if (checked === null) return { position, order: null, transaction: null };
  const { order, transaction } = describePlaced(venue, await placeUnnamed(gateway, venue, caller, { legs: [checked] }), checked.write);
  return { position, order, transaction };
}

/** Checks and simulates the change: the position as it will be, and the order, null if nothing changes. Nothing is stored. */
export async function prepareLeverage(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  change: LeverageChange,
): Promise<{ readonly position: Position; readonly checked: CheckedOrder | null }> {
  const { position, made } = await onPosition(gateway, venue, caller, id, async (figures) => {
    const leverage = plan(venue, caller, figures, change);
    if (leverage === figures.leverage) return { leverage, write: null, fees: null };
    // Started in the same turn of the event loop, so that both go into one RPC batch.
    const [write, fees] = await Promise.all([
      prepare(gateway, venue, caller, figures, leverage),
      fromNode(venue.chain.updateFees(caller.trader, figures)),
    ]);
    return { leverage, write, fees };
  });
  const { leverage, write, fees } = made;
  const { figures, own, place } = position;
  if (write === null) return { position: positionOf(venue, own, place), checked: null };
  refuse(venue, position, { leverage, fees }, write);
  const collateralAmount = collateralAtLeverage(figures, leverage);
  const moved = collateralAmount - figures.collateralAmount;
  const part = { action: 'leverage' as const, leverage, collateralAmount: moved < 0n ? -moved : moved, sizeCollateral: 0n, sizeToken: 0n };
  const sl = storedSl(venue, position, { sl: figures.sl, leverage });
  const times = { now: venue.clock.now(), expiresAt: write.transaction.expiresAt };
  const order = positionOrder(caller, figures, { ...part, slippageP: closingSlippage(figures) }, times);
  return {
    position: positionOf(venue, { ...own, trade: { ...own.trade, collateralAmount, leverage: Number(leverage), sl } }, place),
    checked: { write, draft: draftOf(gateway, venue, caller, { order, write, spend: null }) },
  };
}

function plan(venue: Venue, { scope }: AgentCaller, figures: PositionFigures, change: LeverageChange): bigint {
  const market = marketName(venue.feed.config(), figures.pairIndex);
  checkMarket(scope, market);
  const leverage =
    'leverage' in change
      ? exactUnits('leverage', change.leverage, LEVERAGE_DECIMALS)
      : leverageFor(figures, collateralAt(venue, figures), change.collateral);
  if (leverage < MIN_LEVERAGE || leverage > MAX_LEVERAGE) throw outOfRange(venue, figures, leverage);
  checkLeverage(scope, decimal(leverage, LEVERAGE_DECIMALS));
  const session = venue.feed.session(figures.pairIndex, venue.clock.now());
  if (session === 'closed' || session === 'close_only') throw new GatewayError('MARKET_CLOSED', { market, session });
  return leverage;
}

/** Leverage has three decimals, so amounts come in steps; the amount is rounded down to the next step. */
export function leverageFor(
  figures: Pick<PositionFigures, 'collateralAmount' | 'leverage'>,
  collateral: Collateral,
  { action, amount }: Extract<LeverageChange, { collateral: unknown }>['collateral'],
): bigint {
  const units = exactUnits('collateral.amount', amount, collateral.decimals);
  const { collateralAmount: held, leverage } = figures;
  if (units <= 0n) throw invalid('collateral.amount', 'must be above 0');
  if (action === 'remove' && units >= held)
    throw invalid(
      'collateral.amount',
      `must be below ${formatDecimal(decimal(held, collateral.decimals))}, the collateral of the position`,
    );
  const wanted = action === 'add' ? held + units : held - units;
  const stepped = divideInteger(held * leverage, wanted, action === 'add' ? 'up' : 'down');
  if (stepped === leverage) throw belowStep(figures, collateral, { units, action });
  return stepped;
}

/** Reports the minimum amount that changes the leverage by one step. */
function belowStep(
  figures: Pick<PositionFigures, 'collateralAmount' | 'leverage'>,
  collateral: Collateral,
  { units, action }: { readonly units: bigint; readonly action: 'add' | 'remove' },
): GatewayError {
  const { collateralAmount: held, leverage } = figures;
  const next = (held * leverage) / (action === 'add' ? leverage - 1n : leverage + 1n);
  const minimum = action === 'add' ? next - held : held - next;
  const usd = (amount: bigint): string => formatDecimal(decimal(collateralToUsd(amount, collateral), 18));
  return new GatewayError('SIZE_BELOW_MINIMUM', { collateralUsd: usd(units), minCollateralUsd: usd(minimum) });
}

function prepare(gateway: Gateway, venue: Venue, caller: AgentCaller, figures: PositionFigures, leverage: bigint): Promise<PreparedWrite> {
  const amount = collateralAtLeverage(figures, leverage) - figures.collateralAmount;
  const takes = amount > 0n ? { collateral: collateralAt(venue, figures), amount } : null;
  return prepareTransaction(gateway, venue, caller, { intent: { kind: 'leverage', tradeIndex: figures.tradeIndex, leverage }, takes });
}

/**
 * A leverage above the market's maximum is reported as LEVERAGE_OUT_OF_RANGE; the contract itself compares the effective leverage at the
 * oracle's price. In a disabled market no leverage is allowed, so that is reported as MARKET_CLOSED.
 */
function refuse(venue: Venue, position: HeldPosition, wanted: Wanted, write: PreparedWrite): void {
  const { figures } = position;
  const { leverage } = wanted;
  const foreseen = foreseeLeverage(venue, position, wanted);
  if (foreseen?.reason === 'MAX_LEVERAGE' && leverage > maxLeverage(venue, figures)) {
    const session = venue.feed.session(figures.pairIndex, venue.clock.now());
    if (session !== 'disabled') throw outOfRange(venue, figures, leverage);
    throw new GatewayError('MARKET_CLOSED', { market: marketName(venue.feed.config(), figures.pairIndex), session });
  }
  refuseForeseen(foreseen, write);
}

interface Wanted {
  readonly leverage: bigint;
  /** null where this Diamond does not provide them; then the fee of the change is not counted. */
  readonly fees: UpdateFees | null;
}

/** Includes the fee of the change, which the contract counts too and which decides close to the limit. */
const foreseeLeverage = (venue: Venue, position: HeldPosition, { leverage: newLeverage, fees }: Wanted): Foreseen | null =>
  foresee(venue, position, (context, { trade, account }) => {
    const terms = fees === null ? context.terms : { ...context.terms, feeMultiplier: fees.feeMultiplier };
    const request = { trade, account, newLeverage, govFeeP: fees?.govFeeP ?? 0n };
    return { reason: predictLeverageUpdate({ ...context, terms }, request).cancelReason, figures: [] };
  });

export function maxLeverage({ feed }: Venue, { pairIndex }: PositionFigures): bigint {
  const config = feed.config();
  const pair = config.pairs[pairIndex];
  const group = pair && config.groups.find(({ index }) => index === pair.groupIndex);
  return pair && group ? maxLeverageOf(pair, group) : MAX_LEVERAGE;
}

export function outOfRange(venue: Venue, figures: PositionFigures, leverage: bigint): GatewayError {
  const text = (units: bigint): string => formatDecimal(decimal(units, LEVERAGE_DECIMALS));
  return new GatewayError('LEVERAGE_OUT_OF_RANGE', {
    leverage: text(leverage),
    min: text(MIN_LEVERAGE),
    max: text(maxLeverage(venue, figures)),
  });
}
