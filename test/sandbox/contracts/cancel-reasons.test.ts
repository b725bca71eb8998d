import { type Hex } from 'viem';
import { argsOf, controlCall, diamondCall, price, usdc, type Trade } from '../../harness/diamond/diamond-calls.js';
import { setMarket, setPair } from '../../harness/diamond/diamond-markets.js';
import { account, closeWorlds, createDiamondWorld, type DiamondWorld } from '../../harness/diamond/bare-diamond.js';
import type { Receipt } from '../../harness/diamond/diamond-rpc.js';

const P = price(60_000);
const trader = account(1);
const other = account(2);
let world: DiamondWorld;

beforeEach(async () => {
  world = await createDiamondWorld();
  await setMarket(world);
  await world.fund(trader, { USDC: usdc(1_000_000) });
  await world.fund(other, { USDC: usdc(1_000_000) });
});
afterEach(closeWorlds);

async function openReason(changes: Partial<Trade>, at: bigint, slippage = 60_000, between?: () => Promise<unknown>): Promise<number> {
  const id = await world.requestOpen(trader, changes, slippage);
  await between?.();
  return argsOf((await world.fulfil(id, at)).logs, 'MarketOpenCanceled').cancelReason;
}

async function answer(data: Hex, at: bigint, between?: () => Promise<unknown>): Promise<Receipt> {
  const id = await world.ask(trader, data);
  await between?.();
  return world.fulfil(id, at);
}

describe('a market open is cancelled with', () => {
  it('SLIPPAGE beyond the expected price, but not up to it', async () => {
    expect(await openReason({}, price(60_700), 1000)).toBe(3);
    expect(await openReason({ long: false }, price(59_300), 1000)).toBe(3);
    const id = await world.requestOpen(trader, {}, 1000);
    expect((await world.fulfil(id, price(60_580))).names).toContain('MarketExecuted');
  });

  it('TP_REACHED, SL_REACHED and LIQ_REACHED when the price is already there', async () => {
    expect(await openReason({ tp: price(61_000) }, price(61_000))).toBe(4);
    expect(await openReason({ sl: price(59_000) }, price(59_000))).toBe(5);
    const liquid: Partial<Trade> = { collateralAmount: usdc(4), leverage: 150_000, collateralIndex: 3 };
    await setPair(world, { spreadP: 10_000_000_000n / 2n });
    expect(await openReason(liquid, P)).toBe(12);
  });

  it("EXPOSURE_LIMITS beyond the open interest, the group's open interest and the skew", async () => {
    await setMarket(world, { maxOi: 999n * 10n ** 10n });
    expect(await openReason({}, P)).toBe(6);
    await setMarket(world, { borrowingGroup: 10 });
    await world.control(controlCall('sandboxSetBorrowingGroupMaxOi', [3, 10, 999n * 10n ** 10n]));
    expect(await openReason({}, P)).toBe(6);
    expect(await world.read('withinMaxBorrowingGroupOi', [3, 0, true, usdc(999)])).toBe(true);
    expect(await world.read('withinMaxBorrowingGroupOi', [3, 0, true, usdc(1000)])).toBe(false);
    await setMarket(world, { maxSkewCollateral: 999n * 10n ** 10n });
    expect(await openReason({}, P)).toBe(6);
  });

  it('nothing when a large skew shrinks', async () => {
    await world.open(other, P, { collateralAmount: usdc(500) });
    await setMarket(world, { maxSkewCollateral: 999n * 10n ** 10n });
    expect(await openReason({}, P)).toBe(6);
    const id = await world.requestOpen(trader, { long: false });
    expect((await world.fulfil(id, P)).names).toContain('MarketExecuted');
  });

  it('PRICE_IMPACT when the volume of others came first', async () => {
    const large: Partial<Trade> = { collateralAmount: usdc(60_000), leverage: 150_000 };
    expect(
      await openReason(large, P, 60_000, () => world.open(other, P, { collateralAmount: usdc(200_000), leverage: 10_000 }, 5000)),
    ).toBe(7);
  });

  it('MAX_LEVERAGE when the limit fell meanwhile', async () => {
    expect(await openReason({}, P, 1000, () => setPair(world, { customMaxLeverage: 9000n }))).toBe(8);
  });

  it('COUNTER_TRADE_CANCELED when no skew is left to reduce, and is cut to the skew otherwise', async () => {
    await world.control(controlCall('sandboxSetCounterTrade', [0, 25_000, 500]));
    expect(await openReason({ isCounterTrade: true }, P)).toBe(13);
    await world.open(other, P, { collateralAmount: usdc(60) });
    const id = await world.requestOpen(trader, { isCounterTrade: true, long: false });
    const { logs } = await world.fulfil(id, P);
    const { t } = argsOf(logs, 'MarketExecuted');
    const { collateralReturned } = argsOf(logs, 'CounterTradeCollateralReturned');
    expect(t.collateralAmount).toBe(usdc(100) - collateralReturned);
    expect(t.collateralAmount).toBeLessThanOrEqual(usdc(60));
    expect(t.collateralAmount).toBeGreaterThan(usdc(59));
  });
});

describe('a size update is cancelled with', () => {
  const increase = (index: number, collateral: bigint, leverage: number): Hex =>
    diamondCall('increasePositionSize', [index, collateral, leverage, P, 60_000]);
  const reason = ({ logs }: Receipt): number => argsOf(logs, 'PositionSizeIncreaseExecuted').cancelReason;

  it('WRONG_TRADE when truncation leaves no larger position', async () => {
    const { index } = await world.open(trader, P);
    expect(reason(await answer(increase(index, usdc(51), 1), P))).toBe(10);
  });

  it('SLIPPAGE, TP_REACHED, SL_REACHED and LIQ_REACHED, the collateral given back and the gov fee charged', async () => {
    const { index } = await world.open(trader, P, { tp: price(62_000), sl: price(59_000) });
    const before = await world.balanceOf('USDC', trader.address);
    const slipped = diamondCall('increasePositionSize', [index, usdc(50), 10_000, P, 100]);
    expect(reason(await answer(slipped, price(60_500)))).toBe(3);
    expect(reason(await answer(increase(index, usdc(50), 10_000), price(62_000)))).toBe(4);
    expect(reason(await answer(increase(index, usdc(50), 10_000), price(59_000)))).toBe(5);
    await world.send(trader, diamondCall('updateSl', [index, 0n]));
    expect(await world.balanceOf('USDC', trader.address)).toBe(before);
    expect((await world.read('getTradeFeesData', [trader.address, index])).realizedTradingFeesCollateral).toBe(750_000n + 3n * 91_875n);
    expect(reason(await answer(increase(index, usdc(50), 10_000), price(54_000)))).toBe(12);
    expect((await world.read('getTrade', [trader.address, index])).isOpen).toBe(false);
  });

  it('EXPOSURE_LIMITS and MAX_LEVERAGE', async () => {
    const { index } = await world.open(trader, P);
    await setMarket(world, { maxOi: 1100n * 10n ** 10n });
    expect(reason(await answer(increase(index, usdc(50), 10_000), P))).toBe(6);
    await setMarket(world);
    expect(reason(await answer(increase(index, 0n, 145_000), P))).toBe(8);
  });

  it('NO_TRADE when the trade is gone, and the collateral comes back', async () => {
    const { index } = await world.open(trader, P, { tp: price(61_000) });
    const before = await world.balanceOf('USDC', trader.address);
    const candle = { open: price(61_500), high: price(61_500), low: price(61_500), current: price(61_500) };
    const receipt = await answer(increase(index, usdc(50), 10_000), P, () => world.trigger(4, { user: trader.address, index }, candle));
    expect(reason(receipt)).toBe(9);
    expect(await world.balanceOf('USDC', trader.address)).toBeGreaterThan(before + usdc(110));
  });

  it('LIQ_REACHED, SLIPPAGE and WRONG_TRADE on the way down', async () => {
    const { index } = await world.open(trader, P);
    const decrease = (amount: number, expected: number): Hex =>
      diamondCall('decreasePositionSize', [index, usdc(amount), 0, price(expected)]);
    const down = ({ logs }: Receipt): number => argsOf(logs, 'PositionSizeDecreaseExecuted').cancelReason;
    expect(down(await answer(decrease(30, 61_000), P))).toBe(3);
    expect(down(await answer(decrease(0.5, 60_000), P))).toBe(10);
    expect(down(await answer(decrease(30, 60_000), price(54_000)))).toBe(12);
  });
});

describe('a leverage update is cancelled with', () => {
  it('LIQ_REACHED and MAX_LEVERAGE, and the added collateral comes back', async () => {
    const { index } = await world.open(trader, P);
    const reason = ({ logs }: Receipt): number => argsOf(logs, 'LeverageUpdateExecuted').cancelReason;
    expect(reason(await answer(diamondCall('updateLeverage', [index, 149_000]), P))).toBe(8);
    expect(reason(await answer(diamondCall('updateLeverage', [index, 80_000]), price(59_500)))).toBe(12);
    const before = await world.balanceOf('USDC', trader.address);
    expect(reason(await answer(diamondCall('updateLeverage', [index, 5000]), price(54_000)))).toBe(12);
    expect(await world.balanceOf('USDC', trader.address)).toBe(before);
  });
});
