import fc from 'fast-check';
import { floorToLot } from '../../../core/domain/decimal.js';
import { joinFills, type ShownFill } from '../../../facade/info/fills.js';
import { excessId, fillOfExcess, showExecutions, type Execution } from '../../../facade/info/shown-fills.js';

const E18 = 10n ** 18n;
const LOT = E18 / 100n;
const size = (text: number): bigint => BigInt(Math.round(text * 1e6)) * 10n ** 12n;

/** Executions of one market that lead from each position to the next. */
function through(positions: readonly number[], orders: readonly (Execution['order'] | null)[] = []): Execution[] {
  const net = positions.map(size);
  return net
    .slice(1)
    .map((after, at) => ({ before: net[at] ?? 0n, after, lot: LOT, at: 1_000 * Math.floor(at / 3), order: orders[at] ?? null }));
}

const ordered = (key: string, text: number): Execution['order'] => ({ key, size: size(text) });
const numbers = (parts: readonly { size: bigint }[]): number[] => parts.map((part) => Number(part.size) / 1e18);

describe('what is executed', () => {
  it('for more than was asked is a fill of the order and one beyond it', () => {
    const [parts = []] = showExecutions(through([0, 3.0303], [ordered('1', 3)]));
    expect(numbers(parts)).toEqual([3, 0.03]);
    expect(parts.map(({ isExcess, start }) => [isExcess, start])).toEqual([
      [false, 0n],
      [true, size(3)],
    ]);
  });

  it('with half a lot to spare is exactly what was asked', () =>
    expect(showExecutions(through([0, 3.005], [ordered('1', 3)])).map(numbers)).toEqual([[3]]));

  it('in several steps of one order comes to no more than the order', () => {
    const order = ordered('1', 2.01);
    expect(showExecutions(through([2.01, 1.005, 0], [order, order])).map(numbers)).toEqual([[1.01], [1]]);
    expect(showExecutions(through([2.02, 1.005, 0], [order, order])).map(numbers)).toEqual([[1.02], [0.99, 0.01]]);
  });

  it('of an order that named no size is all its own', () => expect(showExecutions(through([3.0303, 0])).map(numbers)).toEqual([[3.03]]));

  it('below what the lot shows is no fill', () => expect(showExecutions(through([3.001, 3.004])).map(numbers)).toEqual([[]]));

  it('within one second differs by milliseconds, in the order of the chain', () => {
    const shown = showExecutions(through([0, 1.505, 2.505, 1.5, 0.5], [ordered('1', 1)])).flat();
    expect(shown.map(({ time }) => time)).toEqual([0, 1, 2, 4, 1_000]);
  });
});

describe('the number of what is beyond an order', () => {
  it('leads back to its fill, fits the numbers of clients, and is never that of an order', () => {
    expect(fillOfExcess(excessId(7n))).toBe(7n);
    expect(fillOfExcess(7n)).toBeNull();
    expect(Number(excessId(2n ** 51n))).toBeLessThan(Number.MAX_SAFE_INTEGER);
  });
});

describe('any sequence of openings, partial closes and flips', () => {
  const step = fc.record({
    moves: fc.bigInt({ min: -5n * E18, max: 5n * E18 }),
    order: fc.option(fc.record({ key: fc.constantFrom('a', 'b', 'c'), lots: fc.integer({ min: 1, max: 900 }) })),
    closes: fc.boolean(),
  });

  const executionsOf = (steps: readonly { moves: bigint; order: { key: string; lots: number } | null; closes: boolean }[]): Execution[] => {
    const sizes = new Map<string, bigint>();
    let before = 0n;
    return steps.map(({ moves, order, closes }, at) => {
      const after = closes ? 0n : before + moves;
      // An order keeps the size it was sent with.
      if (order && !sizes.has(order.key)) sizes.set(order.key, BigInt(order.lots) * LOT);
      const of = order && { key: order.key, size: sizes.get(order.key) ?? 0n };
      const execution = { before, after, lot: LOT, at: 1_000 * Math.floor(at / 4), order: of };
      before = after;
      return execution;
    });
  };

  it('adds up to the shown position, each fill begins where the last one ended, and no order is filled beyond its size', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const executions = executionsOf(steps);
        const shown = showExecutions(executions);
        const filled = new Map<string, bigint>();
        let position = 0n;
        let last = -1;
        for (const [at, parts] of shown.entries()) {
          const { before = 0n, after = 0n, order = null } = executions[at] ?? {};
          for (const part of parts) {
            expect(part.start).toBe(position);
            expect(part.size % LOT).toBe(0n);
            expect(part.time).toBeGreaterThan(last);
            last = part.time;
            position += after > before ? part.size : -part.size;
            if (order && !part.isExcess) filled.set(order.key, (filled.get(order.key) ?? 0n) + part.size);
          }
          expect(position).toBe(floorToLot(after, LOT));
        }
        for (const { order } of executions) if (order) expect(filled.get(order.key) ?? 0n).toBeLessThanOrEqual(order.size);
      }),
    );
  });

  it('shows the same fills when it is read again after more has happened', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 20 }), fc.nat(), (steps, cut) => {
        const executions = executionsOf(steps);
        const early = cut % executions.length;
        expect(showExecutions(executions).slice(0, early)).toEqual(showExecutions(executions.slice(0, early)));
      }),
    );
  });
});

describe('fills that are joined', () => {
  const asset = { coin: 'SOL', szDecimals: 2, multiplier: 1n } as ShownFill['asset'];
  const fill = (oid: number, hash: string, at: number, [sz, price]: [string, bigint]): ShownFill =>
    ({
      asset,
      part: { size: size(Number(sz)), start: 0n, isExcess: false, time: at },
      fill: { executed: { price: price * 10n ** 10n } },
      wire: { oid, hash, time: at, tid: at, sz, px: `${price}.0`, fee: '0.1', closedPnl: '1.5', startPosition: '3.0' },
    }) as unknown as ShownFill;

  it('are those of one order in one transaction, at their average price', () => {
    const fills = [
      fill(1, '0xa', 1, ['1.0', 100n]),
      fill(1, '0xa', 2, ['3.0', 104n]),
      fill(2, '0xa', 3, ['1.0', 100n]),
      fill(1, '0xb', 4, ['1.0', 90n]),
    ];
    expect(joinFills(fills)).toEqual([
      { ...fills[0]?.wire, sz: '4.0', px: '103.00', fee: '0.2', closedPnl: '3.0' },
      fills[2]?.wire,
      fills[3]?.wire,
    ]);
  });
});
