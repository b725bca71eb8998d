import fc from 'fast-check';
import { GatewayError } from '../../core/errors.js';
import { WINDOW_MS, measureWindow, refuseExceeded, tightestWindow, windowStart, type Window } from '../../core/access/limits.js';

const window = (changes: Partial<Window>): Window => ({
  scope: 'ip',
  limit: 600,
  remaining: 10,
  resetSeconds: 5,
  isExceeded: false,
  ...changes,
});

describe('a window', () => {
  it('is one minute of the clock: every moment lies in exactly one, and its end is 1 to 60 seconds away', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8.64e15 }), (now) => {
        const start = windowStart(now);
        const { resetSeconds } = measureWindow('ip', 1, 1, now);
        expect(start % WINDOW_MS).toBe(0);
        expect(start <= now && now < start + WINDOW_MS).toBe(true);
        expect(Number.isInteger(resetSeconds) && resetSeconds >= 1 && resetSeconds <= 60).toBe(true);
        expect(windowStart(now + resetSeconds * 1000)).toBe(start + WINDOW_MS);
      }),
    );
  });

  it.each([
    [1, 2, false],
    [3, 0, false],
    [4, 0, true],
    [400, 0, true],
  ])('of three requests after %d has %d left; exceeded: %s', (used, remaining, isExceeded) => {
    expect(measureWindow('agent', 3, used, 1_000)).toEqual({ scope: 'agent', limit: 3, remaining, resetSeconds: 59, isExceeded });
  });
});

describe('the tightest window', () => {
  it('is the one with the least left', () => {
    const tight = window({ scope: 'agent', remaining: 9 });
    expect(tightestWindow([window({}), tight, window({ scope: 'agent-writes', remaining: 30 })])).toBe(tight);
  });

  it('is an exceeded one before an empty one, and of equals the smaller', () => {
    const exceeded = window({ scope: 'agent-writes', remaining: 0, isExceeded: true });
    expect(tightestWindow([window({ remaining: 0, limit: 1 }), exceeded])).toBe(exceeded);
    const small = window({ scope: 'agent', limit: 300 });
    expect(tightestWindow([window({}), small])).toBe(small);
    expect(tightestWindow([small, window({})])).toBe(small);
  });

  it('of none is none', () => expect(tightestWindow([])).toBeNull());
});

describe('an exceeded window', () => {
  it('refuses with its scope and the seconds to wait', () => {
    const refuse = (): void => refuseExceeded([window({}), window({ scope: 'agent-writes', isExceeded: true, resetSeconds: 17 })]);
    expect(refuse).toThrow(GatewayError);
    expect(refuse).toThrow(new GatewayError('RATE_LIMITED', { scope: 'agent-writes', retryAfterSeconds: 17 }));
  });

  it('is the only thing that refuses', () => expect(() => refuseExceeded([window({ remaining: 0 })])).not.toThrow());
});
