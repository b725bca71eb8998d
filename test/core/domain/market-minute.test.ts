import fc from 'fast-check';
import { FILL_ACTIONS, type Executed } from '../../../core/domain/chain-event.js';
import { MINUTE_MS } from '../../../core/domain/candle.js';
import { baseOfExecution, minutesOf, type MarketMinute } from '../../../core/domain/market-minute.js';

const START = Date.UTC(2026, 0, 5);

const execution = (changes: Partial<Executed> & { readonly at?: number; readonly pairIndex?: number } = {}): Executed => {
  const { at = START, pairIndex = 0, ...others } = changes;
  const terms = { pairIndex, collateralIndex: 3, long: true, leverage: 10_000n, collateralAmount: 1n, openPrice: 1n, tp: 0n, sl: 0n };
  return {
    kind: 'executed',
    action: 'open',
    trader: '0x1',
    orderKey: 'request:0',
    tradeIndex: 0,
    place: { blockNumber: 1n, blockHash: '0x1', txHash: '0x1', logIndex: 0, at },
    terms,
    price: 1n,
    oraclePrice: 1n,
    sizeCollateral: 1n,
    sizeToken: 10n ** 18n,
    collateral: 1n,
    grossPnl: 0n,
    netPnl: 0n,
    fee: 0n,
    collateralPriceUsd: 10n ** 8n,
    after: null,
    ...others,
  };
};

const executions: fc.Arbitrary<Executed[]> = fc.array(
  fc
    .record({
      action: fc.constantFrom(...FILL_ACTIONS, 'withdraw' as const),
      sizeToken: fc.bigInt({ min: 0n, max: 10n ** 24n }),
      collateralPriceUsd: fc.bigInt({ min: 1n, max: 10n ** 12n }),
      pairIndex: fc.integer({ min: 0, max: 2 }),
      at: fc.integer({ min: 0, max: 3 * MINUTE_MS }).map((ms) => START + ms),
    })
    .map(execution),
  { maxLength: 30 },
);

/** What the rows hold after several additions; minutes of which nothing is left are left out. */
function rowsAfter(additions: readonly (readonly MarketMinute[])[]): Map<string, string> {
  const rows = new Map<string, MarketMinute>();
  for (const { pairIndex, time, base, trades } of additions.flat()) {
    const key = `${pairIndex} ${time}`;
    const known = rows.get(key) ?? { base: 0n, trades: 0 };
    rows.set(key, { pairIndex, time, base: known.base + base, trades: known.trades + trades });
  }
  return new Map(
    [...rows]
      .filter(([, { base, trades }]) => base !== 0n || trades !== 0)
      .map(([key, { base, trades }]) => [key, `${base} ${trades}`] as const)
      .sort(([a], [b]) => a.localeCompare(b)),
  );
}

const counted = (trades: readonly Executed[], isOrphaned = false): MarketMinute[] =>
  minutesOf(trades.map((executed) => ({ executed, isOrphaned })));

describe('the minutes of a market', () => {
  it('hold base units at the price of the collateral when the trade was opened', () => {
    const closed = execution({ action: 'close', sizeToken: 3n * 10n ** 18n, entryPriceUsd: 2n * 10n ** 8n, collateralPriceUsd: 10n ** 8n });
    expect(counted([closed])).toEqual([{ pairIndex: 0, time: START, base: 6n * 10n ** 18n, trades: 1 }]);
    expect(baseOfExecution(execution({ sizeToken: 1n, collateralPriceUsd: 199_999_999n }))).toBe(1n);
  });

  it('count every execution that changes a size, and neither a change of leverage nor a withdrawal', () => {
    const all = [...FILL_ACTIONS, 'withdraw' as const].map((action) => execution({ action }));
    expect(counted(all)).toMatchObject([{ trades: FILL_ACTIONS.length - 1 }]);
  });

  it('belong to the minute of the block and to one market', () => {
    const found = counted([
      execution({ pairIndex: 1, at: START + MINUTE_MS - 1 }),
      execution({ at: START + MINUTE_MS }),
      execution({ pairIndex: 1, at: START }),
    ]);
    expect(found.map(({ pairIndex, time, trades }) => [pairIndex, time - START, trades])).toEqual([
      [0, MINUTE_MS, 1],
      [1, 0, 2],
    ]);
  });

  it('are the same in whatever steps executions are counted, and as if those of a lost branch had never been', () => {
    fc.assert(
      fc.property(executions, executions, fc.nat(30), (kept, lost, cut) => {
        const all = [...kept, ...lost];
        const steps = [counted(all.slice(0, cut)), counted(all.slice(cut)), counted(lost.toReversed(), true)];
        expect(rowsAfter(steps)).toEqual(rowsAfter([counted(kept)]));
      }),
    );
  });
});
