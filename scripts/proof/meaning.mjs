import { checkClosing, checkLevel } from './closings.mjs';
import { isPrice, orderOf, ordersOf, slippageOf, units } from './figures.mjs';
import { checkOpening } from './openings.mjs';

/** Whether calls are what the signed action means. A new kind of transaction is a row of `SHAPES`, `CAUSES` and `MEANING`. */

const SLIPPAGE_CALL = 'updateMaxClosingSlippageP';
export const CLOSES = ['closeTradeMarket', 'decreasePositionSize'];
const LEVELS = ['updateTp', 'updateSl'];
const TAKES_BACK = ['cancel', 'cancelByCloid', 'modify', 'batchModify'];
const PLACES = ['order', 'modify', 'batchModify'];

/** The calls that each kind of transaction may consist of, and the signed actions that may have caused it. */
const SHAPES = {
  order: ['openTrade', ...[...CLOSES, ...LEVELS].flatMap((calls) => [calls, `${SLIPPAGE_CALL},${calls}`])],
  replace: ['cancelOpenOrder,openTrade'],
  'closing-slippage': [SLIPPAGE_CALL],
  margin: ['updateLeverage'],
  cancel: ['cancelOpenOrder', 'cancelOrderAfterTimeout', 'updateOpenOrder', ...LEVELS],
  child: ['updateOpenOrder'],
  flatten: ['closeTradeMarket'],
};
const CAUSES = {
  action: {
    order: PLACES,
    replace: ['modify', 'batchModify'],
    child: ['modify', 'batchModify'],
    'closing-slippage': PLACES,
    margin: ['updateIsolatedMargin'],
    cancel: TAKES_BACK,
  },
  'scheduled-cancel': { cancel: ['scheduleCancel'], flatten: ['scheduleCancel'] },
  reclaim: { cancel: null },
};

/** What may be taken back without an action that names it: collateral of what timed out, and by a schedule resting orders. */
const UNASKED = { reclaim: ['reclaim'], 'scheduled-cancel': ['withdraw', 'reclaim'] };

/** `signed`: the action, the leverage signed for it, the proof, and what the reader expects. */
export function checkCalls(calls, signed, check) {
  const { proof, action } = signed;
  const context = JSON.parse(proof.context);
  const multiplier = BigInt(proof.multiplier);
  check(multiplier === 1n || multiplier === 1000n, `no asset is counted in ${multiplier}s`);
  check(multiplier === 1n || ['order', 'replace', 'child'].includes(context.kind), `a ${context.kind} counts nothing`);
  if (isShaped(calls, { purpose: proof.purpose, kind: context.kind, action }, check))
    MEANING[context.kind](calls, { ...signed, ...context, multiplier }, check);
}

function isShaped(calls, { purpose, kind, action }, check) {
  const causes = CAUSES[purpose]?.[kind];
  const isCaused = causes === null || causes?.includes(action.type) === true;
  check(isCaused, `no signature covers it: a transaction of the kind ${kind} for ${purpose} under the action ${action.type}`);
  const names = calls.map(({ functionName }) => functionName).join();
  const isKnown = SHAPES[kind]?.includes(names) === true;
  check(isKnown, `it does more than a transaction of the kind ${kind} may: ${names}`);
  const trades = calls.filter(({ functionName }) => functionName !== 'openTrade').map(({ args }) => args[0]);
  check(kind !== 'order' || new Set(trades).size < 2, 'it changes several trades at once');
  return isCaused && isKnown;
}

const MEANING = {
  order: checkOrder,
  replace(calls, signed, check) {
    check(calls[0].args[0] === signed.tradeIndex, `it takes back order ${calls[0].args[0]}, meant was ${signed.tradeIndex}`);
    checkOrder(calls.slice(1), signed, check);
  },
  'closing-slippage'([{ args }], { action, item, tradeIndex }, check) {
    check(args[0] === tradeIndex, `it sets the closing slippage of trade ${args[0]}, meant was ${tradeIndex}`);
    const orders = action.grouping === 'normalTpsl' ? ordersOf(action).slice(1) : [orderOf(action, item)];
    const most = orders
      .filter((order) => order?.t.trigger)
      .map(slippageOf)
      .reduce((a, b) => (a > b ? a : b), 0n);
    const given = BigInt(args[1]);
    check(given <= most, `levels may be followed further than was signed: ${given} > ${most}`);
  },
  margin([{ args }], { action, context }, check) {
    check(args[0] === context.tradeIndex, `it changes trade ${args[0]}, meant was ${context.tradeIndex}`);
    const signed = leverageFor(BigInt(action.ntli), context);
    check(BigInt(args[1]) === signed, `it sets the leverage ${args[1]}, signed was ${signed}`);
  },
  cancel([{ functionName, args }], { action, proof, intent }, check) {
    const meant = {
      withdraw: 'cancelOpenOrder',
      reclaim: 'cancelOrderAfterTimeout',
      protect: intent.tp === null ? 'updateSl' : 'updateTp',
      amend: 'updateOpenOrder',
    };
    checkDue(action, proof, check);
    const isCovered = (UNASKED[proof.purpose] ?? [intent.kind]).includes(intent.kind);
    check(isCovered, `no signature covers it: a transaction for ${proof.purpose} that is to ${intent.kind}`);
    check(functionName === meant[intent.kind], `it calls ${functionName}, meant was to ${intent.kind}`);
    const target = intent.kind === 'reclaim' ? intent.requestIndex : intent.tradeIndex;
    check(args[0] === target, `it takes back ${args[0]}, meant was ${target}`);
    check(!LEVELS.includes(functionName) || args[1] === 0n, 'it sets a level, and should take one away');
    if (intent.kind === 'amend') {
      check(args[2] === 0n || args[3] === 0n, 'it takes no level away');
      checkUnchanged(args, intent, check);
    }
  },
  /** A level of a resting order: the rest of that order stays as in the context. */
  child([{ args }], { action, item, intent, multiplier }, check) {
    const trigger = orderOf(action, item)?.t.trigger;
    if (!trigger) return check(false, 'the changed order is no take profit or stop loss');
    const set = args[trigger.tpsl === 'tp' ? 2 : 3];
    check(isPrice(set, trigger.triggerPx, multiplier), `it sets a level at ${set}, signed was ${trigger.triggerPx}`);
    checkUnchanged(args, intent, check);
  },
  flatten([{ args }], { action, proof, tradeIndex, expectedPrice }, check) {
    checkDue(action, proof, check);
    check(args[0] === tradeIndex, `it closes trade ${args[0]}, meant was ${tradeIndex}`);
    check(args[1] === units(expectedPrice), 'it closes at another price than that of the moment');
  },
};

function checkDue({ time }, { purpose, signedAt }, check) {
  if (purpose !== 'scheduled-cancel') return;
  check(typeof time === 'number', 'the schedule was taken away, not set');
  check(!(signedAt < time), `it was signed at ${signedAt}, and is due at ${time}`);
}

const checkUnchanged = (args, intent, check) =>
  check(
    args[0] === intent.tradeIndex && ['price', 'tp', 'sl', 'slippageP'].every((field, at) => BigInt(args[at + 1]) === units(intent[field])),
    'it changes more of the order than its context says',
  );

/** Leverage steps are rounded so that never more margin is moved than was signed. */
function leverageFor(microUsd, { collateralAmount, leverage, collateral }) {
  const isAdded = microUsd > 0n;
  const moved = ((isAdded ? microUsd : -microUsd) * units(collateral.precision) * 10n ** 8n) / (units(collateral.priceUsd) * 1_000_000n);
  const held = units(collateralAmount);
  const wanted = isAdded ? held + moved : held - moved;
  return wanted <= 0n ? null : (held * units(leverage) + (isAdded ? wanted - 1n : 0n)) / wanted;
}

/** An opening, a close or a level: what one order of the action becomes. */
function checkOrder(calls, signed, check) {
  const order = orderOf(signed.action, signed.item);
  if (!order) return check(false, `the action has no item ${signed.item}`);
  check(signed.isLeftToRest !== true || order.t.limit?.tif === 'Gtc', 'it is left to rest, and the order may not rest');
  const call = calls.at(-1);
  const slippage = calls.find(({ functionName }) => functionName === SLIPPAGE_CALL);
  if (call.functionName === 'openTrade') checkOpening(call.args, order, signed, check);
  else if (CLOSES.includes(call.functionName)) checkClosing(call, slippage, order, signed, check);
  else checkLevel(call, slippage, order, signed, check);
}
