import { createKnownByLooks, type KnownByLooks } from '../../../core/domain/known-by-looks.js';

let known: KnownByLooks;

beforeEach(() => (known = createKnownByLooks()));

describe('what other replicas store', () => {
  it('is read once, and again where no look has come for three seconds', () => {
    expect([0, 500, 2_999, 3_000, 3_500].map((now) => known.beginRead(now))).toEqual([true, false, false, true, false]);
    expect(known.takeLook(5_000)).toBe(true);
    expect([7_999, 8_000].map((now) => known.beginRead(now))).toEqual([false, true]);
  });

  it('is not what a look brings that was asked before the last read or the last look', () => {
    known.beginRead(1_000);
    expect([999, 1_000, 1_001, 1_000].map((askedAt) => known.takeLook(askedAt))).toEqual([false, true, true, false]);
  });

  it('is read at once after it was forgotten, and no look counts before', () => {
    known.beginRead(0);
    known.forget();
    expect([known.isKnown(), known.takeLook(1), known.beginRead(1), known.isKnown()]).toEqual([false, false, true, true]);
  });
});
