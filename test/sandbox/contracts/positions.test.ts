import { zeroAddress, type Hex } from 'viem';
import { argsOf, controlCall, diamondCall, errorOf, price, trade, usdc } from '../../harness/diamond/diamond-calls.js';
import { setMarket } from '../../harness/diamond/diamond-markets.js';
import { account, closeWorlds, createDiamondWorld, type DiamondWorld } from '../../harness/diamond/bare-diamond.js';

const P = price(60_000);
let world: DiamondWorld;
let next = 100;

beforeAll(async () => {
  world = await createDiamondWorld();
  await setMarket(world);
});
afterAll(closeWorlds);

/** A trader of one test alone: indices start at zero. */
const newTrader = () => world.fund(account(next++));

describe('a trade', () => {
  it('has one pending action at a time, named by the refusal', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P);
    const actions: [number, Hex][] = [
      [1, diamondCall('closeTradeMarket', [index, price(99_000)])],
      [7, diamondCall('updateLeverage', [index, 9000])],
      [8, diamondCall('increasePositionSize', [index, usdc(10), 10_000, price(1), 1000])],
      [9, diamondCall('decreasePositionSize', [index, usdc(10), 0, price(99_000)])],
      [11, diamondCall('withdrawPositivePnl', [index, 1n])],
    ];
    for (const [type, data] of actions) {
      const id = await world.ask(trader, data);
      for (const [, other] of actions)
        await expect(world.call(trader, other)).rejects.toMatchObject({ errorName: 'ConflictingPendingOrder', args: [type] });
      await world.reject(id, 3);
      expect((await world.read('getTrade', [trader.address, index])).isOpen).toBe(true);
    }
  });

  it('closes within one percent unless set otherwise, and the cancelled try costs the gov fee', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P);
    const close = diamondCall('closeTradeMarket', [index, P]);
    const slipped = await world.fulfil(await world.ask(trader, close), price(59_390));
    expect(argsOf(slipped.logs, 'MarketCloseCanceled')).toMatchObject({ cancelReason: 3 });
    expect(slipped.names).toEqual([
      'ChainlinkFulfilled',
      'TradingFeesRealized',
      'MarketCloseCanceled',
      'PendingOrderClosed',
      'TradingCallbackExecuted',
      'PriceReceived',
    ]);
    expect((await world.read('getTradeFeesData', [trader.address, index])).realizedTradingFeesCollateral).toBe(750_000n + 91_875n);
    await world.send(trader, diamondCall('updateMaxClosingSlippageP', [index, 3000]));
    const closed = await world.fulfil(await world.ask(trader, close), price(59_390));
    expect(closed.names).toEqual([
      'ChainlinkFulfilled',
      'HoldingFeesRealizedOnTrade',
      'PendingAccFundingFeesStored',
      'PendingAccBorrowingFeesStored',
      'PairOiAfterV10Updated',
      'TradeClosed',
      'TradeValueTransferred',
      'FeesProcessed',
      'MarketExecuted',
      'PendingOrderClosed',
      'TradingCallbackExecuted',
      'PriceReceived',
    ]);
    expect((await world.read('getTrade', [trader.address, index])).isOpen).toBe(false);
  });

  it('is liquidated on the spot when the gov fee of a cancelled action is more than it can bear', async () => {
    const trader = await newTrader();
    const opened = await world.open(trader, P, { collateralAmount: usdc(4), leverage: 100_000 });
    const { liqPrice } = argsOf(opened.receipt.logs, 'MarketExecuted');
    const id = await world.ask(trader, diamondCall('closeTradeMarket', [opened.index, price(99_000)]));
    const { names, logs } = await world.fulfil(id, liqPrice + 1n);
    expect(argsOf(logs, 'LimitExecuted')).toMatchObject({
      orderId: { user: zeroAddress, index: 0 },
      orderType: 6,
      percentProfit: -1_000_000_000_000n,
      amountSentToTrader: 0n,
      triggerCaller: zeroAddress,
    });
    expect(argsOf(logs, 'MarketCloseCanceled').cancelReason).toBe(3);
    expect(names.indexOf('LimitExecuted')).toBeLessThan(names.indexOf('TradingFeesRealized'));
    expect((await world.read('getTrade', [trader.address, opened.index])).isOpen).toBe(false);
  });

  it('that is gone when its close is answered cancels with NO_TRADE and costs nothing', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P, { tp: price(70_000) });
    const id = await world.ask(trader, diamondCall('closeTradeMarket', [index, P]));
    await world.trigger(
      4,
      { user: trader.address, index },
      { open: price(71_000), high: price(71_000), low: price(71_000), current: price(71_000) },
    );
    const before = await world.balanceOf('USDC', trader.address);
    expect(argsOf((await world.fulfil(id, P)).logs, 'MarketCloseCanceled').cancelReason).toBe(9);
    expect(await world.balanceOf('USDC', trader.address)).toBe(before);
  });

  it('accepts a take profit and a stop loss on any side, and none', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P);
    await world.send(trader, diamondCall('updateTp', [index, price(50_000)]));
    await world.send(trader, diamondCall('updateSl', [index, price(65_000)]));
    expect(await world.read('getTrade', [trader.address, index])).toMatchObject({ tp: price(50_000), sl: price(65_000) });
    const { logs } = await world.send(trader, diamondCall('updateSl', [index, price(10_000)]));
    expect(argsOf(logs, 'TradeSlUpdated').newSl).toBeGreaterThan(price(54_000));
    await world.send(trader, diamondCall('updateSl', [index, 0n]));
    expect((await world.read('getTrade', [trader.address, index])).sl).toBe(0n);
  });

  it('pays out profit on request and stays as large as it was', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P);
    const before = await world.balanceOf('USDC', trader.address);
    const id = await world.ask(trader, diamondCall('withdrawPositivePnl', [index, 2n ** 120n - 1n]));
    const { logs } = await world.fulfil(id, price(66_000));
    const { pnlWithdrawnCollateral, withdrawablePositivePnlCollateral } = argsOf(logs, 'TradePositivePnlWithdrawn');
    expect(pnlWithdrawnCollateral).toBe(withdrawablePositivePnlCollateral);
    expect((await world.balanceOf('USDC', trader.address)) - before).toBe(pnlWithdrawnCollateral);
    expect(await world.read('getTrade', [trader.address, index])).toMatchObject({ collateralAmount: usdc(100), leverage: 10_000 });
    expect((await world.read('getTradeFeesData', [trader.address, index])).realizedPnlCollateral).toBe(-pnlWithdrawnCollateral);
  });

  it('changes leverage and collateral but not its size or open price', async () => {
    const trader = await newTrader();
    const opened = await world.open(trader, P);
    const lower = await world.fulfil(await world.ask(trader, diamondCall('updateLeverage', [opened.index, 5000])), P);
    expect(argsOf(lower.logs, 'LeverageUpdateExecuted')).toMatchObject({ cancelReason: 0, isIncrease: false, collateralDelta: usdc(100) });
    const { openPrice } = argsOf(opened.receipt.logs, 'MarketExecuted').t;
    expect(await world.read('getTrade', [trader.address, opened.index])).toMatchObject({
      collateralAmount: usdc(200),
      leverage: 5000,
      openPrice,
    });
    const before = await world.balanceOf('USDC', trader.address);
    await world.fulfil(await world.ask(trader, diamondCall('updateLeverage', [opened.index, 10_000])), P);
    expect((await world.balanceOf('USDC', trader.address)) - before).toBe(usdc(100));
  });

  it('settles a lower leverage by paying profit and keeping the collateral', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P);
    const id = await world.ask(trader, diamondCall('decreasePositionSize', [index, 0n, 4000, price(66_000)]));
    const before = await world.balanceOf('USDC', trader.address);
    const { values } = argsOf((await world.fulfil(id, price(66_000))).logs, 'PositionSizeDecreaseExecuted');
    expect(values.collateralSentToTrader).toBeGreaterThan(0n);
    expect((await world.balanceOf('USDC', trader.address)) - before).toBe(values.collateralSentToTrader);
    expect(await world.read('getTrade', [trader.address, index])).toMatchObject({ collateralAmount: usdc(100), leverage: 6000 });
  });
});

describe('trading states', () => {
  it('let close-only close and reclaim, and nothing grow', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P);
    await world.control(controlCall('sandboxSetTradingActivated', [1]));
    expect(await errorOf(world.call(trader, diamondCall('openTrade', [trade(), 1000, zeroAddress])))).toBe('Paused');
    expect(await errorOf(world.call(trader, diamondCall('updateTp', [index, 0n])))).toBe('Paused');
    expect(await errorOf(world.call(trader, diamondCall('updateLeverage', [index, 5000])))).toBe('Paused');
    await world.call(trader, diamondCall('decreasePositionSize', [index, usdc(10), 0, P]));
    const id = await world.ask(trader, diamondCall('closeTradeMarket', [index, P]));
    expect((await world.fulfil(id, P)).names).toContain('MarketExecuted');
    await world.control(controlCall('sandboxSetTradingActivated', [2]));
    expect(await errorOf(world.call(trader, diamondCall('cancelOrderAfterTimeout', [0])))).toBe('Paused');
    await world.control(controlCall('sandboxSetTradingActivated', [0]));
  });
});
