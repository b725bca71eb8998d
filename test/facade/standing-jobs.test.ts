import { PENDING_TYPE } from '../../core/domain/interpret-executions.js';
import type { Intent, OpenTerms } from '../../core/domain/intent.js';
import type { ListedOrders } from '../../core/ports/account-chain.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import type { Address, Hex } from '../../core/types.js';
import { standingJobs, standingOf } from '../../facade/trade/standing-jobs.js';

const TRADER: Address = `0x${'12'.repeat(20)}`;
const OTHER: Address = `0x${'21'.repeat(20)}`;
const WALLET: Address = `0x${'34'.repeat(20)}`;

const jobOf = (data: Hex, context: unknown = null, trader = TRADER): RelayJob => ({ id: 1n, trader, data, context }) as RelayJob;
const job = (intent: Intent, context: unknown = null, trader = TRADER): RelayJob =>
  jobOf(wrapFor(WALLET, trader, encodeIntent(intent, trader)), context, trader);

interface Held {
  /** Collateral of open trades, by index. */
  readonly positions?: Readonly<Record<number, bigint>>;
  readonly resting?: readonly number[];
  readonly pending?: readonly { readonly index: number; readonly trade: number; readonly orderType: number }[];
}

const held = ({ positions = {}, resting = [], pending = [] }: Held): ListedOrders =>
  ({
    positions: Object.entries(positions).map(([index, collateralAmount]) => ({ trade: { index: Number(index), collateralAmount } })),
    resting: resting.map((index) => ({ trade: { index } })),
    pending: pending.map(({ index, trade, orderType }) => ({ index, orderType, trade: { index: trade } })),
  }) as unknown as ListedOrders;

const terms: OpenTerms = {
  ...{ type: 'market', pairIndex: 0, collateralIndex: 1, long: true, leverage: 10_000n, collateralAmount: 5n },
  ...{ price: 10n ** 15n, tp: 0n, sl: 0n, slippageP: 1_000n },
};
const closeOf = (tradeIndex: number, slippageP: bigint | null = null) =>
  ({ kind: 'close', tradeIndex, expectedPrice: 10n ** 15n, slippageP }) as const;
const decrease: Intent = { ...closeOf(2, 500n), kind: 'decrease', collateralDelta: 5n };
const amend: Intent = { kind: 'amend', tradeIndex: 2, price: 1n, tp: 0n, sl: 0n, slippageP: 1n };
const margin: Intent = { kind: 'leverage', tradeIndex: 2, leverage: 5_000n };
const two: Held = { positions: { 2: 70n, 3: 80n } };
const trades = [
  { tradeIndex: 2, collateralAmount: 70n },
  { tradeIndex: 3, collateralAmount: 80n },
];

describe('what a job closes, cancels or changes', () => {
  it.each<[string, RelayJob, Held, 'stands' | 'gone']>([
    ['a close of an open trade', job(closeOf(2)), two, 'stands'],
    ['a close with its slippage', job(closeOf(2, 500n)), two, 'stands'],
    ['a close of the only trade that is not there', job(closeOf(4)), two, 'gone'],
    ['a close of the size it was made for', job(closeOf(3), { context: { trades } }), two, 'stands'],
    ['a close made for another size', job(closeOf(2), { context: { trades } }), { positions: { 2: 35n } }, 'gone'],
    ['a part of a trade', job(decrease, { context: { trades } }), two, 'stands'],
    ['a part of a trade that shrank', job(decrease, { context: { trades } }), { positions: { 2: 65n } }, 'gone'],
    ['two closes', job({ kind: 'reduce', parts: [closeOf(2), closeOf(3)] }, { context: { trades } }), two, 'stands'],
    ['two closes, one of them done', job({ kind: 'reduce', parts: [closeOf(2), closeOf(3)] }), { positions: { 3: 80n } }, 'gone'],
    ['margin', job(margin, { context: { tradeIndex: 2, collateralAmount: 70n } }), two, 'stands'],
    ['margin that was moved', job(margin, { context: { tradeIndex: 2, collateralAmount: 71n } }), two, 'gone'],
    ['levels of a trade', job({ kind: 'protect', tradeIndex: 2, tp: 5n, sl: 0n, slippageP: 9n }), two, 'stands'],
    ['levels of a trade that is closed', job({ kind: 'protect', tradeIndex: 4, tp: 5n, sl: null }), two, 'gone'],
    ['a cancel', job({ kind: 'withdraw', tradeIndex: 2 }), { resting: [2] }, 'stands'],
    ['a cancel of what was executed', job({ kind: 'withdraw', tradeIndex: 2 }), two, 'gone'],
    ['a change of a resting order', job(amend), { resting: [2] }, 'stands'],
    ['a change of another resting order', job(amend), { resting: [3] }, 'gone'],
    ['a reclaim', job({ kind: 'reclaim', requestIndex: 6 }), { pending: [{ index: 6, trade: 0, orderType: 0 }] }, 'stands'],
    [
      'a reclaim of what was answered',
      job({ kind: 'reclaim', requestIndex: 6 }),
      { pending: [{ index: 7, trade: 6, orderType: 0 }] },
      'gone',
    ],
    ['an opening', job({ kind: 'open', ...terms }), two, 'gone'],
    ['a replacement', job({ kind: 'replace', tradeIndex: 2, by: terms }), { resting: [2] }, 'gone'],
    ['a call that is not the contract’s', jobOf('0x12345678'), two, 'gone'],
    ['no call', jobOf('0x'), two, 'gone'],
    ['half a call', jobOf(job(closeOf(2)).data.slice(0, 90) as Hex), two, 'gone'],
  ])('%s', (_what, asked, there, standing) => {
    expect(standingOf(asked, held(there))).toBe(standing);
  });

  it.each<[string, RelayJob, boolean, bigint | null, 'stands' | 'outpriced']>([
    ['a long at its bound', job(closeOf(2, 500n)), true, 995n * 10n ** 12n, 'stands'],
    ['a long below its bound', job(closeOf(2, 500n)), true, 995n * 10n ** 12n - 1n, 'outpriced'],
    ['a long in a market that rose', job(closeOf(2, 500n)), true, 2n * 10n ** 15n, 'stands'],
    ['a short at its bound', job(closeOf(2, 500n)), false, 1_005n * 10n ** 12n, 'stands'],
    ['a short above its bound', job(closeOf(2, 500n)), false, 1_005n * 10n ** 12n + 1n, 'outpriced'],
    ['a part of a long below its bound', job(decrease), true, 9n * 10n ** 14n, 'outpriced'],
    ['a close with the bound of the contract', job(closeOf(2)), true, 1n, 'stands'],
    ['a close without a price of the market', job(closeOf(2, 500n)), true, null, 'stands'],
  ])('has a price: %s', (_what, asked, long, price, standing) => {
    const positions = [{ trade: { index: 2, collateralAmount: 70n, pairIndex: 7, long } }];
    const there = { ...held({}), positions } as unknown as ListedOrders;
    expect(standingOf(asked, there, (pairIndex) => (pairIndex === 7 ? price : null))).toBe(standing);
  });

  it('is not known while the chain cannot be read', () => {
    expect(standingOf(job(closeOf(2)), null)).toBe('unknown');
    expect(standingOf(jobOf('0x'), null)).toBe('gone');
  });

  it('is being changed already where a request on the trade waits, as after the same job was sent', () => {
    const [close, first] = [job(closeOf(2)), job(closeOf(0))];
    const pending = [{ index: 6, trade: 2, orderType: PENDING_TYPE.marketClose }];
    expect(standingOf(close, held({ ...two, pending }))).toBe('gone');
    expect(standingOf(first, held({ positions: { 0: 9n, 2: 70n }, pending }))).toBe('stands');
  });

  it('is not changed by an opening that waits: it has no trade yet, and says 0', () => {
    const pending = [{ index: 6, trade: 0, orderType: PENDING_TYPE.marketOpen }];
    expect(standingOf(job(closeOf(0)), held({ positions: { 0: 9n }, pending }))).toBe('stands');
  });
});

it('reads each trader once at one block, and one that fails holds up no other', async () => {
  const asked: unknown[] = [];
  const chain = {
    head: () => Promise.resolve({ number: 77n }),
    openOrders(trader: Address, block: bigint) {
      asked.push([trader, block]);
      return trader === OTHER ? Promise.reject(new Error('no answer')) : Promise.resolve(held(two));
    },
  } as unknown as Parameters<typeof standingJobs>[0];
  const jobs = [job(closeOf(2)), job(closeOf(4)), job(closeOf(2), null, OTHER)].map((each, id) => ({ ...each, id: BigInt(id) }));
  expect([...(await standingJobs(chain, jobs)).values()]).toEqual(['stands', 'gone', 'unknown']);
  expect(asked).toEqual([
    [TRADER, 77n],
    [OTHER, 77n],
  ]);
});
