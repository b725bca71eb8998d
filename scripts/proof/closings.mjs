import {
  checkBound,
  checkNearness,
  DEFAULT_SLIPPAGE,
  isAgainst,
  isPrice,
  leavesExcess,
  sizeOf,
  slippageOf,
  sum,
  units,
} from './figures.mjs';

/** Closes of trades, and the take profits and stop losses that close them later. */

/** Trades are closed whole, the oldest first, the last one partly; trades with a pending order are skipped. */
export function checkClosing({ functionName, args }, slippage, order, { context, multiplier }, check) {
  const { trades, pairIndex, sizeStep } = context;
  const [index] = args;
  const free = trades.filter((trade) => isAgainst(order, trade) && !trade.isBusy);
  const at = free.findIndex(({ tradeIndex }) => tradeIndex === index);
  check(at >= 0 && pairIndex === order.a, `it closes trade ${index}, which the order is not against`);
  const slippageP = BigInt(slippage?.args[1] ?? DEFAULT_SLIPPAGE);
  checkBound(args.at(-1), slippageP, order, multiplier, check);
  checkNearness(args.at(-1), slippageP, order, multiplier, check);
  if (at < 0) return;
  check(slippageP === (units(free[at].slippageP) || DEFAULT_SLIPPAGE), 'it changes how far the levels of the trade may be followed');
  const left = sizeOf(order, multiplier) - sum(free.slice(0, at));
  if (functionName === 'closeTradeMarket') {
    const [whole, step] = [units(free[at].sizeBase), units(sizeStep)];
    const mayClose =
      whole < left + step || (left >= step && leavesTooLittle(free[at], left)) || leavesExcess(order, free, step, multiplier);
    check(mayClose, `it closes more than was signed: ${whole} > ${left} (1e-18 units)`);
  } else {
    check(args[2] === 0, 'it changes the leverage of what is left');
    const signed = collateralOf(free[at], left);
    check(args[1] <= signed, `it closes more than was signed: ${args[1]} > ${signed} of the collateral`);
    check(args[1] >= signed, `it closes less than was signed: ${args[1]} < ${signed} of the collateral`);
  }
}

const collateralOf = ({ collateralAmount, sizeBase }, size) => (units(collateralAmount) * size) / units(sizeBase);
/** The contract requires a minimum collateral to stay in a trade; a smaller remainder is closed as well. */
const leavesTooLittle = (trade, size) => units(trade.collateralAmount) - collateralOf(trade, size) < units(trade.minCollateral);

/** The trigger of the order becomes a level of a trade; an order that rests against a trade becomes its take profit. */
export function checkLevel({ functionName, args: [index, level] }, slippage, order, { context, multiplier }, check) {
  const { trigger } = order.t;
  const [kind, text] = trigger ? [trigger.tpsl, trigger.triggerPx] : ['tp', order.p];
  const isSigned = functionName === (kind === 'tp' ? 'updateTp' : 'updateSl') && isPrice(level, text, multiplier);
  check(isSigned, `it sets a level at ${level}, which was not signed`);
  check(!trigger || order.r, 'it sets a level, and the order opens');
  const isOpposite = context.trades.some((trade) => trade.tradeIndex === index && isAgainst(order, trade));
  check(isOpposite, `it sets a level on trade ${index}, which the order is not against`);
  if (isOpposite) checkCover(index, order, context, multiplier, check);
  const given = BigInt(slippage?.args[1] ?? 0);
  check(given <= (trigger ? slippageOf(order) : 0n), 'its level may be followed further than was signed');
}

/** A level closes a whole trade: it and the earlier ones must not exceed the signed size, if there is one. */
function checkCover(index, order, { trades, sizeStep }, multiplier, check) {
  const opposite = trades.filter((trade) => isAgainst(order, trade));
  const covered = sum(opposite.slice(0, opposite.findIndex(({ tradeIndex }) => tradeIndex === index) + 1));
  const signed = sizeOf(order, multiplier);
  const isExcess = leavesExcess(order, opposite, units(sizeStep), multiplier);
  check(
    signed === 0n || covered < signed + units(sizeStep) || isExcess,
    `its level closes more than was signed: ${covered} > ${signed} (1e-18 units)`,
  );
}
