import { createGate } from '../../../../core/adapters/backend/price-book.js';

describe('a price far from the last one', () => {
  it('is not accepted while it is a single tick', () => {
    const gate = createGate();
    gate.pass(100n, 0);
    expect(gate.pass(1000n, 10)).toBeNull();
    expect(gate.pass(101n, 20)).toBe(101n);
    expect(gate.pass(1000n, 30)).toBeNull();
    expect(gate.pass(102n, 40)).toBe(102n);
  });

  it('is accepted when three ticks agree over half a second', () => {
    const gate = createGate();
    gate.pass(100n, 0);
    expect(gate.pass(60n, 100)).toBeNull();
    expect(gate.pass(61n, 300)).toBeNull();
    expect(gate.pass(60n, 599)).toBeNull();
    expect(gate.pass(62n, 600)).toBe(62n);
    expect(gate.pass(63n, 601)).toBe(63n);
  });

  it('is not accepted when the far ticks disagree with each other', () => {
    const gate = createGate();
    gate.pass(100n, 0);
    const answers = [1000n, 10n, 5000n, 1n, 900n].map((price, at) => gate.pass(price, 500 * (at + 1)));
    expect(answers).toEqual([null, null, null, null, null]);
  });

  it('is accepted at once after a minute without an accepted price', () => {
    const gate = createGate();
    gate.pass(100n, 0);
    expect(gate.pass(200n, 60_001)).toBe(200n);
  });
});
