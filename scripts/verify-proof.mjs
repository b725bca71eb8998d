// Checks a relay proof offline: node scripts/verify-proof.mjs proof.json
// Verifies that: the signature is the agent's, over the body in the proof; the call is for its trader, market and side, no larger and at no
// worse a price than signed; the signed transaction is the relayer's and carries exactly that call; and a transaction caused by a schedule
// or an unanswered request only cancels or closes what the context names. Needs viem and @msgpack/msgpack, and does not trust the service.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { encode } from '@msgpack/msgpack';
import {
  concatHex,
  decodeFunctionData,
  hashTypedData,
  keccak256,
  numberToHex,
  parseAbi,
  parseTransaction,
  recoverAddress,
  recoverTransactionAddress,
  toHex,
} from 'viem';

const ABI = parseAbi([
  'struct Trade { address user; uint32 index; uint16 pairIndex; uint24 leverage; bool long; bool isOpen; uint8 collateralIndex; uint8 tradeType; uint120 collateralAmount; uint64 openPrice; uint64 tp; uint64 sl; bool isCounterTrade; uint160 positionSizeToken; uint24 __placeholder }',
  'function delegatedTradingAction(address trader, bytes callData)',
  'function multicall(bytes[] data)',
  'function openTrade(Trade trade, uint16 maxSlippageP, address referrer)',
  'function closeTradeMarket(uint32 index, uint64 expectedPrice)',
  'function decreasePositionSize(uint32 index, uint120 collateralDelta, uint24 leverageDelta, uint64 expectedPrice)',
  'function updateMaxClosingSlippageP(uint32 index, uint16 maxSlippageP)',
  'function updateOpenOrder(uint32 index, uint64 triggerPrice, uint64 tp, uint64 sl, uint16 maxSlippageP)',
  'function cancelOpenOrder(uint32 index)',
  'function cancelOrderAfterTimeout(uint32 orderIndex)',
  'function updateTp(uint32 index, uint64 newTp)',
  'function updateSl(uint32 index, uint64 newSl)',
  'function updateLeverage(uint32 index, uint24 newLeverage)',
]);

/** Both ways in which a client may pack the action: as it was sent, and in the exchange's order of keys. */
const KEYS = {
  action: [
    'type',
    'orders',
    'cancels',
    'oid',
    'order',
    'modifies',
    'asset',
    'isCross',
    'isBuy',
    'ntli',
    'leverage',
    'time',
    'grouping',
    'builder',
    'f',
    'a',
  ],
  order: ['a', 'b', 'p', 's', 'r', 't', 'c'],
  trigger: ['isMarket', 'triggerPx', 'tpsl'],
};

const plain = (text) =>
  /^\d+(?:\.\d*)?$/.test(text)
    ? text
        .replace(/^0+(?=\d)/, '')
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '')
    : text.toLowerCase();

function inOrder(value, keys, deeper) {
  return Object.fromEntries(
    keys.filter((key) => value[key] !== undefined && value[key] !== null).map((key) => [key, deeper(value[key], key)]),
  );
}

const canonicalOrder = (order) =>
  inOrder(order, KEYS.order, (value, key) => {
    if (key === 't')
      return value.trigger
        ? { trigger: inOrder(value.trigger, KEYS.trigger, (each, name) => (name === 'triggerPx' ? plain(each) : each)) }
        : value;
    return typeof value === 'string' ? plain(value) : value;
  });

const canonicalAction = (action) =>
  inOrder(action, KEYS.action, (value, key) => {
    if (key === 'orders') return value.map(canonicalOrder);
    if (key === 'order') return canonicalOrder(value);
    if (key === 'modifies')
      return value.map(({ oid, order }) => ({ oid: typeof oid === 'string' ? plain(oid) : oid, order: canonicalOrder(order) }));
    if (key === 'cancels')
      return value.map((each) => inOrder(each, ['a', 'o', 'asset', 'cloid'], (part) => (typeof part === 'string' ? plain(part) : part)));
    return value;
  });

function actionHash(action, { nonce, vaultAddress, expiresAfter }) {
  const vault = vaultAddress ? concatHex(['0x01', vaultAddress.startsWith('0x') ? vaultAddress : `0x${vaultAddress}`]) : '0x00';
  const expiry = expiresAfter === undefined || expiresAfter === null ? '0x' : concatHex(['0x00', numberToHex(expiresAfter, { size: 8 })]);
  return keccak256(concatHex([toHex(encode(action)), numberToHex(nonce, { size: 8 }), vault, expiry]));
}

const padded = (text) => `0x${text.replace(/^0x/i, '').padStart(64, '0')}`;

async function signerOf(envelope, hash, network) {
  const { r, s, v } = envelope.signature;
  const digest = hashTypedData({
    domain: { name: 'Exchange', version: '1', chainId: 1337, verifyingContract: '0x0000000000000000000000000000000000000000' },
    types: {
      Agent: [
        { name: 'source', type: 'string' },
        { name: 'connectionId', type: 'bytes32' },
      ],
    },
    primaryType: 'Agent',
    message: { source: network, connectionId: hash },
  });
  return recoverAddress({ hash: digest, signature: { r: padded(r), s: padded(s), v: BigInt(v < 27 ? v + 27 : v) } });
}

const NO_REFERRER = '0x0000000000000000000000000000000000000000';
const isSame = (a, b) => a.toLowerCase() === b.toLowerCase();
const decode = (data) => {
  try {
    return decodeFunctionData({ abi: ABI, data });
  } catch {
    return { functionName: 'an unknown call', args: [] };
  }
};
const price = (text) => {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(10, '0').slice(0, 10));
};

/** All faults of the proof; empty = it is valid. */
export async function problemsOf(proof) {
  const problems = [];
  const check = (holds, what) => void (holds || problems.push(what));
  const envelope = JSON.parse(proof.envelope);
  const action = proof.form === 'canonical' ? canonicalAction(envelope.action) : envelope.action;
  const hash = actionHash(action, envelope);
  check(hash === proof.actionHash, 'the action hash is not that of the envelope');
  const signer = await signerOf(envelope, hash, proof.network);
  check(isSame(signer, proof.signer), `the envelope is signed by ${signer}, not by the signer named`);
  check(proof.nonce === String(envelope.nonce), 'the nonce is not that of the envelope');
  await checkTransaction(proof, check);
  if (proof.purpose === 'no-op') checkNoOp(proof, check);
  else checkCall(proof, envelope.action, check);
  return problems;
}

/** The call in the proof must be what the relayer signed, byte by byte. */
async function checkTransaction({ rawTransaction, txHash, relayer, to, data }, check) {
  const sent = await readTransaction(rawTransaction);
  if (sent === null) return check(false, 'there is no signed transaction in it');
  check(keccak256(rawTransaction) === txHash, 'the transaction has another hash');
  check(isSame(sent.from, relayer), `the transaction is signed by ${sent.from}, not by the relayer named`);
  check(isSame(sent.to ?? '', to), 'the transaction goes to another address');
  check(isSame(sent.data ?? '0x', data), 'the transaction carries other call data');
  check((sent.value ?? 0n) === 0n, 'the transaction moves ether');
}

/** Null if it cannot be decoded. */
async function readTransaction(serializedTransaction) {
  try {
    return { ...parseTransaction(serializedTransaction), from: await recoverTransactionAddress({ serializedTransaction }) };
  } catch {
    return null;
  }
}

/** Replaces an expired action: it only uses up the nonce. */
function checkNoOp({ to, data, relayer }, check) {
  check(data === '0x' && isSame(to, relayer), 'it should do nothing, and does something');
}

function checkCall(proof, action, check) {
  const outer = decode(proof.data);
  check(outer.functionName === 'delegatedTradingAction', 'the call is not a delegated one');
  const [trader = '', inner = '0x'] = outer.args;
  check(isSame(trader, proof.trader), 'the call is for another trader');
  const first = decode(inner);
  const calls = first.functionName === 'multicall' ? first.args[0].map(decode) : [first];
  const multiplier = BigInt(proof.multiplier);
  check(multiplier === 1n || multiplier === 1000n, `no asset is counted in ${multiplier}s`);
  const context = JSON.parse(proof.context);
  check(multiplier === 1n || ['order', 'replace', 'child'].includes(context.kind), `a ${context.kind} counts nothing`);
  const isWhole = checkShape(calls, { ...proof, context, action }, check);
  if (isWhole) MEANING[context.kind](calls, action, { ...context, multiplier, trader: proof.trader }, check);
}

const SLIPPAGE_CALL = 'updateMaxClosingSlippageP';
const CLOSES = ['closeTradeMarket', 'decreasePositionSize'];
const LEVELS = ['updateTp', 'updateSl'];
const TAKES_BACK = ['cancel', 'cancelByCloid', 'modify', 'batchModify'];
const PLACES = ['order', 'modify', 'batchModify'];

/** The calls that each kind of transaction may consist of, and the signed actions that may have caused it. */
const SHAPES = {
  order: ['openTrade', ...[...CLOSES, ...LEVELS, LEVELS.join()].flatMap((calls) => [calls, `${SLIPPAGE_CALL},${calls}`])],
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

function checkShape(calls, { purpose, context: { kind }, action }, check) {
  const causes = CAUSES[purpose]?.[kind];
  const isCaused = causes === null || causes?.includes(action.type) === true;
  check(isCaused, `no signature covers it: a transaction of the kind ${kind} for ${purpose} under the action ${action.type}`);
  const names = calls.map(({ functionName }) => functionName).join();
  const isShaped = SHAPES[kind]?.includes(names) === true;
  check(isShaped, `it does more than a transaction of the kind ${kind} may: ${names}`);
  const trades = calls.filter(({ functionName }) => functionName !== 'openTrade').map(({ args }) => args[0]);
  check(kind !== 'order' || new Set(trades).size < 2, 'it changes several trades at once');
  return isCaused && isShaped;
}

const MEANING = {
  order: checkMeaning,
  replace(calls, action, context, check) {
    check(calls[0].args[0] === context.tradeIndex, `it takes back order ${calls[0].args[0]}, meant was ${context.tradeIndex}`);
    checkMeaning(calls.slice(1), action, context, check);
  },
  'closing-slippage'(calls, action, { item, tradeIndex }, check) {
    check(calls[0].args[0] === tradeIndex, `it sets the closing slippage of trade ${calls[0].args[0]}, meant was ${tradeIndex}`);
    const orders = action.grouping === 'normalTpsl' ? action.orders.slice(1) : [orderOf(action, item)];
    const most = orders
      .filter((order) => order?.t.trigger)
      .map(slippageOf)
      .reduce((a, b) => (a > b ? a : b), 0n);
    const given = BigInt(calls[0].args[1]);
    check(given <= most, `levels may be followed further than was signed: ${given} > ${most}`);
  },
  margin([{ args }], action, { context }, check) {
    check(args[0] === context.tradeIndex, `it changes trade ${args[0]}, meant was ${context.tradeIndex}`);
    const signed = leverageFor(BigInt(action.ntli), context);
    check(BigInt(args[1]) === signed, `it sets the leverage ${args[1]}, signed was ${signed}`);
  },
  cancel([{ functionName, args }], action, { intent }, check) {
    const meant = {
      withdraw: 'cancelOpenOrder',
      reclaim: 'cancelOrderAfterTimeout',
      protect: intent.tp === null ? 'updateSl' : 'updateTp',
      amend: 'updateOpenOrder',
    };
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
  child([{ args }], action, { item, intent, multiplier }, check) {
    const trigger = orderOf(action, item)?.t.trigger;
    if (!trigger) return check(false, 'the changed order is no take profit or stop loss');
    const signed = price(trigger.triggerPx);
    const set = args[trigger.tpsl === 'tp' ? 2 : 3] * multiplier;
    check(set - signed < multiplier && signed - set < multiplier, `it sets a level at ${set}, signed was ${signed}`);
    checkUnchanged(args, intent, check);
  },
  flatten([{ args }], action, { tradeIndex, expectedPrice }, check) {
    check(typeof action.time === 'number', 'the schedule was taken away, not set');
    check(args[0] === tradeIndex, `it closes trade ${args[0]}, meant was ${tradeIndex}`);
    check(args[1] === units(expectedPrice), 'it closes at another price than that of the moment');
  },
};

const checkUnchanged = (args, intent, check) =>
  check(
    args[0] === intent.tradeIndex && ['price', 'tp', 'sl', 'slippageP'].every((field, at) => BigInt(args[at + 1]) === units(intent[field])),
    'it changes more of the order than its context says',
  );

const units = (field) => BigInt(field.$n);
const orderOf = (action, item) => action.orders?.[item] ?? action.modifies?.[item]?.order ?? action.order;

/** Leverage steps are rounded so that never more margin is moved than was signed. */
function leverageFor(microUsd, { collateralAmount, leverage, collateral }) {
  const isAdded = microUsd > 0n;
  const moved = ((isAdded ? microUsd : -microUsd) * units(collateral.precision) * 10n ** 8n) / (units(collateral.priceUsd) * 1_000_000n);
  const held = units(collateralAmount);
  const wanted = isAdded ? held + moved : held - moved;
  return wanted <= 0n ? null : (held * units(leverage) + (isAdded ? wanted - 1n : 0n)) / wanted;
}

function checkMeaning(calls, action, { multiplier, trader, ...context }, check) {
  const order = orderOf(action, context.item);
  if (!order) return check(false, `the action has no item ${context.item}`);
  const triggers = (action.orders ?? [order]).filter((each) => each.t.trigger);
  const opened = calls.find(({ functionName }) => functionName === 'openTrade');
  if (opened) {
    check(isSame(opened.args[0].user, trader), 'it opens for another trader');
    check(!order.r, 'it opens, and the order may only reduce');
    checkOpening(opened.args, order, context, multiplier, check);
  }
  const closing = calls.find(({ functionName }) => CLOSES.includes(functionName));
  const slippage = calls.find(({ functionName }) => functionName === SLIPPAGE_CALL);
  if (closing) {
    const slippageP = BigInt(slippage?.args[1] ?? DEFAULT_SLIPPAGE);
    checkClosing(closing, order, { ...context.context, slippageP }, multiplier, check);
    checkBound(closing.args.at(-1), slippageP, order, multiplier, check);
    checkNearness(closing.args.at(-1), slippageP, order, multiplier, check);
  } else checkLevels(calls, order, { ...context, triggers, multiplier }, check);
}

const sum = (trades) => trades.reduce((total, { sizeBase }) => total + units(sizeBase), 0n);
const isAgainst = (order, { long }) => long !== order.b;
/** 1e18, as for trades. */
const sizeOf = (order, multiplier) => price(order.s) * multiplier * 10n ** 8n;

/** Trades are closed whole, the oldest first, the last one partly; trades with a pending order are skipped. */
function checkClosing({ functionName, args }, order, { trades, pairIndex, sizeStep, slippageP }, multiplier, check) {
  const [index] = args;
  const free = trades.filter((trade) => isAgainst(order, trade) && !trade.isBusy);
  const at = free.findIndex(({ tradeIndex }) => tradeIndex === index);
  check(at >= 0 && pairIndex === order.a, `it closes trade ${index}, which the order is not against`);
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

/** What trades hold beyond the orders that opened them is closed with the last part of the request. */
const leavesExcess = (order, trades, step, multiplier) =>
  sizeOf(order, multiplier) + trades.reduce((total, trade) => total + excessOf(trade), 0n) >= floorToLot(sum(trades), step);
const excessOf = ({ excess, sizeBase }) => (excess === undefined ? 0n : units(excess) < units(sizeBase) ? units(excess) : units(sizeBase));

/** The displayed size: rounded to ten decimals, then down to the lot; a non-zero size below one lot counts as one lot. */
function floorToLot(size, lot) {
  const noise = 10n ** 8n;
  const half = size < 0n ? -(noise / 2n) : noise / 2n;
  const exact = ((size + half) / noise) * noise;
  const floored = (exact / lot) * lot;
  return floored !== 0n || exact === 0n ? floored : exact < 0n ? -lot : lot;
}

const collateralOf = ({ collateralAmount, sizeBase }, size) => (units(collateralAmount) * size) / units(sizeBase);
/** The contract requires a minimum collateral to stay in a trade; a smaller remainder is closed as well. */
const leavesTooLittle = (trade, size) => units(trade.collateralAmount) - collateralOf(trade, size) < units(trade.minCollateral);

const DEFAULT_SLIPPAGE = 1_000n;
const MARKET_SLIPPAGE = 10_000n;

/** The closing slippage of a level, in thousandths of a percent: from its limit, and never below the contract's default. */
function slippageOf({ b: isBuy, p, t: { trigger } }) {
  const [limit, level] = [price(p), price(trigger.triggerPx)];
  const away = ((isBuy ? limit - level : level - limit) * 100_000n) / level;
  const slippageP = away <= 0n && trigger.isMarket ? MARKET_SLIPPAGE : away;
  return slippageP < DEFAULT_SLIPPAGE ? DEFAULT_SLIPPAGE : slippageP;
}

/** TP/SL calls set a signed price on a trade that the order is against, or remove a level. */
function checkLevels(calls, order, { context, triggers, multiplier }, check) {
  const isPrice = (units, text) =>
    text !== undefined && units * multiplier - price(text) < multiplier && price(text) - units * multiplier < multiplier;
  const isSigned = (units, tpsl) =>
    units === 0n ||
    triggers.some(({ t }) => t.trigger.tpsl === tpsl && isPrice(units, t.trigger.triggerPx)) ||
    (tpsl === 'tp' && isPrice(units, order?.t.limit && order.p));
  for (const { functionName, args } of calls) {
    if (functionName === 'openTrade')
      check(isSigned(args[0].tp, 'tp') && isSigned(args[0].sl, 'sl'), 'it opens with levels that were not signed');
    if (functionName !== 'updateTp' && functionName !== 'updateSl') continue;
    check(isSigned(args[1], functionName === 'updateTp' ? 'tp' : 'sl'), `it sets a level at ${args[1]}, which was not signed`);
    const isOpposite = context?.trades?.some(({ tradeIndex, long }) => tradeIndex === args[0] && long !== order?.b);
    check(args[1] === 0n || isOpposite, `it sets a level on trade ${args[0]}, which the order is not against`);
    if (args[1] !== 0n && isOpposite) checkCover(args[0], order, context, multiplier, check);
    const given = calls.find((call) => call.functionName === 'updateMaxClosingSlippageP')?.args[1] ?? 0;
    if (order?.t.trigger) check(BigInt(given) <= slippageOf(order), 'its level may be followed further than was signed');
  }
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

function checkOpening([trade, slippageP, referrer], order, { context }, multiplier, check) {
  check(
    isSame(referrer, context.referrer ?? NO_REFERRER),
    `it names ${referrer} as the referrer, the context ${context.referrer ?? 'none'}`,
  );
  check(trade.pairIndex === order.a, `it trades asset ${trade.pairIndex}, signed was ${order.a}`);
  check(trade.long === order.b, 'it trades the other side');
  checkBound(trade.openPrice, BigInt(slippageP), order, multiplier, check);
  const { collateral, predicted } = context;
  const at = trade.tradeType === 0 ? units(predicted) : trade.openPrice;
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
  return trades.filter((trade) => isAgainst(order, trade) && (tradeType !== 0 || !trade.isBusy));
}

/** The contract's worst price, in the asset's units. */
function checkBound(expected, slippageP, order, multiplier, check) {
  const away = (expected * slippageP) / 100_000n;
  const worst = (order.b ? expected + away : expected - away) * multiplier;
  const limit = price(order.p);
  check(order.b ? worst <= limit : worst >= limit, `the price may be worse than was signed: ${worst} against ${limit}`);
}

/** Both divisions round, each by less than one. */
const ROUNDED = 3n;

/** A close must be as near to the limit as integers allow: with another limit or other units it would not be. */
function checkNearness(expected, slippageP, { b: isBuy, p }, multiplier, check) {
  const nearer = isBuy ? expected + ROUNDED : expected - ROUNDED;
  const away = (nearer * slippageP) / 100_000n;
  const worst = isBuy ? nearer + away : nearer - away;
  const limit = isBuy ? price(p) / multiplier : (price(p) + multiplier - 1n) / multiplier;
  check(isBuy ? worst > limit : worst < limit, `the price is not the one that was signed: ${worst} against ${limit}`);
}

/** Facts that only the chain or the service can confirm. */
const UNPROVEN =
  'Not proven offline: that `to` is the Diamond, `state`, `blockNumber` (ask a node for the receipt of `txHash`), `orderId`, `receivedAt`, and the figures in `context` (trades and prices of that moment).';

/** The parsed proof, or why it cannot be read. */
function readProof(file) {
  if (file === undefined) return { complaint: 'usage: node scripts/verify-proof.mjs proof.json' };
  try {
    return { proof: JSON.parse(readFileSync(file, 'utf8')) };
  } catch (error) {
    return { complaint: `${file} cannot be read as a proof: ${error.message}` };
  }
}

/** An incomplete proof cannot be judged: that is no verdict on its content. */
async function judge(proof) {
  try {
    return { problems: await problemsOf(proof) };
  } catch (error) {
    return { complaint: `it is no whole proof: ${error.message.split('\n')[0]}` };
  }
}

/** 0 = valid, 1 = invalid, 2 = cannot be judged. */
async function run(file) {
  const { proof, complaint } = readProof(file);
  const verdict = complaint === undefined ? await judge(proof) : { complaint };
  if (verdict.complaint !== undefined) {
    console.error(verdict.complaint);
    return 2;
  }
  for (const problem of verdict.problems) console.error(`- ${problem}`);
  console.log(verdict.problems.length === 0 ? `The proof holds.\n${UNPROVEN}` : 'The proof does not hold.');
  return verdict.problems.length === 0 ? 0 : 1;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = await run(process.argv[2]);
