import type { OpenIntent, ProtectIntent } from '../intent.js';
import { floorToLot, divideInteger } from '../decimal.js';
import { collateralForBaseSize } from '../pricing/size.js';
import type { OrderType } from '../order.js';
import type { ExchangeOrder, Leg, NettedTrade, Translation, TranslationContext, TranslationRefusal } from './exchange-order.js';
import { DEFAULT_CLOSING_SLIPPAGE_P, worstPrice } from '../pricing/execution-price.js';
import type { CollateralUnits } from '../pricing/market-view.js';
import { E8 } from '../pricing/units.js';

/**
 * Translates an order of an order-book exchange to Diamond intents: a pure function of the order and the stored context, so that the relayer, or
 * a client with the proof, can repeat it. An order against a position closes its trades, oldest first; the rest opens the other side.
 * Nothing is executed at a price worse than the limit.
 */
export function translateOrder(order: ExchangeOrder, context: TranslationContext): Translation {
  const { style } = order;
  if (style.kind === 'trigger') return order.reduceOnly ? protectBy(order, context, style) : enterOn(order, context, style);
  if (order.size < context.sizeStep) return refused('zero-size');
  const isMarketable = isWithinLimit(order, context.predicted);
  switch (style.tif) {
    case 'Alo':
      return isMarketable ? refused('post-only') : rest(order, context);
    case 'Gtc':
      return isMarketable ? execute(order, context) : rest(order, context);
    case 'Ioc':
    case 'FrontendMarket':
      return isMarketable ? execute(order, context) : refused('no-match');
  }
}

const refused = (why: TranslationRefusal): Translation => ({ kind: 'refused', why });
/** Includes the accepted sizes: the oldest trade, the two oldest, and so on up to the whole position. */
const refusedPart = (trades: readonly NettedTrade[], context: TranslationContext): Translation => ({
  kind: 'refused',
  why: 'partial-protection',
  sizes: trades.map((_, at) => shown(sum(trades.slice(0, at + 1)), context)),
});
const isWithinLimit = ({ isBuy, limit }: ExchangeOrder, price: bigint): boolean => (isBuy ? price <= limit : price >= limit);
const isAgainst = ({ isBuy }: ExchangeOrder, { long }: NettedTrade): boolean => long !== isBuy;
/** The size as shown in the market. */
const shown = (size: bigint, { sizeStep, halfLot }: TranslationContext): bigint =>
  halfLot === undefined ? size - (size % sizeStep) : floorToLot(size, sizeStep);
const sum = (trades: readonly NettedTrade[]): bigint => trades.reduce((total, { sizeBase }) => total + sizeBase, 0n);

const excessOf = (trades: readonly NettedTrade[]): bigint =>
  trades.reduce((total, { excess = 0n, sizeBase }) => total + (excess < sizeBase ? excess : sizeBase), 0n);

/** Executed at once within the limit: closes first, then opens. */
function execute(order: ExchangeOrder, context: TranslationContext): Translation {
  const opposite = context.trades.filter((trade) => isAgainst(order, trade));
  const free = opposite.filter(({ isBusy }) => !isBusy);
  if (order.reduceOnly && opposite.length === 0) return refused('reduce-only');
  if (opposite.length > 0 && free.length === 0) return refused('busy');
  const closes = closeOldestFirst(order, context, free);
  const size = sizeToOpen(
    order,
    context,
    closes.reduce((total, { sizeBase }) => total + sizeBase, 0n),
  );
  const isOpening = !order.reduceOnly && size.asked >= context.sizeStep;
  const opens = isOpening ? [openLeg(order, context, size, 'market', openingBound(order, context))] : [];
  return { kind: 'legs', manner: 'market', legs: [...closes, ...opens] };
}

/** Base units, 1e18. */
interface OpeningSize {
  /** The remaining size of the order. */
  readonly asked: bigint;
  /** The size used to compute the collateral. */
  readonly sized: bigint;
}

/**
 * The size to open after the order has closed `closed` of the other side. The target is the middle of the requested lot: hidden digits of earlier
 * trades count towards it, so that half lots do not add up.
 */
function sizeToOpen(order: ExchangeOrder, context: TranslationContext, closed: bigint): OpeningSize {
  const { halfLot, sizeStep, trades } = context;
  if (halfLot === undefined) return { asked: order.size - closed, sized: order.size - closed };
  const held = trades.reduce((total, trade) => (isAgainst(order, trade) ? total - trade.sizeBase : total + trade.sizeBase), 0n);
  const aim = shown(held, context) + order.size;
  const asked = aim - shown(held + closed, context);
  // Only half a lot is ever added to the requested size.
  if (halfLot !== sizeStep / 2n || aim === 0n) return { asked, sized: asked };
  return { asked, sized: aim + (aim > 0n ? halfLot : -halfLot) - held - closed };
}

function openingBound({ limit, isBuy }: ExchangeOrder, { oracle, maxSlippageP }: TranslationContext): PriceBound {
  const slippageP = slippageTo(limit, oracle, isBuy, maxSlippageP);
  // A limit beyond the contract's maximum slippage means "at any price", so the oracle's price is expected.
  return slippageP === maxSlippageP ? { expectedPrice: oracle, slippageP } : boundBy(limit, isBuy, slippageP);
}

function closeOldestFirst(order: ExchangeOrder, context: TranslationContext, trades: readonly NettedTrade[]): Leg[] {
  // An order for the shown size closes everything, and so does one that would leave only the excess of earlier openings.
  if (order.size + excessOf(trades) >= shown(sum(trades), context))
    return trades.map((trade) => closeLeg(order, context, trade, trade.sizeBase));
  let left = order.size;
  return trades.flatMap((trade): Leg[] => {
    if (left < context.sizeStep) return [];
    const leg = closeLeg(order, context, trade, left < trade.sizeBase ? left : trade.sizeBase);
    left -= leg.sizeBase;
    return [leg];
  });
}

/**
 * Closes a part, or the whole trade if the rest would be below the lot or the minimum collateral. The contract has one closing slippage per
 * trade, which its stop loss uses too, so the limit is enforced by the expected price and the slippage is unchanged.
 */
function closeLeg({ limit, isBuy }: ExchangeOrder, { sizeStep }: TranslationContext, trade: NettedTrade, size: bigint): Leg {
  const { expectedPrice, slippageP } = boundBy(limit, isBuy, currentClosingSlippage(trade));
  const { tradeIndex, sizeBase, collateralAmount, minCollateral } = trade;
  const collateralDelta = size >= sizeBase ? collateralAmount : (collateralAmount * size) / sizeBase;
  const isWhole = sizeBase - size < sizeStep || collateralAmount - collateralDelta < minCollateral || collateralDelta === 0n;
  if (isWhole) return { role: 'close', intent: { kind: 'close', tradeIndex, expectedPrice, slippageP }, sizeBase };
  return { role: 'close', intent: { kind: 'decrease', tradeIndex, collateralDelta, expectedPrice, slippageP }, sizeBase: size };
}

function openLeg(order: ExchangeOrder, context: TranslationContext, size: OpeningSize, type: OrderType, bound: PriceBound): Leg {
  const { pairIndex, collateralIndex, collateral, leverage, tp, sl, referrer } = context;
  const price = type === 'market' ? context.predicted : bound.expectedPrice;
  const collateralAmount = collateralForBaseSize({ baseSize: size.sized, price, leverage, collateral, rounding: 'down' });
  const intent: OpenIntent = {
    kind: 'open',
    type,
    pairIndex,
    collateralIndex,
    long: order.isBuy,
    leverage,
    collateralAmount,
    price: bound.expectedPrice,
    tp,
    sl,
    slippageP: bound.slippageP,
    ...(referrer && { referrer }),
  };
  return { role: 'open', intent, sizeBase: size.asked };
}

/** A resting order: against a position it becomes the take profit of whole trades, the rest a limit order. */
function rest(order: ExchangeOrder, context: TranslationContext): Translation {
  const opposite = context.trades.filter((trade) => isAgainst(order, trade));
  if (order.reduceOnly && opposite.length === 0) return refused('reduce-only');
  const covered = coveredWhole(order, context, opposite);
  if (covered === null) return refusedPart(opposite, context);
  const protections = covered.map((trade) => protectLeg(trade, { tp: order.limit, sl: null }));
  const size = sizeToOpen(order, context, sum(covered));
  const isOpening = !order.reduceOnly && size.asked >= context.sizeStep;
  const entries = isOpening ? [openLeg(order, context, size, 'limit', boundBy(order.limit, order.isBuy, context.cushionP))] : [];
  return { kind: 'legs', manner: entries.length > 0 ? 'resting' : 'protection', legs: [...protections, ...entries] };
}

/** The oldest trades that the order covers entirely; null when it would cover only a part of one, because TP/SL close whole trades. */
function coveredWhole(order: ExchangeOrder, context: TranslationContext, trades: readonly NettedTrade[]): readonly NettedTrade[] | null {
  if (order.size === 0n || order.size + excessOf(trades) >= shown(sum(trades), context)) return trades;
  let covered = 0n;
  for (const [at, { sizeBase }] of trades.entries()) {
    if (order.size - covered < context.sizeStep) return trades.slice(0, at);
    covered += sizeBase;
    // As the accepted sizes are named: what is shown of the sum, not the sum with all its digits.
    if (order.size < shown(covered, context)) return null;
  }
  return trades;
}

type Levels = Pick<ProtectIntent, 'tp' | 'sl' | 'slippageP'>;

const protectLeg = ({ tradeIndex, sizeBase }: NettedTrade, levels: Levels): Leg => ({
  role: 'protect',
  intent: { kind: 'protect', tradeIndex, ...levels },
  sizeBase,
});

type Trigger = Extract<ExchangeOrder['style'], { kind: 'trigger' }>;

/** A stop loss or take profit of open trades. */
function protectBy(order: ExchangeOrder, context: TranslationContext, { trigger, tpsl }: Trigger): Translation {
  const opposite = context.trades.filter((trade) => isAgainst(order, trade));
  if (opposite.length === 0) return refused('reduce-only');
  const fires = ({ mark = context.mark }: NettedTrade): boolean => !waits(order, mark, trigger, tpsl);
  if (opposite.every(fires)) return refused('bad-trigger');
  const covered = coveredWhole(order, context, opposite);
  if (covered === null || covered.length === 0) return refusedPart(opposite, context);
  if (covered.some(fires)) return refused('bad-trigger');
  const slippageP = wantedClosingSlippage(order, context.maxSlippageP);
  const level = tpsl === 'tp' ? { tp: trigger, sl: null } : { tp: null, sl: trigger };
  // The slippage is only raised, because the other trigger uses it too, and never while a close is pending, whose price bound depends on it.
  const levelsOf = (trade: NettedTrade): Levels =>
    slippageP > currentClosingSlippage(trade) && !trade.isBusy ? { ...level, slippageP } : level;
  return { kind: 'legs', manner: 'protection', legs: covered.map((trade) => protectLeg(trade, levelsOf(trade))) };
}

/** An opening on a trigger: a stop in the direction of the market, a limit against it. */
function enterOn(order: ExchangeOrder, context: TranslationContext, { trigger, tpsl }: Trigger): Translation {
  if (order.size < context.sizeStep) return refused('zero-size');
  if (!waits(order, context.mark, trigger, tpsl)) return refused('bad-trigger');
  if (order.isBuy ? order.limit < trigger : order.limit > trigger) return refused('bad-trigger');
  const slippageP = slippageTo(order.limit, trigger, order.isBuy, context.maxSlippageP);
  // A limit too close to the trigger leaves no slippage for the spread; then the trigger is moved, not the limit.
  const isWideEnough = slippageP >= context.cushionP;
  const size = sizeToOpen(order, context, 0n);
  const bound = isWideEnough ? { expectedPrice: trigger, slippageP } : boundBy(order.limit, order.isBuy, context.cushionP);
  return { kind: 'legs', manner: 'resting', legs: [openLeg(order, context, size, tpsl === 'sl' ? 'stop' : 'limit', bound)] };
}

/** Whether the trigger is not reached yet: a stop fires when the market moves in the order's direction, a take profit when it moves back. */
function waits({ isBuy }: ExchangeOrder, mark: bigint, trigger: bigint, tpsl: 'tp' | 'sl'): boolean {
  const firesAbove = (tpsl === 'sl') === isBuy;
  return firesAbove ? mark < trigger : mark > trigger;
}

const PERCENT = 100_000n;
/** The maximum slippage ever sent to the contract, 1e3 percent. */
export const MAX_SLIPPAGE_P = 65_000n;

export interface PriceBound {
  readonly expectedPrice: bigint;
  /** 1e3 percent, at least the contract's smallest. */
  readonly slippageP: bigint;
}

/**
 * The contract bounds a price by an expected price and a slippage, an order-book exchange by a limit. Returns an expected price with the given
 * slippage below (above, for a sell) the limit, such that the contract's worst price never passes the limit.
 */
export function boundBy(limit: bigint, isBuy: boolean, wantedSlippageP: bigint): PriceBound {
  const slippageP = wantedSlippageP < 1n ? 1n : wantedSlippageP;
  const expectedPrice = isBuy
    ? (limit * PERCENT) / (PERCENT + slippageP)
    : (limit * PERCENT + (PERCENT - slippageP) - 1n) / (PERCENT - slippageP);
  return { expectedPrice: nearest({ expectedPrice, slippageP }, limit, isBuy), slippageP };
}

/** Both divisions round, so the price is moved one step to the safe side where it would pass the limit. */
function nearest({ expectedPrice, slippageP }: PriceBound, limit: bigint, isBuy: boolean): bigint {
  const worst = worstPrice({ expectedPrice, maxSlippageP: slippageP, long: isBuy, open: true });
  if (isBuy) return worst > limit ? expectedPrice - 1n : expectedPrice;
  return worst < limit ? expectedPrice + 1n : expectedPrice;
}

/** The slippage from a price to a limit, 1e3 percent; 0 when the limit is on the wrong side. */
export function slippageTo(limit: bigint, price: bigint, isBuy: boolean, mostP: bigint): bigint {
  const slippageP = isBuy ? ((limit - price) * PERCENT) / price : ((price - limit) * PERCENT) / price;
  return slippageP < 0n ? 0n : slippageP > mostP ? mostP : slippageP;
}

/** Slippage that an order-book exchange allows a market order after its trigger, 1e3 percent. */
const MARKET_SLIPPAGE_P = 10_000n;

type TriggerOrder = Pick<ExchangeOrder, 'isBuy' | 'limit' | 'style'>;

/**
 * Closing slippage of a take profit or stop loss, 1e3 percent: the distance from trigger to limit, at least the contract's default. A market
 * order whose limit is its trigger names no worst price, so it gets the exchange's default.
 */
export function wantedClosingSlippage({ isBuy, limit, style }: TriggerOrder, maxSlippageP: bigint): bigint {
  if (style.kind !== 'trigger') return DEFAULT_CLOSING_SLIPPAGE_P;
  const distance = slippageTo(limit, style.trigger, isBuy, maxSlippageP);
  const wanted = distance === 0n && style.isMarket === true ? MARKET_SLIPPAGE_P : distance;
  return wanted < DEFAULT_CLOSING_SLIPPAGE_P ? DEFAULT_CLOSING_SLIPPAGE_P : wanted;
}

/** The trade's closing slippage, or the contract's default if none is set. */
export const currentClosingSlippage = ({ slippageP }: { readonly slippageP: bigint }): bigint => slippageP || DEFAULT_CLOSING_SLIPPAGE_P;

/** The position whose margin is changed. */
export interface MarginContext {
  readonly tradeIndex: number;
  readonly collateralAmount: bigint;
  readonly leverage: bigint;
  readonly collateral: CollateralUnits;
}

const MICRO_USD = 1_000_000n;

/**
 * The leverage that adds this margin (millionths of a dollar, negative removes) to a position, rounded to a leverage step so that never more than
 * requested is moved. null where nothing of the position, or nothing of the amount, would be left.
 */
export function leverageForMargin(microUsd: bigint, { collateralAmount: held, leverage, collateral }: MarginContext): bigint | null {
  const isAdded = microUsd > 0n;
  const amount = (isAdded ? microUsd : -microUsd) * collateral.precision * E8;
  const units = divideInteger(amount, collateral.priceUsd * MICRO_USD, 'down');
  const wanted = isAdded ? held + units : held - units;
  if (wanted <= 0n || units === 0n) return null;
  const stepped = divideInteger(held * leverage, wanted, isAdded ? 'up' : 'down');
  return stepped === leverage ? null : stepped;
}
