import type { Abi, AbiParameter, ContractFunctionArgs, ParseAbi } from 'viem';
import { encodeAbiParameters, parseAbi } from 'viem/utils';
import { TRADE_STRUCT, WRITE_FUNCTIONS, type WriteName } from '../chains/diamond-functions.js';
import type { Intent, OpenTerms, ProtectIntent } from '../domain/intent.js';
import type { OrderType } from '../domain/order.js';
import type { Address, Hex } from '../types.js';

/** The arguments of a function, by its signature. */
type Arguments<Name extends WriteName> =
  ParseAbi<readonly [typeof TRADE_STRUCT, (typeof WRITE_FUNCTIONS)[Name]['signature']]> extends infer Parsed extends Abi
    ? ContractFunctionArgs<Parsed, 'nonpayable'>
    : never;

/** Parsed once: viem would search an ABI and hash the signature for every call. */
const INPUTS: ReadonlyMap<string, readonly AbiParameter[]> = new Map(
  parseAbi([TRADE_STRUCT, ...Object.values(WRITE_FUNCTIONS).map(({ signature }) => signature)] as readonly string[]).flatMap((item) =>
    item.type === 'function' ? [[item.name, item.inputs] as const] : [],
  ),
);

/** One call of the Diamond; encoded when it is needed. */
interface DiamondCall {
  readonly name: WriteName;
  readonly data: () => Hex;
}

const call = <Name extends WriteName>(name: Name, args: Arguments<Name>): DiamondCall => ({
  name,
  data: () => `${WRITE_FUNCTIONS[name].selector}${encodeAbiParameters(INPUTS.get(name) ?? [], args as readonly unknown[]).slice(2)}`,
});

const NO_REFERRER: Address = '0x0000000000000000000000000000000000000000';

/** `TradeType` of the contract. */
const TRADE_TYPE = { market: 0, limit: 1, stop: 2 } as const satisfies Record<OrderType, number>;

/**
 * The trader's call without the delegation wrapper. Several calls become one `multicall`, so that they succeed or fail together.
 * The contract overwrites `user` with the sender; it is filled in for a signer that reads the data.
 */
export function encodeIntent(intent: Intent, trader: Address): Hex {
  const [only, ...others] = callsOf(intent, trader);
  if (only === undefined) throw new RangeError('the intent changes nothing');
  return (others.length === 0 ? only : call('multicall', [[only, ...others].map(({ data }) => data())])).data();
}

/** The Diamond functions the intent needs. */
export function functionsOf(intent: Intent): WriteName[] {
  const names = callsOf(intent, NO_REFERRER).map(({ name }) => name);
  return names.length > 1 ? [...names, 'multicall'] : names;
}

/** The calldata to send: the call itself for the trader, wrapped in `delegatedTradingAction` for any other sender. */
export function wrapFor(sender: Address, trader: Address, inner: Hex): Hex {
  if (sender.toLowerCase() === trader.toLowerCase()) return inner;
  return call('delegatedTradingAction', [trader, inner]).data();
}

function callsOf(intent: Intent, trader: Address): DiamondCall[] {
  switch (intent.kind) {
    case 'open':
      return [open(intent, trader)];
    case 'close': {
      const { tradeIndex, expectedPrice } = intent;
      return [...closingSlippage(intent), call('closeTradeMarket', [tradeIndex, expectedPrice])];
    }
    case 'decrease': {
      const { tradeIndex, collateralDelta, expectedPrice } = intent;
      return [...closingSlippage(intent), call('decreasePositionSize', [tradeIndex, collateralDelta, 0, expectedPrice])];
    }
    case 'reduce':
      return intent.parts.flatMap((part) => callsOf(part, trader));
    case 'leverage':
      return [call('updateLeverage', [intent.tradeIndex, Number(intent.leverage)])];
    case 'increase': {
      const { tradeIndex, collateralDelta, leverageDelta, expectedPrice, slippageP } = intent;
      return [call('increasePositionSize', [tradeIndex, collateralDelta, Number(leverageDelta), expectedPrice, Number(slippageP)])];
    }
    case 'withdrawPnl':
      return [call('withdrawPositivePnl', [intent.tradeIndex, intent.amount])];
    case 'protect':
      return protect(intent);
    case 'amend': {
      const { tradeIndex, price, tp, sl, slippageP } = intent;
      return [call('updateOpenOrder', [tradeIndex, price, tp, sl, Number(slippageP)])];
    }
    case 'replace':
      return [withdraw(intent), open(intent.by, trader)];
    case 'withdraw':
      return [withdraw(intent)];
    case 'reclaim':
      return [call('cancelOrderAfterTimeout', [intent.requestIndex])];
  }
}

function open(terms: OpenTerms, trader: Address): DiamondCall {
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
    isCounterTrade: terms.isCounterTrade ?? false,
    positionSizeToken: 0n,
    __placeholder: 0,
  };
  return call('openTrade', [trade, Number(terms.slippageP), terms.referrer ?? NO_REFERRER]);
}

const withdraw = ({ tradeIndex }: { readonly tradeIndex: number }): DiamondCall => call('cancelOpenOrder', [tradeIndex]);

/** Close calls take no slippage argument, so the position's stored slippage is set just before. */
function closingSlippage({ tradeIndex, slippageP }: { readonly tradeIndex: number; readonly slippageP: bigint | null }): DiamondCall[] {
  if (slippageP === null) return [];
  return [call('updateMaxClosingSlippageP', [tradeIndex, Number(slippageP)])];
}

function protect({ tradeIndex, tp, sl, slippageP }: ProtectIntent): DiamondCall[] {
  return [
    ...closingSlippage({ tradeIndex, slippageP: slippageP ?? null }),
    ...(tp === null ? [] : [call('updateTp', [tradeIndex, tp])]),
    ...(sl === null ? [] : [call('updateSl', [tradeIndex, sl])]),
  ];
}

/** Marks a tag; the contract ignores bytes after its arguments. */
const MAGIC = '6467777461673031';
const TAG_BYTES = 16;

/** Calldata followed by the order's tag. */
export const appendTag = (data: Hex, tag: Hex): Hex => `${data}${MAGIC}${tag.slice(2)}`;

/** The distinct tags in a transaction's input, at any offset, because a smart account may wrap the call. */
export function tagsIn(input: Hex): Hex[] {
  const hex = input.toLowerCase();
  const tags = new Set<Hex>();
  for (let at = hex.indexOf(MAGIC, 2); at !== -1; at = hex.indexOf(MAGIC, at + 1)) {
    const tag = hex.slice(at + MAGIC.length, at + MAGIC.length + 2 * TAG_BYTES);
    if (at % 2 === 0 && tag.length === 2 * TAG_BYTES) tags.add(`0x${tag}`);
  }
  return [...tags];
}
