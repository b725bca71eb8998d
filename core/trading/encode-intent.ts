import { prepareEncodeFunctionData } from 'viem';
import { encodeFunctionData, parseAbi } from 'viem/utils';
import type { WriteName } from '../chains/diamond-functions.js';
import type { Intent, OpenTerms, ProtectIntent } from '../domain/intent.js';
import type { OrderType } from '../domain/order.js';
import type { Address, Hex } from '../types.js';

/** Only the Diamond's write functions, because viem searches the ABI linearly. */
const abi = parseAbi([
  'struct Trade { address user; uint32 index; uint16 pairIndex; uint24 leverage; bool long; bool isOpen; uint8 collateralIndex; uint8 tradeType; uint120 collateralAmount; uint64 openPrice; uint64 tp; uint64 sl; bool isCounterTrade; uint160 positionSizeToken; uint24 __placeholder }',
  'function openTrade(Trade trade, uint16 maxSlippageP, address referrer)',
  'function closeTradeMarket(uint32 index, uint64 expectedPrice)',
  'function decreasePositionSize(uint32 index, uint120 collateralDelta, uint24 leverageDelta, uint64 expectedPrice)',
  'function updateMaxClosingSlippageP(uint32 index, uint16 maxSlippageP)',
  'function updateLeverage(uint32 index, uint24 newLeverage)',
  'function updateTp(uint32 index, uint64 newTp)',
  'function updateSl(uint32 index, uint64 newSl)',
  'function updateOpenOrder(uint32 index, uint64 triggerPrice, uint64 tp, uint64 sl, uint16 maxSlippageP)',
  'function cancelOpenOrder(uint32 index)',
  'function cancelOrderAfterTimeout(uint32 orderIndex)',
  'function multicall(bytes[] data) returns (bytes[] results)',
  'function delegatedTradingAction(address trader, bytes callData) returns (bytes)',
]);

/** Prepared once, because computing the selector (a hash) takes longer than the rest of the encoding. */
const OPEN_TRADE = prepareEncodeFunctionData({ abi, functionName: 'openTrade' });
const DELEGATED = prepareEncodeFunctionData({ abi, functionName: 'delegatedTradingAction' });

const NO_REFERRER: Address = '0x0000000000000000000000000000000000000000';

/** `TradeType` of the contract. */
const TRADE_TYPE = { market: 0, limit: 1, stop: 2 } as const satisfies Record<OrderType, number>;

/**
 * The trader's call without the delegation wrapper. Several calls become one `multicall`, so that they succeed or fail together.
 * The contract overwrites `user` with the sender; it is filled in for a signer that reads the data.
 */
export function encodeIntent(intent: Intent, trader: Address): Hex {
  const calls = callsOf(intent, trader);
  const [only] = calls;
  if (only === undefined) throw new RangeError('the intent changes nothing');
  return calls.length === 1 ? only : encodeFunctionData({ abi, functionName: 'multicall', args: [calls] });
}

/** The Diamond functions the intent needs. */
export function functionsOf(intent: Intent): WriteName[] {
  const names = namesOf(intent);
  return names.length > 1 ? [...names, 'multicall'] : names;
}

/** Must match `callsOf`. */
function namesOf(intent: Intent): WriteName[] {
  switch (intent.kind) {
    case 'close':
    case 'decrease':
      return [...(intent.slippageP === null ? [] : [FUNCTION.closingSlippage]), FUNCTION[intent.kind]];
    case 'protect':
      return [
        ...(intent.slippageP === undefined ? [] : [FUNCTION.closingSlippage]),
        ...(intent.tp === null ? [] : [FUNCTION.tp]),
        ...(intent.sl === null ? [] : [FUNCTION.sl]),
      ];
    case 'replace':
      return [FUNCTION.withdraw, FUNCTION.open];
    case 'reduce':
      return intent.parts.flatMap(namesOf);
    default:
      return [FUNCTION[intent.kind]];
  }
}

const FUNCTION = {
  open: 'openTrade',
  close: 'closeTradeMarket',
  decrease: 'decreasePositionSize',
  leverage: 'updateLeverage',
  amend: 'updateOpenOrder',
  withdraw: 'cancelOpenOrder',
  reclaim: 'cancelOrderAfterTimeout',
  tp: 'updateTp',
  sl: 'updateSl',
  closingSlippage: 'updateMaxClosingSlippageP',
} as const satisfies Record<string, WriteName>;

/** The calldata to send: the call itself for the trader, wrapped in `delegatedTradingAction` for any other sender. */
export function wrapFor(sender: Address, trader: Address, inner: Hex): Hex {
  if (sender.toLowerCase() === trader.toLowerCase()) return inner;
  return encodeFunctionData({ ...DELEGATED, args: [trader, inner] });
}

function callsOf(intent: Intent, trader: Address): Hex[] {
  switch (intent.kind) {
    case 'open':
      return [open(intent, trader)];
    case 'close': {
      const { tradeIndex, expectedPrice } = intent;
      return [...closingSlippage(intent), encodeFunctionData({ abi, functionName: 'closeTradeMarket', args: [tradeIndex, expectedPrice] })];
    }
    case 'decrease': {
      const { tradeIndex, collateralDelta, expectedPrice } = intent;
      const args = [tradeIndex, collateralDelta, 0, expectedPrice] as const;
      return [...closingSlippage(intent), encodeFunctionData({ abi, functionName: 'decreasePositionSize', args })];
    }
    case 'reduce':
      return intent.parts.flatMap((part) => callsOf(part, trader));
    case 'leverage':
      return [encodeFunctionData({ abi, functionName: 'updateLeverage', args: [intent.tradeIndex, Number(intent.leverage)] })];
    case 'protect':
      return protect(intent);
    case 'amend': {
      const { tradeIndex, price, tp, sl, slippageP } = intent;
      return [encodeFunctionData({ abi, functionName: 'updateOpenOrder', args: [tradeIndex, price, tp, sl, Number(slippageP)] })];
    }
    case 'replace':
      return [withdraw(intent), open(intent.by, trader)];
    case 'withdraw':
      return [withdraw(intent)];
    case 'reclaim':
      return [encodeFunctionData({ abi, functionName: 'cancelOrderAfterTimeout', args: [intent.requestIndex] })];
  }
}

function open(terms: OpenTerms, trader: Address): Hex {
  const { pairIndex, collateralIndex, long, collateralAmount, tp, sl } = terms;
  const trade = {
    user: trader,
    index: 0,
    pairIndex,
    leverage: Number(terms.leverage),
    long,
    isOpen: true,
    collateralIndex,
    tradeType: TRADE_TYPE[terms.type],
    collateralAmount,
    openPrice: terms.price,
    tp,
    sl,
    isCounterTrade: false,
    positionSizeToken: 0n,
    __placeholder: 0,
  };
  return encodeFunctionData({ ...OPEN_TRADE, args: [trade, Number(terms.slippageP), terms.referrer ?? NO_REFERRER] });
}

const withdraw = ({ tradeIndex }: { readonly tradeIndex: number }): Hex =>
  encodeFunctionData({ abi, functionName: 'cancelOpenOrder', args: [tradeIndex] });

/** Close calls take no slippage argument, so the position's stored slippage is set just before. */
function closingSlippage({ tradeIndex, slippageP }: { readonly tradeIndex: number; readonly slippageP: bigint | null }): Hex[] {
  if (slippageP === null) return [];
  return [encodeFunctionData({ abi, functionName: 'updateMaxClosingSlippageP', args: [tradeIndex, Number(slippageP)] })];
}

function protect({ tradeIndex, tp, sl, slippageP }: ProtectIntent): Hex[] {
  return [
    ...closingSlippage({ tradeIndex, slippageP: slippageP ?? null }),
    ...(tp === null ? [] : [encodeFunctionData({ abi, functionName: 'updateTp', args: [tradeIndex, tp] })]),
    ...(sl === null ? [] : [encodeFunctionData({ abi, functionName: 'updateSl', args: [tradeIndex, sl] })]),
  ];
}
