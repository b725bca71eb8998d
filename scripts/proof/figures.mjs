/** Figures of orders and trades, as the texts of an action and the JSON of a context write them. */

export const units = (field) => BigInt(field.$n);

/** 1e10. */
export const price = (text) => {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(10, '0').slice(0, 10));
};

/** 1e18, as for trades. */
export const sizeOf = (order, multiplier) => price(order.s) * multiplier * 10n ** 8n;

/** Whether the contract's price is the one of the text: of an asset that is counted in thousands it has fewer digits. */
export const isPrice = (found, text, multiplier) => {
  const away = found * multiplier - price(text);
  return away < multiplier && -away < multiplier;
};

export const sum = (trades) => trades.reduce((total, { sizeBase }) => total + units(sizeBase), 0n);
export const isAgainst = (order, { long }) => long !== order.b;

const LONG_NAMES = { asset: 'a', isBuy: 'b', limitPx: 'p', sz: 's', reduceOnly: 'r', orderType: 't', cloid: 'c' };
const short = (order) => order && Object.fromEntries(Object.entries(order).map(([key, value]) => [LONG_NAMES[key] ?? key, value]));

/** The orders of an action. Older clients write the keys out; a TP/SL of a position never opens one, whatever its flag says. */
export function ordersOf({ type, orders, order, modifies, grouping }) {
  if (type === 'modify') return [short(order)];
  if (type === 'batchModify') return modifies.map((each) => short(each.order));
  return (orders ?? []).map((each) => ({ ...short(each), ...(grouping === 'positionTpsl' && { r: true }) }));
}
export const orderOf = (action, item) => ordersOf(action)[action.type === 'modify' ? 0 : item];

/** What trades hold beyond the orders that opened them is closed with the last part of the request. */
export const leavesExcess = (order, trades, step, multiplier) =>
  sizeOf(order, multiplier) + trades.reduce((total, trade) => total + excessOf(trade), 0n) >= floorToLot(sum(trades), step);
const excessOf = ({ excess, sizeBase }) => (excess === undefined ? 0n : units(excess) < units(sizeBase) ? units(excess) : units(sizeBase));

/** The displayed size: rounded to ten decimals, then down to the lot; a non-zero size below one lot counts as one lot. */
export function floorToLot(size, lot) {
  const noise = 10n ** 8n;
  const half = size < 0n ? -(noise / 2n) : noise / 2n;
  const exact = ((size + half) / noise) * noise;
  const floored = (exact / lot) * lot;
  return floored !== 0n || exact === 0n ? floored : exact < 0n ? -lot : lot;
}

const DOLLAR = 10n ** 8n;
/** Whether a stablecoin's price is one that it has on a usual day: within two percent of a dollar. */
export const isDollar = (priceUsd) => priceUsd * 50n >= DOLLAR * 49n && priceUsd * 50n <= DOLLAR * 51n;

export const DEFAULT_SLIPPAGE = 1_000n;
const MARKET_SLIPPAGE = 10_000n;

/** From a level to its limit, in thousandths of a percent. */
export const distanceOf = ({ b: isBuy, p, t: { trigger } }) => {
  const [limit, level] = [price(p), price(trigger.triggerPx)];
  return ((isBuy ? limit - level : level - limit) * 100_000n) / level;
};

/** The closing slippage of a level: from its limit, and never below the contract's default. */
export function slippageOf(order) {
  const away = distanceOf(order);
  const slippageP = away <= 0n && order.t.trigger.isMarket ? MARKET_SLIPPAGE : away;
  return slippageP < DEFAULT_SLIPPAGE ? DEFAULT_SLIPPAGE : slippageP;
}

/** The contract's worst price, in the asset's units. */
export function checkBound(expected, slippageP, order, multiplier, check) {
  const away = (expected * slippageP) / 100_000n;
  const worst = (order.b ? expected + away : expected - away) * multiplier;
  const limit = price(order.p);
  check(order.b ? worst <= limit : worst >= limit, `the price may be worse than was signed: ${worst} against ${limit}`);
}

/** Both divisions round, each by less than one. */
const ROUNDED = 3n;

/** Spread and impact may also better a price, as in a market that leans to the other side: by this at most, however near the limit is. */
const BETTER_BY = 5_000n;

/** The price that a market order is sized by: none that its limit rules out, and no farther from the expected one than the call allows. */
export function checkPredicted(predicted, expected, slippageP, order, multiplier, check) {
  const limit = price(order.p);
  const isWithin = order.b ? (predicted - 1n) * multiplier < limit : (predicted + 1n) * multiplier > limit;
  check(isWithin, `it is sized by the price ${predicted}, which is worse than was signed: ${limit}`);
  const away = predicted > expected ? predicted - expected : expected - predicted;
  const most = (expected * (slippageP > BETTER_BY ? slippageP : BETTER_BY)) / 100_000n + ROUNDED;
  check(away <= most, `it is sized by the price ${predicted}, and expects ${expected}`);
}

/** A price must be as near to the limit as integers allow: with another limit or other units it would not be. */
export function checkNearness(expected, slippageP, { b: isBuy, p }, multiplier, check) {
  const nearer = isBuy ? expected + ROUNDED : expected - ROUNDED;
  const away = (nearer * slippageP) / 100_000n;
  const worst = isBuy ? nearer + away : nearer - away;
  const limit = isBuy ? price(p) / multiplier : (price(p) + multiplier - 1n) / multiplier;
  check(isBuy ? worst > limit : worst < limit, `the price is not the one that was signed: ${worst} against ${limit}`);
}
