import { CHAINS } from './calls.mjs';
import {
  checkBound,
  checkNearness,
  checkPredicted,
  distanceOf,
  floorToLot,
  isAgainst,
  isPrice,
  ordersOf,
  price,
  sizeOf,
  sum,
  units,
} from './figures.mjs';
import { isSame } from './signatures.mjs';

/** `openTrade`: every field of it follows from the signed order, the signed leverage and the chain. */

const NO_REFERRER = '0x0000000000000000000000000000000000000000';
const [MARKET, LIMIT, STOP] = [0, 1, 2];

export function checkOpening([trade, slippageP, referrer], order, signed, check) {
  const { action, item, context, multiplier, proof, kind, expected } = signed;
  check(isSame(trade.user, proof.trader), 'it opens for another trader');
  check(!order.r, 'it opens, and the order may only reduce');
  check(
    isSame(referrer, context.referrer ?? NO_REFERRER),
    `it names ${referrer} as the referrer, the context ${context.referrer ?? 'none'}`,
  );
  check(trade.pairIndex === order.a, `it trades asset ${trade.pairIndex}, signed was ${order.a}`);
  check(trade.long === order.b, 'it trades the other side');
  check(!trade.isCounterTrade, 'it opens a counter trade, which no order asks for');
  const isPlain = trade.index === 0 && trade.isOpen && trade.positionSizeToken === 0n && trade.__placeholder === 0;
  check(isPlain, 'it fills in fields of the trade that no order sets');
  const collateral = expected.collateral ?? CHAINS[proof.chainId]?.collateral;
  check(trade.collateralIndex === collateral, `it takes the collateral ${trade.collateralIndex}, and bots trade with ${collateral}`);
  const precision = precisionOf(collateral, proof);
  const said = units(context.collateral.precision);
  check(precision === null || said === precision, `a unit of the collateral ${collateral} is ${precision}, the context says ${said}`);
  checkLeverage(BigInt(trade.leverage), order, signed, check);
  checkPrice(trade, BigInt(slippageP), order, { context, multiplier, rests: kind === 'replace' || signed.isLeftToRest === true }, check);
  if (trade.tradeType === MARKET) checkPredicted(units(context.predicted), trade.openPrice, BigInt(slippageP), order, multiplier, check);
  checkTriggers(trade, triggersFor(action, item, order, signed), multiplier, check);
  checkSize(trade, order, context, multiplier, check);
}

/** One unit of a collateral; null for one that only the reader named. */
export const precisionOf = (collateral, { chainId }) => {
  const known = CHAINS[chainId];
  return known?.collateral === collateral ? known.precision : null;
};

/** Markets of the contract ask for at most this leverage, 1e3. */
const HIGHEST_LEAST = 10_000n;
/** What the service takes where a trader set none, unless its operator says otherwise. */
export const USUAL_LEVERAGE = 5;

/** The leverage that the trader signed last, or the usual one, within the market's limits as the context says them. */
function checkLeverage(found, order, { context: { chosen }, leverage, expected }, check) {
  check(chosen?.action == null || leverage !== null, 'the action that set the leverage is missing');
  if (leverage !== null) {
    const { type, asset, a } = leverage.action;
    check(type === 'updateLeverage' && (asset ?? a) === order.a, 'the action that set the leverage is about something else');
  }
  const times = leverage === null ? (expected.usualLeverage ?? USUAL_LEVERAGE) : leverage.action.leverage;
  const signed = BigInt(times) * 1000n;
  const [least, most] = chosen === undefined ? [0n, signed] : [units(chosen.least), units(chosen.most)];
  check(least <= HIGHEST_LEAST, `no market asks for a leverage of ${least} (1e-3 units)`);
  const wanted = signed < least ? least : signed > most ? most : signed;
  const whose = leverage === null ? 'none was signed, and the usual one is' : 'signed was';
  check(found === wanted, `it has the leverage ${found}, ${whose} ${wanted} (1e-3 units)`);
}

/** The contract's most slippage: with it a market order is bound by the oracle's price instead of its limit. */
const MOST_SLIPPAGE = 65_000n;

/** The kind of the order, and where it is executed. */
function checkPrice({ tradeType, openPrice }, slippageP, order, { context, multiplier, rests }, check) {
  checkBound(openPrice, slippageP, order, multiplier, check);
  const { trigger, limit } = order.t;
  if (trigger) {
    check(tradeType === (trigger.tpsl === 'sl' ? STOP : LIMIT), 'it is another kind of order than was signed');
    // A limit too close to its trigger leaves no slippage for the spread; then the trigger is moved, not the limit.
    if (distanceOf(order) < units(context.cushionP)) checkNearness(openPrice, slippageP, order, multiplier, check);
    else check(isPrice(openPrice, trigger.triggerPx, multiplier), `its trigger is ${openPrice}, signed was ${trigger.triggerPx}`);
    return;
  }
  const kinds = { Gtc: rests ? [LIMIT] : [MARKET, LIMIT], Alo: [LIMIT] }[limit?.tif] ?? (rests ? [] : [MARKET]);
  check(kinds.includes(tradeType), 'it is another kind of order than was signed');
  const isAtOracle = tradeType === MARKET && slippageP === MOST_SLIPPAGE && openPrice === units(context.oracle);
  if (!isAtOracle) checkNearness(openPrice, slippageP, order, multiplier, check);
}

/** The TP/SL that came with the order, as far as the contract can have them: on its market, on the other side, for its whole size. */
function triggersFor(action, item, order, { context, multiplier }) {
  if (action.type !== 'order' || action.grouping !== 'normalTpsl' || item !== 0) return [];
  const lot = units(context.sizeStep) / multiplier;
  return ordersOf(action)
    .slice(1)
    .filter(({ a, b, s, t }) => t.trigger && a === order.a && b !== order.b && (/^[0.]*$/.test(s) || price(s) === price(order.s)))
    .filter(({ p, t }) => [p, t.trigger.triggerPx].every((text) => isOnTick(text, lot)));
}

/** Five significant figures, and six decimals less those of the lot; whole numbers always. */
function isOnTick(text, lot) {
  const [whole, fraction = ''] = text.split('.');
  const decimals = fraction.replace(/0+$/, '');
  const digits = (whole + decimals).replace(/^0+/, '');
  return decimals === '' || (digits.length <= 5 && decimals.length <= 6 - (19 - String(lot).length));
}

/** A stop loss that was signed is never left out. A take profit is, if it has the id of an order that is open: the answer says so. */
function checkTriggers({ tp, sl }, triggers, multiplier, check) {
  const of = (kind) => triggers.filter(({ t }) => t.trigger.tpsl === kind);
  const isOneOf = (found, orders) => orders.some(({ t }) => isPrice(found, t.trigger.triggerPx, multiplier));
  const isLeftOut = (found, orders) => found === 0n && orders.every(({ c }) => c);
  check(sl === 0n ? of('sl').length === 0 : isOneOf(sl, of('sl')), `it opens with the stop loss ${sl}, which was not signed`);
  check(isOneOf(tp, of('tp')) || isLeftOut(tp, of('tp')), `it opens with the take profit ${tp}, which was not signed`);
}

function checkSize(trade, order, context, multiplier, check) {
  const { collateral, predicted } = context;
  const at = trade.tradeType === MARKET ? units(predicted) : trade.openPrice;
  const worth = (collateralAmount) =>
    (collateralAmount * BigInt(trade.leverage) * units(collateral.priceUsd) * 10n ** 28n) /
    (units(collateral.precision) * 1000n * 10n ** 8n * at);
  const signed = sizedFor(order, sum(nettedBefore(trade, order, context)), context, multiplier);
  const base = worth(trade.collateralAmount);
  check(base <= signed, `it is larger than was signed: ${base} > ${signed} (1e-18 units)`);
  check(worth(trade.collateralAmount + 1n) >= signed, `it is smaller than was signed: ${base} < ${signed} (1e-18 units)`);
}

/**
 * The remaining size of the order after closing `closed`. With half a lot in the context, the position targets the middle of the signed
 * lot, including the digits that earlier trades do not show: never more than half a lot beyond it.
 */
function sizedFor(order, closed, { halfLot, sizeStep, trades }, multiplier) {
  const signed = sizeOf(order, multiplier);
  if (halfLot === undefined) return signed - closed;
  const step = units(sizeStep);
  const held = trades.reduce((total, trade) => total + (isAgainst(order, trade) ? -units(trade.sizeBase) : units(trade.sizeBase)), 0n);
  const aim = floorToLot(held, step) + signed;
  const half = step / 2n;
  if (units(halfLot) !== half || aim === 0n) return aim - floorToLot(held + closed, step);
  return aim + (aim > 0n ? half : -half) - held - closed;
}

/** What the order closes of the other side before it opens: a market order the free trades, a resting order all; a trigger nothing. */
function nettedBefore({ tradeType }, order, { trades }) {
  if (order.t.trigger) return [];
  return trades.filter((trade) => isAgainst(order, trade) && (tradeType !== MARKET || !trade.isBusy));
}
