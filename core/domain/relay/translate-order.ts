import type { OpenIntent, ProtectIntent } from '../intent.js';
import { floorToLot } from '../lot.js';
import { collateralForBaseSize } from '../pricing/size.js';
import type { OrderType } from '../order.js';
import type { ExchangeOrder, Leg, NettedTrade, Translation, TranslationContext, TranslationRefusal } from './exchange-order.js';
import { closingRoom, levelRoom } from './level-room.js';
import { boundBy, roomTo, type PriceBound } from './price-bound.js';

/**
 * What an order of an order-book exchange means on the Diamond: a pure function of the order and what was known when it came, so that
 * the relayer, and anybody with the proof, can repeat it. An order against a position closes its trades, oldest first; what is left of
 * it opens the other side. Nothing is ever done at a price worse than the limit.
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
/** With the sizes that would do: those of the oldest trade, of the two oldest, and so on to all of the position. */
const refusedPart = (trades: readonly NettedTrade[], context: TranslationContext): Translation => ({
  kind: 'refused',
  why: 'partial-protection',
  sizes: trades.map((_, at) => shown(sum(trades.slice(0, at + 1)), context)),
});
const isWithinLimit = ({ isBuy, limit }: ExchangeOrder, price: bigint): boolean => (isBuy ? price <= limit : price >= limit);
const isAgainst = ({ isBuy }: ExchangeOrder, { long }: NettedTrade): boolean => long !== isBuy;
/** What the market shows of a size. */
const shown = (size: bigint, { sizeStep, halfLot }: TranslationContext): bigint =>
  halfLot === undefined ? size - (size % sizeStep) : floorToLot(size, sizeStep);
const sum = (trades: readonly NettedTrade[]): bigint => trades.reduce((total, { sizeBase }) => total + sizeBase, 0n);

const excessOf = (trades: readonly NettedTrade[]): bigint =>
  trades.reduce((total, { excess = 0n, sizeBase }) => total + (excess < sizeBase ? excess : sizeBase), 0n);

/** At once, within the limit: closes, then opens. */
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
  /** What is left of the order. */
  readonly asked: bigint;
  /** What the collateral is reckoned for. */
  readonly sized: bigint;
}

/**
 * What is left to open after the order has closed so much of the other side. The position is aimed at the middle of the lot that was asked
 * for: digits of earlier trades that are not shown count towards it, so that half lots do not add up.
 */
function sizeToOpen(order: ExchangeOrder, context: TranslationContext, closed: bigint): OpeningSize {
  const { halfLot, sizeStep, trades } = context;
  if (halfLot === undefined) return { asked: order.size - closed, sized: order.size - closed };
  const held = trades.reduce((total, trade) => (isAgainst(order, trade) ? total - trade.sizeBase : total + trade.sizeBase), 0n);
  const aim = shown(held, context) + order.size;
  const asked = aim - shown(held + closed, context);
  // Nothing but half a lot is ever added to what was asked for.
  if (halfLot !== sizeStep / 2n || aim === 0n) return { asked, sized: asked };
  return { asked, sized: aim + (aim > 0n ? halfLot : -halfLot) - held - closed };
}

function openingBound({ limit, isBuy }: ExchangeOrder, { oracle, maxSlippageP }: TranslationContext): PriceBound {
  const room = roomTo(limit, oracle, isBuy, maxSlippageP);
  // A limit beyond all the contract allows says "at any price": the price it expects stays one that can be expected.
  return room === maxSlippageP ? { expectedPrice: oracle, slippageP: room } : boundBy(limit, isBuy, room);
}

function closeOldestFirst(order: ExchangeOrder, context: TranslationContext, trades: readonly NettedTrade[]): Leg[] {
  // An order for what was shown means all of it, and so does one that leaves no more than was opened beyond earlier orders.
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
 * A part, unless what would stay is too little to show or to pay its fees with. The contract has one closing slippage per trade, which
 * its stop loss lives on: the limit is met by the price that is expected, and the slippage stays what it was.
 */
function closeLeg({ limit, isBuy }: ExchangeOrder, { sizeStep }: TranslationContext, trade: NettedTrade, size: bigint): Leg {
  const { expectedPrice, slippageP } = boundBy(limit, isBuy, closingRoom(trade));
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

/** Waits for its price: against a position as the take profit of whole trades, the rest as a limit order. */
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

/** The oldest trades that the order covers entirely; null when it would end inside one: the contract closes whole trades at a price, no parts. */
function coveredWhole(order: ExchangeOrder, context: TranslationContext, trades: readonly NettedTrade[]): readonly NettedTrade[] | null {
  if (order.size === 0n || order.size + excessOf(trades) >= shown(sum(trades), context)) return trades;
  let covered = 0n;
  for (const [at, { sizeBase }] of trades.entries()) {
    if (order.size - covered < context.sizeStep) return trades.slice(0, at);
    if (order.size - covered < shown(sizeBase, context)) return null;
    covered += sizeBase;
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

/** A stop loss or take profit of the position. */
function protectBy(order: ExchangeOrder, context: TranslationContext, { trigger, tpsl }: Trigger): Translation {
  const opposite = context.trades.filter((trade) => isAgainst(order, trade));
  if (opposite.length === 0) return refused('reduce-only');
  const fires = ({ mark = context.mark }: NettedTrade): boolean => !waits(order, mark, trigger, tpsl);
  if (opposite.every(fires)) return refused('bad-trigger');
  const covered = coveredWhole(order, context, opposite);
  if (covered === null || covered.length === 0) return refusedPart(opposite, context);
  if (covered.some(fires)) return refused('bad-trigger');
  const room = levelRoom(order, context.maxSlippageP);
  const level = tpsl === 'tp' ? { tp: trigger, sl: null } : { tp: null, sl: trigger };
  // Never less than the other level of the position was given; and never while a close waits, whose bound was reckoned with what it has.
  const levelsOf = (trade: NettedTrade): Levels => (room > closingRoom(trade) && !trade.isBusy ? { ...level, slippageP: room } : level);
  return { kind: 'legs', manner: 'protection', legs: covered.map((trade) => protectLeg(trade, levelsOf(trade))) };
}

/** An entry on a trigger: a stop in the direction of the market, a limit against it. */
function enterOn(order: ExchangeOrder, context: TranslationContext, { trigger, tpsl }: Trigger): Translation {
  if (order.size < context.sizeStep) return refused('zero-size');
  if (!waits(order, context.mark, trigger, tpsl)) return refused('bad-trigger');
  if (order.isBuy ? order.limit < trigger : order.limit > trigger) return refused('bad-trigger');
  const room = roomTo(order.limit, trigger, order.isBuy, context.maxSlippageP);
  // A limit at the trigger itself leaves no room for the spread: then the trigger gives way, not the limit.
  const isRoomy = room >= context.cushionP;
  const size = sizeToOpen(order, context, 0n);
  const bound = isRoomy ? { expectedPrice: trigger, slippageP: room } : boundBy(order.limit, order.isBuy, context.cushionP);
  return { kind: 'legs', manner: 'resting', legs: [openLeg(order, context, size, tpsl === 'sl' ? 'stop' : 'limit', bound)] };
}

/** Whether the trigger lies ahead: a stop fires when the market moves on in the order's direction, a take profit when it comes back. */
function waits({ isBuy }: ExchangeOrder, mark: bigint, trigger: bigint, tpsl: 'tp' | 'sl'): boolean {
  const firesAbove = (tpsl === 'sl') === isBuy;
  return firesAbove ? mark < trigger : mark > trigger;
}
