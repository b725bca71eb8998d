import type { AgentCaller } from '../access/caller.js';
import { tradePricing, type TradePricing } from '../account/trade-pricing.js';
import { marketName, type Collateral } from '../domain/market.js';
import { decimal, formatDecimal } from '../domain/decimal.js';
import { newlyPrepared, reduces, type Order, type OrderAction, type CancelReason } from '../domain/order.js';
import { DEFAULT_CLOSING_SLIPPAGE_P, type PriceContext } from '../domain/pricing/execution-price.js';
import { liquidationThresholdP } from '../domain/pricing/liquidation.js';
import { marketView, STANDARD_TERMS } from '../domain/pricing/market-view.js';
import { PriceRangeError } from '../domain/pricing/exposure.js';
import { positionSizeCollateral, tokensAtOpen } from '../domain/pricing/size.js';
import { clampStopLoss } from '../domain/pricing/fees.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import { PRICE_DECIMALS, currentPrice } from './order-request.js';
import type { HeldPosition, PositionFigures } from './find-position.js';
import { reasonOf } from './precheck-callback.js';
import type { PreparedWrite } from './prepare-transaction.js';

/** Common parts of orders that change an existing position. */

export type PositionPart = Pick<Order, 'leverage' | 'collateralAmount' | 'sizeCollateral' | 'sizeToken' | 'slippageP' | 'asked'> & {
  readonly action: Exclude<OrderAction, 'open'>;
  /** Of an increase, as the client named it; absent where it did not. */
  readonly price?: bigint | undefined;
};

/** An order on the given position; a close has the opposite side. */
export function positionOrder(
  { trader }: AgentCaller,
  figures: PositionFigures,
  { price = 0n, ...part }: PositionPart,
  { now, expiresAt }: { readonly now: number; readonly expiresAt: number },
): Order {
  const reduceOnly = reduces(part.action);
  return {
    trader,
    ...part,
    type: 'market',
    pairIndex: figures.pairIndex,
    collateralIndex: figures.collateralIndex,
    long: reduceOnly ? !figures.long : figures.long,
    reduceOnly,
    price,
    tp: 0n,
    sl: 0n,
    tradeIndex: figures.tradeIndex,
    clientId: null,
    ...newlyPrepared(now, expiresAt),
  };
}

/** The slippage of a close without its own slippage. */
export const closingSlippage = ({ slippageP }: PositionFigures): bigint => slippageP || DEFAULT_CLOSING_SLIPPAGE_P;

/** 1e18; trades from before v10 store no token size on chain, so it is computed from the opening. */
export function tokensHeld({ feed }: Venue, figures: PositionFigures): bigint {
  const { sizeToken, collateralIndex, openPrice } = figures;
  const precision = feed.config().collaterals.find(({ index }) => index === collateralIndex)?.precision;
  if (sizeToken > 0n || precision === undefined) return sizeToken;
  return tokensAtOpen({ sizeCollateral: positionSizeCollateral(figures), openPrice, precision });
}

export function collateralAt(
  venue: Venue,
  { collateralIndex, pairIndex }: Pick<PositionFigures, 'collateralIndex' | 'pairIndex'>,
): Collateral {
  const config = venue.feed.config();
  const found = config.collaterals.find(({ index }) => index === collateralIndex);
  if (!found) throw new GatewayError('NOT_READY', { reason: 'the collateral is not described yet', market: marketName(config, pairIndex) });
  return found;
}

/** A predicted refusal, and the two compared prices (1e10) where there are two. */
export interface Foreseen {
  readonly reason: CancelReason;
  readonly figures: readonly bigint[];
}

export interface PricedPosition {
  readonly context: PriceContext;
  readonly pricing: TradePricing;
}

/** Inputs of the predictions of what the oracle's callback does with a position; null where the market is not described. */
export function pricedPosition(venue: Venue, { own, figures, place }: HeldPosition): PricedPosition | null {
  const view = marketView(venue.feed.config(), figures);
  if (view === null) return null;
  const oraclePrice = currentPrice(venue, figures.pairIndex).oracle;
  const pricing = tradePricing(view, own, { block: place.block, oraclePrice });
  const moment = { timestamp: place.block.timestamp, block: place.block.number };
  // The trader's own spread is already part of the pair's.
  return { pricing, context: { market: pricing.market, terms: STANDARD_TERMS, moment, oraclePrice } };
}

/** Predicts the oracle's callback at the current state; null where it would accept, or no prediction is possible. */
export function foresee(
  venue: Venue,
  position: HeldPosition,
  predict: (context: PriceContext, pricing: TradePricing) => Foreseen,
): Foreseen | null {
  const priced = pricedPosition(venue, position);
  if (priced === null) return null;
  try {
    const foreseen = predict(priced.context, priced.pricing);
    return foreseen.reason === 'NONE' ? null : foreseen;
  } catch (error) {
    if (error instanceof PriceRangeError) return null;
    throw error;
  }
}

/** Rejects a request that would be mined, cost a fee, and change nothing. */
export function refuseForeseen(foreseen: Foreseen | null, { inner }: PreparedWrite): void {
  const errorName = foreseen && reasonOf({ cancelReason: foreseen.reason });
  if (!errorName) return;
  const args = foreseen.figures.map((price) => formatDecimal(decimal(price, PRICE_DECIMALS)));
  throw new GatewayError('SIMULATION_REVERTED', { errorName, args, calldata: inner, stage: 'callback' });
}

export const undescribed = ({ feed }: Venue, { pairIndex }: Pick<PositionFigures, 'pairIndex'>): GatewayError =>
  new GatewayError('NOT_READY', { reason: 'the market is not described yet', market: marketName(feed.config(), pairIndex) });

/** The stop loss that the contract will store; it clamps silently, so the answer shows the clamped value. */
export function storedSl(venue: Venue, { own, figures }: HeldPosition, wanted: { readonly sl: bigint; readonly leverage: bigint }): bigint {
  const config = venue.feed.config();
  const pair = config.pairs[figures.pairIndex];
  const fees = pair && config.fees.find(({ index }) => index === pair.feeIndex);
  if (!fees) throw undescribed(venue, figures);
  const thresholdP = liquidationThresholdP(own.liquidation, wanted.leverage);
  return clampStopLoss({ ...figures, ...wanted, feeP: fees.totalPositionSizeFeeP, thresholdP });
}
