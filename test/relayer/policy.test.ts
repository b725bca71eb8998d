import { encodeFunctionData } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { Intent, OpenTerms } from '../../core/domain/intent.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import type { Address, Hex } from '../../core/types.js';
import type { RelayJob, RelayPurpose, SignedAction } from '../../core/ports/stores/relay.js';
import { isPaidAlways, refusalOf, type JobNature } from '../../relayer/policy.js';

const TRADER: Address = `0x${'12'.repeat(20)}`;
const WALLET: Address = `0x${'34'.repeat(20)}`;
const ACTION = { chain: 'arbitrum-sepolia', trader: TRADER } as SignedAction;

const terms: OpenTerms = {
  type: 'limit',
  pairIndex: 0,
  collateralIndex: 1,
  long: true,
  leverage: 10_000n,
  collateralAmount: 1_000_000n,
  price: 10n ** 15n,
  tp: 0n,
  sl: 0n,
  slippageP: 1_000n,
};

/** What the operator's rules are asked about a call; null when they are not asked at all. */
async function askedAbout(intent: Intent, kind = 'order', purpose: RelayPurpose = 'action'): Promise<JobNature | null> {
  const inner = encodeIntent(intent, TRADER);
  const job = { chain: ACTION.chain, wallet: WALLET, trader: TRADER, purpose, gas: 1n, context: { kind } };
  let asked: JobNature | null = null;
  const refusal = await refusalOf({ ...job, data: wrapFor(WALLET, TRADER, inner) } as unknown as RelayJob, ACTION, {
    maxGas: 2n,
    reencode: () => Promise.resolve<readonly Hex[]>([inner]),
    guard(_job, nature) {
      asked = nature;
      return Promise.resolve(null);
    },
  });
  expect(refusal).toBeNull();
  return asked;
}

describe("the operator's rules, before a signature", () => {
  it('are asked about what opens, and about levels and margin', async () => {
    expect(await askedAbout({ kind: 'open', ...terms })).toBe('opens');
    expect(await askedAbout({ kind: 'replace', tradeIndex: 1, by: terms })).toBe('opens');
    expect(await askedAbout({ kind: 'protect', tradeIndex: 1, tp: null, sl: 5n, slippageP: 2_000n })).toBe('cares');
    expect(await askedAbout({ kind: 'leverage', tradeIndex: 1, leverage: 5_000n }, 'margin')).toBe('cares');
  });

  it('are asked about a way out as such, although a close sets its slippage with it', async () => {
    const close = { tradeIndex: 1, expectedPrice: 10n ** 15n };
    for (const slippageP of [null, 1_000n]) {
      expect(await askedAbout({ kind: 'close', ...close, slippageP })).toBe('exits');
      expect(await askedAbout({ kind: 'decrease', ...close, collateralDelta: 5n, slippageP })).toBe('exits');
    }
    expect(await askedAbout({ kind: 'withdraw', tradeIndex: 1 }, 'cancel')).toBe('exits');
    expect(await askedAbout({ kind: 'protect', tradeIndex: 1, tp: 0n, sl: null }, 'cancel')).toBe('exits');
    expect(await askedAbout({ kind: 'reclaim', requestIndex: 1 }, 'cancel')).toBe('exits');
  });

  it('are never asked about what is taken back by itself', async () => {
    const close = { kind: 'close', tradeIndex: 1, expectedPrice: 10n ** 15n, slippageP: null } as const;
    expect(await askedAbout(close, 'flatten', 'scheduled-cancel')).toBeNull();
    expect(await askedAbout({ kind: 'withdraw', tradeIndex: 1 }, 'cancel', 'scheduled-cancel')).toBeNull();
    expect(await askedAbout({ kind: 'reclaim', requestIndex: 1 }, 'cancel', 'reclaim')).toBeNull();
  });
});

describe('a call that no action of a bot means', () => {
  const increase = {
    kind: 'increase',
    tradeIndex: 1,
    collateralDelta: 5n,
    leverageDelta: 1_000n,
    expectedPrice: 1n,
    slippageP: 1n,
  } as const;
  const withdrawal = { kind: 'withdrawPnl', tradeIndex: 1, amount: 5n } as const;
  const purposes: readonly RelayPurpose[] = ['action', 'scheduled-cancel', 'reclaim'];
  const multicall = (calls: readonly Hex[]): Hex => encodeFunctionData({ abi: diamondAbi, functionName: 'multicall', args: [calls] });

  it.each([increase, withdrawal])('is not signed, whatever the rows say it was derived from: $kind', async (intent) => {
    const bare = encodeIntent(intent, TRADER);
    for (const inner of [bare, multicall([encodeIntent({ kind: 'withdraw', tradeIndex: 1 }, TRADER), bare])])
      for (const purpose of purposes) {
        const job = { chain: ACTION.chain, wallet: WALLET, trader: TRADER, purpose, gas: 1n, context: { kind: 'order' } };
        const refusal = await refusalOf({ ...job, data: wrapFor(WALLET, TRADER, inner) } as unknown as RelayJob, ACTION, {
          maxGas: 2n,
          reencode: () => Promise.resolve<readonly Hex[]>([inner]),
        });
        expect(refusal).toEqual({ reason: 'policy', note: 'it calls something that is not on the list' });
      }
  });
});

describe('the time that a client gave its action', () => {
  const inner = encodeIntent({ kind: 'withdraw', tradeIndex: 1 }, TRADER);
  const judged = (purpose: RelayPurpose, isExpired: boolean) =>
    refusalOf(
      {
        ...{ chain: ACTION.chain, wallet: WALLET, trader: TRADER, purpose, gas: 1n, context: { kind: 'cancel' } },
        data: wrapFor(WALLET, TRADER, inner),
      } as unknown as RelayJob,
      ACTION,
      { maxGas: 2n, reencode: () => Promise.resolve<readonly Hex[]>([inner]), isExpired: () => isExpired },
    );

  it('is looked at once more before the first signature', async () => {
    expect(await judged('action', true)).toEqual({ reason: 'too-late', note: 'Action already expired' });
    expect(await judged('action', false)).toBeNull();
  });

  it('keeps nothing from being taken back', async () => {
    expect(await judged('reclaim', true)).toBeNull();
    expect(await judged('scheduled-cancel', true)).toBeNull();
  });
});

it('an action that is no proof of what its trader wants is not signed for', async () => {
  const inner = encodeIntent({ kind: 'withdraw', tradeIndex: 1 }, TRADER);
  const job = { chain: ACTION.chain, wallet: WALLET, trader: TRADER, purpose: 'action', gas: 1n, data: wrapFor(WALLET, TRADER, inner) };
  const refusal = await refusalOf(job as unknown as RelayJob, ACTION, {
    maxGas: 2n,
    reencode: () => Promise.resolve<readonly Hex[]>([inner]),
    verify: () => ({ reason: 'policy', note: 'its signature is not that of its signer' }),
  });
  expect(refusal).toEqual({ reason: 'policy', note: 'its signature is not that of its signer' });
});

describe('whatever was spent, a wallet pays for', () => {
  const close: Intent = { kind: 'close', tradeIndex: 1, expectedPrice: 10n ** 15n, slippageP: null };
  it.each<[string, RelayPurpose, Intent, boolean]>([
    ['a close', 'action', close, true],
    ['what it does by itself', 'reclaim', { kind: 'reclaim', requestIndex: 1 }, true],
    ['no change of margin', 'action', { kind: 'leverage', tradeIndex: 1, leverage: 5_000n }, false],
    ['no opening', 'action', { kind: 'open', ...terms }, false],
  ])('%s', (_what, purpose, intent, isPaid) => {
    const job = { purpose, trader: TRADER, context: null, data: wrapFor(WALLET, TRADER, encodeIntent(intent, TRADER)) };
    expect(isPaidAlways(job as unknown as RelayJob)).toBe(isPaid);
  });
});
