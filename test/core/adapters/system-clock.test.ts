import { systemClock, systemRandom } from '../../../core/adapters/system/clock.js';

describe('the clock of the machine', () => {
  it('takes a deadline that has passed as due now, without a warning of the runtime', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', note);
    await new Promise<void>((resolve) => systemClock.after(-5, resolve));
    await systemClock.sleep(-5);
    await new Promise(setImmediate);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});

describe('random bytes of the system', () => {
  it('are as many as requested, also more than are kept in stock, and none are repeated', () => {
    const sizes = [16, 0, 4_095, 5_000, ...Array.from({ length: 2_000 }, () => 16)];
    const taken = sizes.map((size) => Buffer.from(systemRandom(size)));
    expect(taken.map(({ length }) => length)).toEqual(sizes);
    const ids = taken.filter(({ length }) => length === 16).map((bytes) => bytes.toString('hex'));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('give no access to bytes that others get later', () => {
    expect(systemRandom(16).buffer.byteLength).toBe(16);
  });

  it.each([-1, 1.5, Number.NaN])('are refused for %p bytes', (count) => {
    expect(() => systemRandom(count)).toThrow(RangeError);
  });
});
