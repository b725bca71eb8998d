import { parseEther, zeroAddress } from 'viem';
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

describe('a market open', () => {
  it('logs its request in the real order', async () => {
    const trader = await newTrader();
    const { names, logs } = await world.send(trader, diamondCall('openTrade', [trade(), 1000, zeroAddress]));
    expect(names).toEqual([
      'PendingOrderStored',
      'ChainlinkRequested',
      'ChainlinkRequested',
      'ChainlinkRequested',
      'PriceRequested',
      'MarketOrderInitiated',
    ]);
    expect(argsOf(logs, 'MarketOrderInitiated')).toEqual({
      orderId: { user: trader.address, index: 0 },
      trader: trader.address,
      pairIndex: 0,
      open: true,
    });
    expect(argsOf(logs, 'PriceRequested')).toMatchObject({
      collateralIndex: 3,
      pairIndex: 0n,
      positionSizeCollateral: usdc(1000),
      isLookback: false,
      nodesCount: 3n,
    });
  });

  it('logs its execution in the real order', async () => {
    const { receipt } = await world.open(await newTrader(), P);
    expect(receipt.names).toEqual([
      'ChainlinkFulfilled',
      'PendingAccFundingFeesStored',
      'PendingAccBorrowingFeesStored',
      'PairOiAfterV10Updated',
      'TradeStored',
      'TradingFeesRealized',
      'FeesProcessed',
      'MarketExecuted',
      'PendingOrderClosed',
      'TradingCallbackExecuted',
      'PriceReceived',
    ]);
    const { tradeInfo } = argsOf(receipt.logs, 'TradeStored');
    expect(tradeInfo).toMatchObject({ collateralPriceUsd: 0, lastOiUpdateTs: 0, contractsVersion: 2, maxSlippageP: 0 });
  });

  it('gets its trade index when it is answered, not when it is asked for', async () => {
    const trader = await newTrader();
    const early = await world.requestOpen(trader);
    const late = await world.requestOpen(trader);
    expect([early.index, late.index]).toEqual([0, 1]);
    expect(argsOf((await world.fulfil(late, P)).logs, 'MarketExecuted').index).toBe(0);
    expect(argsOf((await world.fulfil(early, P)).logs, 'MarketExecuted').index).toBe(1);
    expect(await world.read('getCounters', [trader.address, 0])).toMatchObject({ currentIndex: 2, openCount: 2 });
    expect(await world.read('getCounters', [trader.address, 1])).toMatchObject({ currentIndex: 2, openCount: 0 });
  });

  it('keeps its collateral and size exact and the fee apart', async () => {
    const opened = await world.open(await newTrader(), P);
    expect(await world.read('getTrade', [opened.user, opened.index])).toMatchObject({
      collateralAmount: usdc(100),
      leverage: 10_000,
      isOpen: true,
    });
    expect(await world.read('getTradeRealizedPnlCollateral', [opened.user, opened.index])).toEqual([0n, 750_000n, -750_000n]);
    expect(await world.read('getTradeUiRealizedPnlDataArray', [[opened.user], [opened.index]])).toMatchObject([
      { realizedTradingFeesCollateral: 750_000n },
    ]);
  });

  it('is worth the same in a collateral of eighteen decimals', async () => {
    await setMarket(world, { collateralIndex: 1 });
    const trader = await world.fund(account(next++), { DAI: parseEther('1000') });
    await world.mine(600);
    const { receipt } = await world.open(trader, P, { collateralIndex: 1, collateralAmount: parseEther('100') });
    const { t, liqPrice } = argsOf(receipt.logs, 'MarketExecuted');
    expect([t.openPrice, t.positionSizeToken, liqPrice]).toEqual([600120150000000n, 16663329834867234n, 547129540755000n]);
    expect(argsOf(receipt.logs, 'FeesProcessed').totalFeesCollateral).toBe(parseEther('0.75'));
  });

  it('has the liquidation price the view computes for the live trade', async () => {
    const { user, index, receipt } = await world.open(await newTrader(), P);
    const t = await world.read('getTrade', [user, index]);
    const input = {
      ...{ collateralIndex: t.collateralIndex, trader: user, pairIndex: t.pairIndex, index, openPrice: t.openPrice, long: t.long },
      ...{
        collateral: t.collateralAmount,
        leverage: BigInt(t.leverage),
        additionalFeeCollateral: 0n,
        currentPairPrice: P,
        isCounterTrade: false,
      },
      liquidationParams: await world.read('getTradeLiquidationParams', [user, index]),
      partialCloseMultiplier: 10n ** 18n,
      beforeOpened: false,
    };
    expect(await world.read('getTradeLiquidationPrice', [input])).toBe(argsOf(receipt.logs, 'MarketExecuted').liqPrice);
  });

  it('keeps its first whitelisted referrer and ignores the rest', async () => {
    const trader = await newTrader();
    const [known, unknown] = [account(90).address, account(91).address];
    await world.control(controlCall('sandboxSetReferrer', [known, true]));
    await world.send(trader, diamondCall('openTrade', [trade(), 1000, unknown]));
    expect(await world.read('getTraderActiveReferrer', [trader.address])).toBe(zeroAddress);
    await world.send(trader, diamondCall('openTrade', [trade(), 1000, known]));
    expect(await world.read('getTraderActiveReferrer', [trader.address])).toBe(known);
    await world.control(controlCall('sandboxSetReferrer', [known, false]));
    expect(await world.read('getTraderActiveReferrer', [trader.address])).toBe(zeroAddress);
    expect(await world.read('getTraderLastReferrer', [trader.address])).toBe(known);
  });

  it('rewards its referrer with a part of every fee, and an ally with a part of that', async () => {
    const trader = await newTrader();
    const [referrer, ally] = [account(92).address, account(93).address];
    await world.control(controlCall('sandboxSetReferrer', [referrer, true]));
    const requested = await world.send(trader, diamondCall('openTrade', [trade(), 1000, referrer]));
    expect(argsOf(requested.logs, 'ReferrerRegistered')).toEqual({ trader: trader.address, referrer });
    const { orderId } = argsOf(requested.logs, 'MarketOrderInitiated');
    const { logs } = await world.fulfil(orderId, P);
    const reward = argsOf(logs, 'ReferrerRewardDistributed');
    // 5 % of the fee of 0.75 USDC, three quarters of it for a new referrer, in GNS of 2 USD.
    expect(reward).toEqual({
      referrer,
      trader: trader.address,
      volumeUsd: 1_000n * 10n ** 18n,
      amountGns: 14_062_500_000_000_000n,
      amountValueUsd: 28_125_000_000_000_000n,
    });
    const names = logs.map(({ eventName }) => eventName);
    expect(names.indexOf('ReferrerRewardDistributed')).toBeLessThan(names.indexOf('FeesProcessed'));
    expect(await world.read('getReferrerDetails', [referrer])).toMatchObject({ active: true, totalRewardsGns: reward.amountGns });
    await world.control(controlCall('sandboxSetReferrerAlly', [referrer, ally]));
    const { receipt: second } = await world.open(trader, P);
    expect(argsOf(second.logs, 'AllyRewardDistributed')).toMatchObject({ ally, trader: trader.address });
    expect(argsOf(second.logs, 'ReferrerRewardDistributed').amountGns).toBeLessThan(reward.amountGns);
  });

  it('returns everything but the gov fee when the oracle rejects it', async () => {
    const trader = await newTrader();
    const id = await world.requestOpen(trader);
    const { names, logs } = await world.reject(id, 7);
    expect(argsOf(logs, 'MarketOpenCanceled')).toMatchObject({ cancelReason: 7, collateralReturned: 99_908_125n });
    expect(names).toEqual(['ChainlinkFulfilled', 'MarketOpenCanceled', 'PendingOrderClosed', 'TradingCallbackExecuted', 'PriceReceived']);
    expect(await world.balanceOf('USDC', trader.address)).toBe(usdc(10_000) - 91_875n);
  });
});

describe('a pending order', () => {
  it('can be reclaimed in full, but not before its time is up', async () => {
    const trader = await newTrader();
    const id = await world.requestOpen(trader);
    const reclaim = diamondCall('cancelOrderAfterTimeout', [id.index]);
    await world.mineBlocks(199);
    expect(await errorOf(world.call(trader, reclaim))).toBe('WaitTimeout');
    await world.mineBlocks(1);
    const { names, logs } = await world.send(trader, reclaim);
    expect(names).toEqual(['PendingOrderClosed', 'CollateralReturnedAfterTimeout', 'ChainlinkCallbackTimeout']);
    expect(argsOf(logs, 'CollateralReturnedAfterTimeout').collateralAmount).toBe(usdc(100));
    expect(await world.balanceOf('USDC', trader.address)).toBe(usdc(10_000));
    expect(await errorOf(world.call(trader, reclaim))).toBe('NoOrder');
  });

  it('that timed out still fills when the answer comes late', async () => {
    const id = await world.requestOpen(await newTrader());
    await world.mineBlocks(205);
    expect((await world.fulfil(id, P)).names).toContain('MarketExecuted');
  });

  it('is answered up to an hour after it was made, and not later', async () => {
    const made = await world.now();
    const early = await world.requestOpen(await newTrader());
    const id = await world.requestOpen(await newTrader());
    await world.mine(made + 3595 - (await world.now()));
    expect((await world.fulfil(early, P)).names).toContain('MarketExecuted');
    await world.mine(3601);
    expect(await errorOf(world.fulfil(id, P))).toBe('DoesntExist');
    expect(await world.read('getPendingOrder', [id])).toMatchObject({ isOpen: true });
  });

  it('ignores answers after it was reclaimed', async () => {
    const trader = await newTrader();
    const id = await world.requestOpen(trader);
    await world.mineBlocks(200);
    await world.send(trader, diamondCall('cancelOrderAfterTimeout', [id.index]));
    expect((await world.fulfil(id, P)).names).toEqual(['ChainlinkFulfilled', 'PriceReceived']);
    expect(await world.read('getTrades', [trader.address])).toEqual([]);
  });

  it('takes nothing from an answer that comes after it was executed', async () => {
    const id = await world.requestOpen(await newTrader());
    expect((await world.fulfil(id, P)).names).toContain('MarketExecuted');
    expect((await world.fulfil(id, P)).names).toEqual(['ChainlinkFulfilled', 'PriceReceived']);
  });

  it('stays pending when its answer meets a paused Diamond', async () => {
    const id = await world.requestOpen(await newTrader());
    await world.control(controlCall('sandboxSetTradingActivated', [2]));
    expect(await errorOf(world.fulfil(id, P))).toBe('Paused');
    expect(await world.read('getPendingOrder', [id])).toMatchObject({ isOpen: true });
    await world.control(controlCall('sandboxSetTradingActivated', [0]));
    expect((await world.fulfil(id, P)).names).toContain('MarketExecuted');
  });

  it('gives back what an increase or a lower leverage had taken', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P);
    const start = await world.balanceOf('USDC', trader.address);
    const increase = await world.ask(trader, diamondCall('increasePositionSize', [index, usdc(50), 10_000, P, 1000]));
    await world.mineBlocks(200);
    await world.send(trader, diamondCall('cancelOrderAfterTimeout', [increase.index]));
    const leverage = await world.ask(trader, diamondCall('updateLeverage', [index, 5000]));
    expect(start - (await world.balanceOf('USDC', trader.address))).toBe(usdc(100));
    await world.mineBlocks(200);
    await world.send(trader, diamondCall('cancelOrderAfterTimeout', [leverage.index]));
    expect(await world.balanceOf('USDC', trader.address)).toBe(start);
  });
});
