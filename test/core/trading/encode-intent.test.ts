import { Interface, ZeroAddress, keccak256 } from 'ethers';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import type { Intent, OpenTerms } from '../../../core/domain/intent.js';
import { encodeIntent, functionsOf, wrapFor } from '../../../core/trading/encode-intent.js';

const TRADER = '0x1111111111111111111111111111111111111111';
const AGENT = '0x2222222222222222222222222222222222222222';

/** An independent encoder over the whole ABI of the contracts. */
const ethers = new Interface(JSON.stringify(diamondAbi));
const call = (name: string, args: readonly unknown[]): string => ethers.encodeFunctionData(name, args);

const TERMS: OpenTerms = {
  type: 'market',
  pairIndex: 0,
  collateralIndex: 3,
  long: true,
  leverage: 10_000n,
  collateralAmount: 100_000_000n,
  price: 600_000_000_000_000n,
  tp: 660_000_000_000_000n,
  sl: 0n,
  slippageP: 1_000n,
};

const tradeOf = ({ pairIndex, leverage, long, collateralIndex, collateralAmount, price, tp, sl }: OpenTerms, tradeType: number) => [
  TRADER,
  0,
  pairIndex,
  leverage,
  long,
  true,
  collateralIndex,
  tradeType,
  collateralAmount,
  price,
  tp,
  sl,
  false,
  0,
  0,
];
const open = (terms: OpenTerms, tradeType: number): string => call('openTrade', [tradeOf(terms, tradeType), terms.slippageP, ZeroAddress]);

const SHORT_STOP: OpenTerms = { ...TERMS, type: 'stop', long: false, pairIndex: 12, tp: 1n, sl: 2n ** 64n - 1n };
const LIMIT: OpenTerms = { ...TERMS, type: 'limit', collateralAmount: 2n ** 120n - 1n, leverage: 2n ** 24n - 1n };
const PRICE = 600_000_000_000_000n;

const CASES: readonly [string, Intent, string][] = [
  ['a market open', { kind: 'open', ...TERMS }, open(TERMS, 0)],
  ['a limit at the edges of the contract', { kind: 'open', ...LIMIT }, open(LIMIT, 1)],
  ['a short stop', { kind: 'open', ...SHORT_STOP }, open(SHORT_STOP, 2)],
  ['a close', { kind: 'close', tradeIndex: 7, expectedPrice: PRICE, slippageP: null }, call('closeTradeMarket', [7, PRICE])],
  [
    'a close with a slippage of its own',
    { kind: 'close', tradeIndex: 7, expectedPrice: PRICE, slippageP: 65_535n },
    call('multicall', [[call('updateMaxClosingSlippageP', [7, 65_535]), call('closeTradeMarket', [7, PRICE])]]),
  ],
  [
    'a partial close',
    { kind: 'decrease', tradeIndex: 0, collateralDelta: 5n, expectedPrice: PRICE, slippageP: null },
    call('decreasePositionSize', [0, 5n, 0, PRICE]),
  ],
  [
    'a partial close with a slippage of its own',
    { kind: 'decrease', tradeIndex: 4, collateralDelta: 5n, expectedPrice: PRICE, slippageP: 1n },
    call('multicall', [[call('updateMaxClosingSlippageP', [4, 1]), call('decreasePositionSize', [4, 5n, 0, PRICE])]]),
  ],
  ['a change of leverage', { kind: 'leverage', tradeIndex: 3, leverage: 5_500n }, call('updateLeverage', [3, 5_500])],
  [
    'an increase at the edges of the contract',
    {
      kind: 'increase',
      tradeIndex: 2 ** 32 - 1,
      collateralDelta: 2n ** 120n - 1n,
      leverageDelta: 2n ** 24n - 1n,
      expectedPrice: 2n ** 64n - 1n,
      slippageP: 65_535n,
    },
    call('increasePositionSize', [2 ** 32 - 1, 2n ** 120n - 1n, 2 ** 24 - 1, 2n ** 64n - 1n, 65_535]),
  ],
  ['profit withdrawn', { kind: 'withdrawPnl', tradeIndex: 3, amount: 2n ** 120n - 1n }, call('withdrawPositivePnl', [3, 2n ** 120n - 1n])],
  ['a take profit', { kind: 'protect', tradeIndex: 3, tp: PRICE, sl: null }, call('updateTp', [3, PRICE])],
  ['a stop loss that is removed', { kind: 'protect', tradeIndex: 3, tp: null, sl: 0n }, call('updateSl', [3, 0n])],
  [
    'both of them',
    { kind: 'protect', tradeIndex: 3, tp: PRICE, sl: 1n },
    call('multicall', [[call('updateTp', [3, PRICE]), call('updateSl', [3, 1n])]]),
  ],
  [
    'an amended order',
    { kind: 'amend', tradeIndex: 9, price: PRICE, tp: 1n, sl: 2n, slippageP: 3n },
    call('updateOpenOrder', [9, PRICE, 1n, 2n, 3]),
  ],
  [
    'an order replaced by another',
    { kind: 'replace', tradeIndex: 9, by: LIMIT },
    call('multicall', [[call('cancelOpenOrder', [9]), open(LIMIT, 1)]]),
  ],
  ['an order taken back', { kind: 'withdraw', tradeIndex: 2 ** 32 - 1 }, call('cancelOpenOrder', [2 ** 32 - 1])],
  ['a request reclaimed', { kind: 'reclaim', requestIndex: 3 }, call('cancelOrderAfterTimeout', [3])],
];

describe('an intent', () => {
  it.each(CASES)('that is %s becomes what ethers makes of the published ABI', (_name, intent, expected) => {
    expect(encodeIntent(intent, TRADER)).toBe(expected);
  });

  it.each(CASES)('that is %s names the functions it calls, and multicall only when it takes several', (_name, intent, expected) => {
    expect(functionsOf(intent).sort()).toEqual(callsIn(expected).sort());
  });

  it('keeps the golden bytes of an opening and of its delegation', () => {
    const inner = encodeIntent({ kind: 'open', ...TERMS }, TRADER);
    expect(keccak256(inner)).toBe('0x210978a8228c247924fe077b2f66168cf0608b48c9ff539d262eb5f55f710817');
    const wrapped = wrapFor(AGENT, TRADER, inner);
    expect(wrapped).toBe(call('delegatedTradingAction', [TRADER, inner]));
    expect(keccak256(wrapped)).toBe('0x6790f1f063ea1c5f384ae475cf25f7e5beb6e36aa4e1eb6e5da4d9abfe2ed546');
  });

  it('keeps the golden bytes of an increase and of a withdrawal', () => {
    const increase = encodeIntent(
      { kind: 'increase', tradeIndex: 7, collateralDelta: 50_000_000n, leverageDelta: 10_000n, expectedPrice: PRICE, slippageP: 1_000n },
      TRADER,
    );
    const words = [7n, 50_000_000n, 10_000n, PRICE, 1_000n].map((word) => word.toString(16).padStart(64, '0'));
    expect(increase).toBe(`0x24058ad3${words.join('')}`);
    const withdrawal = encodeIntent({ kind: 'withdrawPnl', tradeIndex: 7, amount: 1n }, TRADER);
    expect(withdrawal).toBe(`0x73c96d13${'7'.padStart(64, '0')}${'1'.padStart(64, '0')}`);
  });

  it('of the trader itself is sent bare, however its address is written', () => {
    const inner = encodeIntent({ kind: 'withdraw', tradeIndex: 1 }, '0xAbCdEf1111111111111111111111111111111111');
    expect(wrapFor('0xABCDEF1111111111111111111111111111111111', '0xabcdef1111111111111111111111111111111111', inner)).toBe(inner);
  });

  it('that changes nothing is a mistake of ours, not a transaction', () => {
    expect(() => encodeIntent({ kind: 'protect', tradeIndex: 1, tp: null, sl: null }, TRADER)).toThrow(RangeError);
  });
});

function callsIn(data: string): string[] {
  const found = ethers.parseTransaction({ data });
  const inner = found?.name === 'multicall' ? (found.args[0] as string[]).flatMap(callsIn) : [];
  return [found?.name ?? '', ...inner];
}
