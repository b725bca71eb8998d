import fc from 'fast-check';
import {
  careQuota,
  exitQuota,
  dayStart,
  guardRefusal,
  NO_RULES,
  nextDay,
  type AskedOpening,
  type GuardFacts,
  type RelayRules,
} from '../../../../core/domain/relay/guardrails.js';

const NOW = Date.UTC(2026, 10, 15, 9, 30);
const usd = fc.bigInt({ min: 0n, max: 10n ** 24n });
const nullable = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });

const facts = fc.record({
  now: fc.constant(NOW),
  openNotionalUsd: usd,
  dayPnlUsd: fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }),
  minute: fc.array(fc.integer({ min: NOW - 120_000, max: NOW }), { maxLength: 20 }),
  dayTransactions: fc.nat(100),
});
const rules = fc.record({
  access: fc.constantFrom('allowed' as const, 'blocked' as const),
  reduceOnly: fc.boolean(),
  maxOpenNotionalUsd: nullable(usd),
  maxDailyLossUsd: nullable(usd),
  ordersPerMinute: nullable(fc.integer({ min: 1, max: 20 })),
  dailyTransactions: nullable(fc.nat(100)),
});
const asked = fc.record({ notionalUsd: usd, insteadUsd: fc.constant(0n), freedUsd: usd });

const at = (changes: Partial<GuardFacts> = {}): GuardFacts => ({
  now: NOW,
  openNotionalUsd: 0n,
  dayPnlUsd: 0n,
  minute: [],
  dayTransactions: 0,
  ...changes,
});
const only = (changes: Partial<RelayRules>): RelayRules => ({ ...NO_RULES, ...changes });
const opening = (notionalUsd: bigint, insteadUsd = 0n): AskedOpening => ({ notionalUsd, insteadUsd, freedUsd: 0n });

describe('the rules of an operator', () => {
  it('let everything pass where nothing is bounded', () => {
    fc.assert(fc.property(facts, asked, (known, order) => expect(guardRefusal(NO_RULES, known, order)).toBeNull()));
  });

  it('let an opening pass only where every bound still holds with it', () => {
    fc.assert(
      fc.property(rules, facts, asked, (rule, known, order) => {
        const recent = known.minute.filter((time) => time > NOW - 60_000).length;
        const holds =
          rule.access === 'allowed' &&
          !rule.reduceOnly &&
          (rule.maxOpenNotionalUsd === null ||
            known.openNotionalUsd + order.notionalUsd - order.freedUsd <= rule.maxOpenNotionalUsd ||
            order.notionalUsd === 0n) &&
          (rule.maxDailyLossUsd === null || known.dayPnlUsd >= 0n || -known.dayPnlUsd < rule.maxDailyLossUsd) &&
          (rule.ordersPerMinute === null || recent + 1 <= rule.ordersPerMinute) &&
          (rule.dailyTransactions === null || known.dayTransactions + 1 <= rule.dailyTransactions);
        expect(guardRefusal(rule, known, order) === null).toBe(holds);
      }),
    );
  });

  it('never loosen when a bound is tightened', () => {
    fc.assert(
      fc.property(rules, facts, asked, usd, (rule, known, order, less) => {
        const bound = rule.maxOpenNotionalUsd ?? 10n ** 30n;
        const tighter = { ...rule, maxOpenNotionalUsd: less < bound ? less : bound };
        if (guardRefusal(rule, known, order) !== null) expect(guardRefusal(tighter, known, order)).not.toBeNull();
      }),
    );
  });

  it('say when a window frees, and then let the same order pass', () => {
    fc.assert(
      fc.property(facts, fc.integer({ min: 1, max: 10 }), (known, bound) => {
        const rule = only({ ordersPerMinute: bound });
        const refusal = guardRefusal(rule, known, opening(1n));
        if (refusal === null) return;
        if (refusal.rule !== 'orders-per-minute') throw new Error(refusal.rule);
        expect(refusal.freesAt).toBeGreaterThan(NOW);
        expect(guardRefusal(rule, { ...known, now: refusal.freesAt }, opening(1n))).toBeNull();
        expect(guardRefusal(rule, { ...known, now: refusal.freesAt - 1 }, opening(1n))).not.toBeNull();
      }),
    );
  });

  it('name the bound and what is there', () => {
    expect(guardRefusal(only({ maxOpenNotionalUsd: 100n }), at({ openNotionalUsd: 60n }), opening(41n))).toEqual({
      rule: 'open-notional',
      boundUsd: 100n,
      openUsd: 60n,
      askedUsd: 41n,
    });
    expect(guardRefusal(only({ maxOpenNotionalUsd: 100n }), at({ openNotionalUsd: 60n }), opening(40n))).toBeNull();
    expect(guardRefusal(only({ maxDailyLossUsd: 5n }), at({ dayPnlUsd: -5n }), opening(1n))).toEqual({
      rule: 'daily-loss',
      boundUsd: 5n,
      lossUsd: 5n,
      freesAt: Date.UTC(2026, 10, 16),
    });
    expect(guardRefusal(only({ dailyTransactions: 3 }), at({ dayTransactions: 3 }), opening(1n))).toEqual({
      rule: 'daily-transactions',
      bound: 3,
      used: 3,
      freesAt: Date.UTC(2026, 10, 16),
    });
  });

  it('let a smaller order stand in for a larger one although the bound was lowered below both', () => {
    const rule = only({ maxOpenNotionalUsd: 10n });
    expect(guardRefusal(rule, at({ openNotionalUsd: 50n }), opening(40n, 40n))).toBeNull();
    expect(guardRefusal(rule, at({ openNotionalUsd: 50n }), opening(41n, 40n))).toMatchObject({ rule: 'open-notional' });
  });

  it('leave a loss bound of nothing to days without a loss', () => {
    expect(guardRefusal(only({ maxDailyLossUsd: 0n }), at(), opening(1n))).toBeNull();
    expect(guardRefusal(only({ maxDailyLossUsd: 0n }), at({ dayPnlUsd: -1n }), opening(1n))).toMatchObject({ rule: 'daily-loss' });
  });
});

describe('the day of a quota', () => {
  it('is the day of UTC', () => {
    expect(dayStart(NOW)).toBe(Date.UTC(2026, 10, 15));
    expect(nextDay(dayStart(NOW))).toBe(Date.UTC(2026, 10, 16));
  });

  it('leaves more to levels and margin than to openings', () => {
    fc.assert(fc.property(fc.nat(1_000_000), (quota) => expect(careQuota(quota)).toBeGreaterThanOrEqual(quota + 100)));
  });

  it('leaves a further four times as much, and at least a thousand, to closes and cancels', () => {
    expect([0, 10, 250, 251, 1_000].map(exitQuota)).toEqual([1_000, 1_010, 1_250, 1_255, 5_000]);
  });
});
