import { collateralAtLeverage } from '../../../core/domain/pricing/leverage-update.js';
import { decimal } from '../../../core/domain/decimal.js';
import type { Collateral } from '../../../core/domain/market.js';
import { GatewayError } from '../../../core/errors.js';
import { leverageFor } from '../../../core/trading/change-leverage.js';

const USDC: Collateral = {
  index: 3,
  symbol: 'USDC',
  address: '0x0000000000000000000000000000000000000001',
  isActive: true,
  decimals: 6,
  precision: 10n ** 6n,
  precisionDelta: 10n ** 12n,
  priceUsd: 10n ** 8n,
  pairs: [],
};

/** Figures that follow from the seed alone, spread over magnitudes. */
function* cases(count: number): Generator<{ collateralAmount: bigint; leverage: bigint; amount: bigint }> {
  let seed = 42n;
  const next = (below: bigint): bigint => {
    seed = (seed * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 2n ** 64n;
    return (seed >> 20n) % below;
  };
  for (let turn = 0; turn < count; turn += 1) {
    const collateralAmount = 1_000_000n + next(10n ** (7n + next(6n)));
    yield { collateralAmount, leverage: 1_100n + next(150_000n), amount: 1n + next(collateralAmount) };
  }
}

describe.each(['add', 'remove'] as const)('the leverage that stands for collateral to %s', (action) => {
  it('moves at most what was asked for, and one step further would move more', () => {
    let moved = 0;
    for (const { amount, ...position } of cases(5_000)) {
      if (action === 'remove' && amount >= position.collateralAmount) continue;
      const asked = { action, amount: decimal(amount, 6) };
      const real = (leverage: bigint): bigint => {
        const change = collateralAtLeverage(position, leverage) - position.collateralAmount;
        return action === 'add' ? change : -change;
      };
      const step = action === 'add' ? -1n : 1n;
      let leverage: bigint;
      try {
        leverage = leverageFor(position, USDC, asked);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
        expect((error as GatewayError).code).toBe('SIZE_BELOW_MINIMUM');
        expect(real(position.leverage + step)).toBeGreaterThanOrEqual(amount);
        continue;
      }
      moved += 1;
      expect(real(leverage)).toBeGreaterThan(0n);
      expect(real(leverage)).toBeLessThanOrEqual(amount);
      if (leverage + step > 0n) expect(real(leverage + step)).toBeGreaterThanOrEqual(amount);
    }
    expect(moved).toBeGreaterThan(2_000);
  });
});

it('collateral to add or remove is at least one unit, and a part of the position', () => {
  const position = { collateralAmount: 20n, leverage: 10_000n };
  const leverage = (action: 'add' | 'remove', amount: bigint): bigint =>
    leverageFor(position, USDC, { action, amount: decimal(amount, 6) });
  expect([leverage('add', 1n), leverage('remove', 1n), leverage('remove', 19n)]).toEqual([9_524n, 10_526n, 200_000n]);
  for (const action of ['add', 'remove'] as const) expect(() => leverage(action, 0n)).toThrow(/must be above 0/);
  expect(() => leverage('remove', 20n)).toThrow(/must be below 0.00002/);
});
