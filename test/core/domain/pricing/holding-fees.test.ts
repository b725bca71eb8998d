import fc from 'fast-check';
import { accruedFunding, APR_UNIT, aprMultipliers, fundingRates, fundingVelocity } from '../../../../core/domain/pricing/funding.js';
import { formatDecimal } from '../../../../core/domain/decimal.js';
import { fundingSnapshot } from '../../../../core/markets/funding.js';
import { E18, E8 } from '../../../../core/domain/pricing/units.js';
import { magnitude, SEED } from './arbitraries.js';
import { goldenMarket, price, USDC, withState } from './fixture.js';

const runs = { seed: SEED, numRuns: 1000 };
const CAP = 317_097n;
const signed = (lowest: number, highest: number): fc.Arbitrary<bigint> =>
  fc.tuple(magnitude(lowest, highest), fc.boolean()).map(([value, negative]) => (negative ? -value : value));

const params = {
  skewCoefficientPerYear: 10n ** 27n,
  absoluteVelocityPerYearCap: 10n ** 6n,
  absoluteRatePerSecondCap: CAP,
  thetaThresholdUsd: 0n,
  fundingFeesEnabled: true,
  aprMultiplierEnabled: true,
};

const market = (change: { long: bigint; short: bigint; last?: bigint; enabled?: boolean }): typeof goldenMarket =>
  withState(goldenMarket, {
    oiToken: { long: change.long, short: change.short },
    fundingParams: { ...params, aprMultiplierEnabled: change.enabled ?? true },
    funding: { accFundingFeeLongP: 0n, accFundingFeeShortP: 0n, lastFundingRatePerSecondP: change.last ?? 0n, lastFundingUpdateTs: 0n },
    borrowing: { borrowingRatePerSecondP: 63_420n, accBorrowingFeeP: 0n, lastBorrowingUpdateTs: 0n },
  });

describe('the funding rate', () => {
  it('stays inside its cap and the average between its ends', () => {
    const velocity = signed(2, 10);
    const last = fc.bigInt({ min: -CAP * E8, max: CAP * E8 });
    fc.assert(
      fc.property(last, velocity, fc.bigInt({ min: 0n, max: 10_000_000n }), (from, speed, seconds) => {
        const { current, average } = fundingRates({ last: from, velocity: speed, seconds, absoluteCap: CAP });
        expect(current <= CAP * E8 && current >= -CAP * E8).toBe(true);
        const [low, high] = from < current ? [from, current] : [current, from];
        expect(average >= low && average <= high).toBe(true);
        expect(speed > 0n ? current >= from : current <= from).toBe(true);
      }),
      runs,
    );
  });

  it('knows no funding without a cap and no change without time or velocity', () => {
    expect(fundingRates({ last: 5n, velocity: 1n, seconds: 9n, absoluteCap: 0n })).toEqual({ current: 0n, average: 0n });
    expect(fundingRates({ last: 5n, velocity: 0n, seconds: 9n, absoluteCap: 0n })).toEqual({ current: 0n, average: 0n });
    expect(fundingRates({ last: 0n, velocity: 1n, seconds: 10n ** 9n, absoluteCap: 1n }).current).toBe(E8);
    expect(fundingRates({ last: 5n, velocity: 0n, seconds: 9n, absoluteCap: CAP })).toEqual({ current: 5n, average: 5n });
    expect(fundingRates({ last: 5n, velocity: 1n, seconds: 0n, absoluteCap: CAP })).toEqual({ current: 5n, average: 5n });
  });

  it('follows the sign of the skew, up to its velocity cap and from its threshold on', () => {
    const at = (netToken: bigint, change: object = {}): bigint =>
      fundingVelocity({ params: { ...params, ...change }, netToken, price: price(60_000), collateral: USDC });
    expect(at(E18)).toBe(10n ** 9n);
    expect(at(-E18 / 1000n)).toBe(-(10n ** 8n));
    expect(at(0n)).toBe(0n);
    expect(at(E18, { thetaThresholdUsd: 60_000n })).toBe(10n ** 9n);
    expect(at(E18, { thetaThresholdUsd: 60_001n })).toBe(0n);
    expect(at(E18, { absoluteVelocityPerYearCap: 0n })).toBe(0n);
    // At a millionth of a dollar, a skew that is worth less than the smallest unit.
    const dust = (netToken: bigint): bigint => fundingVelocity({ params, netToken, price: 10n ** 4n, collateral: USDC });
    expect([dust(10n ** 13n), dust(-(10n ** 13n))]).toEqual([10n ** 6n, 0n]);
  });
});

describe('accrued funding', () => {
  it('takes from one side what it gives the other, as long as both exist and the multiplier is not capped', () => {
    fc.assert(
      fc.property(
        magnitude(17, 20),
        magnitude(17, 20),
        signed(10, 13),
        fc.bigInt({ min: 1n, max: 100_000n }),
        (long, short, last, seconds) => {
          fc.pre(long < 100n * short && short < 100n * long);
          const { longP, shortP } = accruedFunding(market({ long, short, last }).state, {
            timestamp: seconds,
            price: price(60_000),
            collateral: USDC,
          });
          const [paid, received] = [longP * long, shortP * short];
          // The multiplier has twenty digits, so what is lost is far below a unit of a fee.
          const lost = paid + received < 0n ? -(paid + received) : paid + received;
          const scale = (paid < 0n ? -paid : paid) + (received < 0n ? -received : received);
          expect(lost * 10n ** 12n <= scale + (long + short) * 10n ** 12n).toBe(true);
        },
      ),
      runs,
    );
  });

  it('splits at zero when the sign flips and the multiplier is on', () => {
    const half = -(10n ** 11n);
    const flipped = market({ long: 2n * E18, short: E18, last: 2n * half });
    const plain = market({ long: 2n * E18, short: E18, last: 2n * half, enabled: false });
    const at = { timestamp: 200n, price: price(1), collateral: USDC };
    // The capped velocity of 1e9 a year crosses zero after 63 s and 200 s later stands at +2.1e11.
    const toZero = 63n;
    const current = 2n * half + (200n * 10n ** 9n * E8) / 31_536_000n;
    const first = (half * toZero * price(1)) / E8;
    const second = ((current / 2n) * (200n - toZero) * price(1)) / E8;
    const accrued = accruedFunding(flipped.state, { ...at });
    expect(accrued.rate).toBe(current);
    expect(accrued.longP).toBe(first / 2n + second);
    expect(accrued.shortP).toBe(-first - 2n * second);
    const simple = accruedFunding(plain.state, { ...at });
    expect(simple.longP).toBe(-simple.shortP);
  });

  it('is not split when the rate rises from zero, although it reaches its cap', () => {
    const seconds = 20_000n;
    const { current, average } = fundingRates({ last: 0n, velocity: 10n ** 9n, seconds, absoluteCap: CAP });
    const { longP, rate } = accruedFunding(market({ long: 2n * E18, short: E18 }).state, {
      timestamp: seconds,
      price: price(1),
      collateral: USDC,
    });
    expect([rate, current]).toEqual([CAP * E8, CAP * E8]);
    expect(longP).toBe((average * seconds * price(1)) / E8);
  });

  it('stands still while funding is off, but remembers its rate', () => {
    const { state } = market({ long: E18, short: 0n, last: 77n });
    const off = { ...state, fundingParams: { ...state.fundingParams, fundingFeesEnabled: false } };
    expect(accruedFunding(off, { timestamp: 3600n, price: price(1), collateral: USDC })).toEqual({ longP: 0n, shortP: 0n, rate: 77n });
  });

  it('multiplies the earning side by what the paying side outweighs it, at most a hundred times', () => {
    const oiToken = { long: 300n, short: 100n };
    expect(aprMultipliers({ rate: 1n, oiToken, enabled: true })).toEqual({ long: APR_UNIT, short: 3n * APR_UNIT });
    expect(aprMultipliers({ rate: -1n, oiToken, enabled: true })).toEqual({ long: APR_UNIT / 3n, short: APR_UNIT });
    expect(aprMultipliers({ rate: 1n, oiToken, enabled: false })).toEqual({ long: APR_UNIT, short: APR_UNIT });
    expect(aprMultipliers({ rate: 1n, oiToken: { long: 101n, short: 1n }, enabled: true }).short).toBe(100n * APR_UNIT);
    expect(aprMultipliers({ rate: 1n, oiToken: { long: 0n, short: 1n }, enabled: true })).toEqual({ long: 0n, short: 0n });
    expect(aprMultipliers({ rate: 0n, oiToken: { long: 0n, short: 1n }, enabled: true })).toEqual({ long: APR_UNIT, short: APR_UNIT });
  });
});

describe('hourly rates', () => {
  const ratesOf = ({ state }: typeof goldenMarket) => {
    const about = { index: 1, symbol: 'USDC', address: '0x01', isActive: true, decimals: 6 } as const;
    const point = { mark: price(60_000), index: price(60_000), oracle: price(60_000), at: 0 };
    const shown = fundingSnapshot({ collaterals: [{ ...USDC, ...about, pairs: [state] }] }, 0, point, 0);
    return [shown.fundingRateLongHourly, shown.fundingRateShortHourly, shown.borrowingRateHourly].map(formatDecimal);
  };

  it('are percent per hour, paid when positive', () => {
    expect(ratesOf(market({ long: 2n * E18, short: E18, last: 10n ** 14n }))).toEqual(['0.36', '-0.72', '0.0228312']);
  });

  it('show a lone side’s counterpart the plain rate', () => {
    expect(ratesOf(market({ long: E18, short: 0n, last: 10n ** 14n }))[1]).toBe('-0.36');
  });
});
