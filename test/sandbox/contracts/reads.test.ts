import { zeroAddress } from 'viem';
import { controlCall, diamondCall, price, trade, usdc } from '../../harness/diamond/diamond-calls.js';
import { setMarket } from '../../harness/diamond/diamond-markets.js';
import { account, closeWorlds, createDiamondWorld, type DiamondWorld } from '../../harness/diamond/bare-diamond.js';

describe('the reads', () => {
  const P = price(60_000);
  const [one, two] = [account(1), account(2)];
  let world: DiamondWorld;

  beforeAll(async () => {
    world = await createDiamondWorld();
    await setMarket(world);
    await world.fund(one);
    await world.fund(two);
    await world.open(one, P);
    await world.send(one, diamondCall('openTrade', [trade({ tradeType: 1, openPrice: price(59_000) }), 400, zeroAddress]));
    await world.send(one, diamondCall('openTrade', [trade({ tradeType: 2, openPrice: price(61_000) }), 500, zeroAddress]));
    await world.send(one, diamondCall('cancelOpenOrder', [1]));
    await world.open(two, P, { long: false });
    await world.requestOpen(two, { collateralAmount: usdc(50) });
  });
  afterAll(closeWorlds);

  it('list what is open, trades and orders together, beside parallel arrays', async () => {
    const trades = await world.read('getTrades', [one.address]);
    expect(trades.map(({ index, tradeType }) => [index, tradeType])).toEqual([
      [0, 0],
      [2, 2],
    ]);
    expect((await world.read('getTradeInfos', [one.address])).map(({ maxSlippageP }) => maxSlippageP)).toEqual([0, 500]);
    expect(await world.read('getTradesLiquidationParams', [one.address])).toHaveLength(2);
    expect(await world.read('getTrade', [one.address, 1])).toMatchObject({ isOpen: false, tradeType: 1, collateralAmount: usdc(100) });
  });

  it('page over all trades with an inclusive range padded with zeros', async () => {
    const all = await world.read('getAllTrades', [0n, 4n]);
    expect(all.map(({ user, index }) => `${user}:${index}`)).toEqual([
      `${one.address}:0`,
      `${one.address}:2`,
      `${two.address}:0`,
      `${zeroAddress}:0`,
      `${zeroAddress}:0`,
    ]);
    expect(await world.read('getAllTradesForTraders', [[two.address], 0n, 0n])).toMatchObject([{ user: two.address, long: false }]);
    expect(await world.read('getTraders', [0, 1])).toEqual([one.address, two.address]);
    expect(await world.read('getTradersCount', [])).toBe(2n);
    expect(await world.read('getTraderStored', [account(9).address])).toBe(false);
  });

  it('show pending orders and counters', async () => {
    expect(await world.read('getPendingOrders', [two.address])).toMatchObject([
      { index: 1, isOpen: true, orderType: 0, trade: { collateralAmount: usdc(50) } },
    ]);
    expect(await world.read('getCountersForTraders', [[one.address, two.address], 0])).toMatchObject([
      { currentIndex: 3, openCount: 2 },
      { currentIndex: 1, openCount: 1 },
    ]);
  });

  it("convert between collateral and USD at the collateral's price", async () => {
    await world.control(controlCall('sandboxSetCollateral', [3, true, 99_000_000n]));
    expect(await world.read('getUsdNormalizedValue', [3, usdc(100)])).toBe(99n * 10n ** 18n);
    expect(await world.read('getCollateralFromUsdNormalizedValue', [3, 99n * 10n ** 18n])).toBe(usdc(100));
    expect(await world.read('getCollateralPriceUsd', [3])).toBe(99_000_000n);
    await world.control(controlCall('sandboxSetCollateral', [3, true, 100_000_000n]));
  });

  it('know the minimums of a pair', async () => {
    expect(await world.read('pairMinPositionSizeUsd', [0n])).toBe(1250n * 10n ** 18n);
    expect(await world.read('pairMinFeeUsd', [0n])).toBe(75n * 10n ** 16n);
    expect(await world.read('pairMinLeverage', [0n])).toBe(1100n);
    expect(await world.read('getPairMaxOiCollateral', [3, 0])).toBe(usdc(1_000_000_000));
  });

  it('show open interest of both sides and the volume behind it', async () => {
    expect(await world.read('getPairOiAfterV10Collateral', [3, 0])).toEqual({
      oiLongCollateral: usdc(1000),
      oiShortCollateral: usdc(1000),
    });
    const settings = await world.read('getOiWindowsSettings', []);
    const id = BigInt(Math.floor(((await world.now()) - settings.startTs) / settings.windowsDuration));
    const windows = await world.read('getOiWindows', [0, 0n, [id - 1n, id]]);
    expect(windows.reduce((sum, { oiLongUsd }) => sum + oiLongUsd, 0n)).toBe(await world.read('getPriceImpactOi', [0n, true]));
  });

  it('decode the depth bands they pack', async () => {
    const offsets = await world.read('getDepthBandsMappingDecoded', []);
    const [, , above, below] = await world.read('getPairDepthBandsDecoded', [0n]);
    expect(offsets).toEqual(Array.from({ length: 30 }, (_, i) => 500 * (i + 1)));
    expect(above).toEqual(Array.from({ length: 30 }, (_, i) => Math.min(10_000, 500 * (i + 1))));
    expect(below).toEqual(above);
  });

  it('find no trade where none was, and no fee on it', async () => {
    expect(await world.read('getTrade', [one.address, 99])).toMatchObject({ user: zeroAddress, isOpen: false });
    expect(await world.read('getTradePendingHoldingFeesCollateral', [one.address, 99, P])).toMatchObject({ totalFeeCollateral: 0n });
  });
});
