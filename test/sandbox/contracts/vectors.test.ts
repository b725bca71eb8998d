import { zeroAddress } from 'viem';
import { argsOf, diamondCall, packed, price, trade, usdc } from '../../harness/diamond/diamond-calls.js';
import { FUNDING_OFF, setMarket } from '../../harness/diamond/diamond-markets.js';
import { account, closeWorlds, createDiamondWorld, type DiamondWorld, type Id } from '../../harness/diamond/bare-diamond.js';
import type { Receipt } from '../../harness/diamond/diamond-rpc.js';

/**
 * Figures the real contracts produced, one after the other: volume of earlier trades moves the price of later ones, and fees add up.
 * The published table leaves out the steps between its rows; they are the ones that make its figures follow from each other.
 */
describe('a trader who works through a day on BTC', () => {
  const trader = account(1);
  const other = account(2);
  let world: DiamondWorld;
  let first: Id;
  let resting: Id;

  beforeAll(async () => {
    world = await createDiamondWorld();
    await setMarket(world);
    await world.fund(trader);
    await world.fund(other);
  });
  afterAll(closeWorlds);

  const answered = async (
    request: Receipt,
    name: 'PositionSizeUpdateInitiated' | 'MarketOrderInitiated' | 'LeverageUpdateInitiated',
    at: number,
  ) => world.fulfil(argsOf(request.logs, name).orderId, price(at));

  it('opens 100 USDC at 10x with the published price, size, fee, liquidation price and stop', async () => {
    const opened = await world.open(trader, price(60_000), { sl: price(50_000), tp: price(90_000) });
    first = opened;
    const { t, liqPrice, priceImpact } = argsOf(opened.receipt.logs, 'MarketExecuted');
    expect(priceImpact).toMatchObject({ fixedSpreadP: 200_000_000n, cumulVolPriceImpactP: 250_000n, totalPriceImpactP: 200_250_000n });
    expect(t).toMatchObject({
      openPrice: 600120150000000n,
      positionSizeToken: 16663329834867234n,
      sl: 549830081430000n,
      tp: price(90_000),
    });
    expect(liqPrice).toBe(547129540755000n);
    expect(argsOf(opened.receipt.logs, 'FeesProcessed').totalFeesCollateral).toBe(750_000n);
  });

  it('gets 99.908125 USDC back when the price slipped', async () => {
    const id = await world.requestOpen(trader, {}, 100);
    const { logs } = await world.fulfil(id, price(60_500));
    expect(argsOf(logs, 'MarketOpenCanceled')).toMatchObject({ cancelReason: 3, collateralReturned: 99_908_125n });
  });

  it('has the stop of an edited limit order pulled in', async () => {
    const placed = await world.send(
      trader,
      diamondCall('openTrade', [trade({ tradeType: 1, openPrice: price(59_000) }), 1000, zeroAddress]),
    );
    resting = { user: trader.address, index: argsOf(placed.logs, 'OpenOrderPlaced').index };
    const { logs } = await world.send(trader, diamondCall('updateOpenOrder', [resting.index, price(58_500), 0n, price(40_000), 1000]));
    expect(argsOf(logs, 'OpenOrderDetailsUpdated').sl).toBe(535977000000000n);
    expect(argsOf(logs, 'OpenLimitUpdated').newSl).toBe(price(40_000));
  });

  it('increases by 50 USDC at 10x, after the limit order filled, to the published open and liquidation price', async () => {
    await world.trigger(2, resting, { open: price(58_500), high: price(58_500), low: price(58_500), current: price(58_500) });
    const request = await world.send(trader, diamondCall('increasePositionSize', [first.index, usdc(50), 10_000, price(60_100), 1000]));
    const { logs } = await answered(request, 'PositionSizeUpdateInitiated', 60_100);
    const { values, cancelReason } = argsOf(logs, 'PositionSizeIncreaseExecuted');
    expect(cancelReason).toBe(0);
    expect(values).toMatchObject({
      newOpenPrice: 600453354952832n,
      existingPnlCollateral: 1_667_542n,
      newLiqPrice: 547493369045992n,
      newEffectiveLeverage: 10_099n,
      openingFeesCollateral: 750_000n,
    });
    expect(values.priceImpact.priceAfterImpact).toBe(601120876125000n);
  });

  it('takes 30 USDC out again and is sent 29.662561', async () => {
    const request = await world.send(trader, diamondCall('decreasePositionSize', [first.index, usdc(30), 0, price(60_200)]));
    const before = await world.balanceOf('USDC', trader.address);
    const { logs } = await answered(request, 'PositionSizeUpdateInitiated', 60_200);
    const { values } = argsOf(logs, 'PositionSizeDecreaseExecuted');
    expect(values.priceImpact.priceAfterImpact).toBe(601879554850000n);
    expect(values).toMatchObject({
      existingPnlPercent: 23752051435n,
      partialNetPnlCollateral: 412_561n,
      closingFeeCollateral: 750_000n,
      collateralSentToTrader: 29_662_561n,
    });
    expect((await world.balanceOf('USDC', trader.address)) - before).toBe(29_662_561n);
  });

  it('closes 150 USDC at 8x, after a leverage update and a close that slipped, for 170.696938', async () => {
    const leverage = await world.send(trader, diamondCall('updateLeverage', [first.index, 8000]));
    await answered(leverage, 'LeverageUpdateInitiated', 60_200);
    const slipped = await world.send(trader, diamondCall('closeTradeMarket', [first.index, price(65_000)]));
    expect(argsOf((await answered(slipped, 'MarketOrderInitiated', 60_200)).logs, 'MarketCloseCanceled').cancelReason).toBe(3);
    const before = await world.balanceOf('USDC', trader.address);
    const request = await world.send(trader, diamondCall('closeTradeMarket', [first.index, price(61_200)]));
    const { logs } = await answered(request, 'MarketOrderInitiated', 61_200);
    const executed = argsOf(logs, 'MarketExecuted');
    expect(executed).toMatchObject({ marketPrice: 611877324600000n, percentProfit: 152204590787n, amountSentToTrader: 170_696_938n });
    expect(executed.t).toMatchObject({ collateralAmount: usdc(150), leverage: 8000 });
    expect((await world.balanceOf('USDC', trader.address)) - before).toBe(170_696_938n);
  });

  it('pays the published funding and borrowing after an hour', async () => {
    // 1,400 USD more on the long side bring the volume before the next open to 3,900 USD, and leave no position behind.
    const volume = await world.open(other, price(60_000), { collateralAmount: usdc(140) });
    const closing = await world.send(other, diamondCall('closeTradeMarket', [volume.index, price(60_000)]));
    await answered(closing, 'MarketOrderInitiated', 60_000);
    const opened = await world.open(other, price(60_000));
    expect(argsOf(opened.receipt.logs, 'MarketExecuted').t.openPrice).toBe(600121320000000n);
    const oi = await world.read('getPairOiAfterV10Token', [3, 0]);
    expect(oi).toEqual({ oiLongToken: 33753883506788617n, oiShortToken: 0n });

    const before = await world.read('getTradeFeesData', [other.address, opened.index]);

    await setMarket(world, { borrowingRatePerSecondP: 63_420 });
    await world.mine();
    const funding = {
      ...FUNDING_OFF,
      skewCoefficientPerYear: 10n ** 27n,
      absoluteVelocityPerYearCap: 1_000_000,
      absoluteRatePerSecondCap: 317_097,
      fundingFeesEnabled: true,
    };
    await setMarket(world, { borrowingRatePerSecondP: 63_420, funding });
    await world.mine(3600);

    const acc = await world.read('getPairPendingAccFundingFees', [3, 0, price(60_000)]);
    expect(acc).toEqual([123287671232863200000000n, 0n, 11415525114155n]);
    const borrowing = await world.read('getPairPendingAccBorrowingFees', [3, 0, price(60_000)]);
    expect(borrowing - before.initialAccBorrowingFeeP).toBe(137063304000000000000000n);
    const held = await world.read('getTradePendingHoldingFeesCollateral', [other.address, opened.index, price(60_000)]);
    expect(held).toEqual({
      fundingFeeCollateral: 205_437n,
      borrowingFeeCollateral: 228_392n,
      borrowingFeeCollateral_old: 0n,
      totalFeeCollateral: 433_829n,
    });
  });

  it('names an order to a keeper by the published packed word', () => {
    expect(packed(2, '0x1111111111111111111111111111111111111111', 7)).toBe(0x7111111111111111111111111111111111111111102n);
  });
});
