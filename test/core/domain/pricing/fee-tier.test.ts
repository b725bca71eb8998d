import { daysToSettle, isSettledOn, multiplierSettled } from '../../../../core/domain/pricing/fee-tier.js';
import { account, closeWorlds, createDiamondWorld } from '../../../harness/diamond/bare-diamond.js';
import { argsOf, controlCall, price, usdc } from '../../../harness/diamond/diamond-calls.js';

afterEach(closeWorlds);

const TIERS = [
  { feeMultiplier: 950, pointsThreshold: 50_000 },
  { feeMultiplier: 900, pointsThreshold: 200_000 },
  { feeMultiplier: 800, pointsThreshold: 500_000 },
];
const DAY = 86_400;
/** Of a position of 10,000 USDC. */
const FULL_FEE = 6_000_000n;

describe('the fee tier of the first trade of a day', () => {
  it('is the one that the contract settles, over weeks with and without trades', async () => {
    const world = await createDiamondWorld();
    await world.control(controlCall('sandboxSetFeeTiers', [TIERS]));
    const trader = await world.fund(account(1), { USDC: usdc(1_000_000) });
    const seen = new Set<bigint>();
    const steps: readonly (readonly [days: number, volume: number])[] = [
      ...([
        [1, 30_000],
        [1, 30_000],
        [2, 200_000],
        [1, 0],
        [1, 300_000],
        [9, 0],
        [3, 0],
        [14, 20_000],
      ] as const),
      ...([
        [1, 0],
        [1, 0],
        [5, 0],
        [30, 250_000],
        [29, 0],
        [1, 0],
        [31, 60_000],
        [45, 0],
      ] as const),
    ];
    for (const [days, volume] of steps) {
      await world.mine(days * DAY);
      const day = Math.floor((await world.now()) / DAY);
      const info = await world.read('getFeeTiersTraderInfo', [trader.address]);
      const points: bigint[] = [];
      for (const each of daysToSettle(day, info))
        points.push((await world.read('getFeeTiersTraderDailyInfo', [trader.address, each])).points);
      const predicted = isSettledOn(day, info) ? 1000n : multiplierSettled(TIERS, info, points);
      const { receipt } = await world.open(trader, price(60_000), { collateralAmount: usdc(1000) }, 5000);
      expect(argsOf(receipt.logs, 'FeesProcessed').totalFeesCollateral).toBe((FULL_FEE * predicted) / 1000n);
      seen.add(predicted);
      if (volume > 0) await world.open(trader, price(60_000), { collateralAmount: usdc(volume / 10) }, 5000);
    }
    expect([...seen].sort()).toEqual([1000n, 800n, 900n, 950n]);
  });

  it('needs no days of a trader who never traded, or not for a month', () => {
    expect(daysToSettle(20_000, { lastDayUpdated: 0 })).toEqual([]);
    expect(daysToSettle(20_000, { lastDayUpdated: 20_000 })).toEqual([]);
    expect(daysToSettle(20_000, { lastDayUpdated: 19_969 })).toEqual([]);
    expect(daysToSettle(20_000, { lastDayUpdated: 19_998 })).toEqual([19_998, 19_968, 19_969]);
  });
});
