import { parseEther, zeroAddress } from 'viem';
import { argsOf, controlCall, diamondCall, errorOf, packed, price, trade, usdc, type Trade } from '../../harness/diamond/diamond-calls.js';
import { setMarket } from '../../harness/diamond/diamond-markets.js';
import {
  OPERATOR,
  account,
  closeWorlds,
  createDiamondWorld,
  type Candle,
  type DiamondWorld,
  type Id,
} from '../../harness/diamond/bare-diamond.js';

const [LIMIT, STOP, TP, SL, LIQ] = [2, 3, 4, 5, 6];
const P = price(60_000);
let world: DiamondWorld;
let next = 100;

beforeAll(async () => {
  world = await createDiamondWorld();
  await setMarket(world);
});
afterAll(closeWorlds);

const newTrader = () => world.fund(account(next++));
const at = (value: number): Candle => ({ open: price(value), high: price(value), low: price(value), current: price(value) });
const candle = (low: number, open: number, high: number): Candle => ({
  open: price(open),
  high: price(high),
  low: price(low),
  current: price(open),
});

async function place(changes: Partial<Trade>, slippage = 1000): Promise<Id> {
  const trader = await newTrader();
  const { logs } = await world.send(trader, diamondCall('openTrade', [trade(changes), slippage, zeroAddress]));
  return { user: trader.address, index: argsOf(logs, 'OpenOrderPlaced').index };
}

const position = async (changes: Partial<Trade> = {}): Promise<Id> => {
  const { user, index } = await world.open(await newTrader(), P, changes);
  return { user, index };
};

describe('a resting order', () => {
  it('is stored and logged at once, with its collateral, and gives it back uncharged', async () => {
    const trader = await newTrader();
    const placed = await world.send(
      trader,
      diamondCall('openTrade', [trade({ tradeType: 1, openPrice: price(58_000) }), 700, zeroAddress]),
    );
    expect(placed.names).toEqual(['TradeStored', 'OpenOrderPlaced']);
    expect((await world.read('getTradeInfo', [trader.address, 0])).maxSlippageP).toBe(700);
    const canceled = await world.send(trader, diamondCall('cancelOpenOrder', [0]));
    expect(canceled.names).toEqual(['TradeClosed', 'OpenLimitCanceled']);
    expect(await world.balanceOf('USDC', trader.address)).toBe(usdc(10_000));
  });

  it('fills under a new index and closes its old one', async () => {
    const id = await place({ tradeType: 1, openPrice: price(58_000) });
    const { logs, names } = await world.trigger(LIMIT, id, candle(57_900, 58_100, 58_200));
    expect(argsOf(logs, 'LimitExecuted')).toMatchObject({
      orderId: { user: zeroAddress, index: 0 },
      limitIndex: 0,
      index: 1,
      orderType: 2,
      exactExecution: true,
      oraclePrice: price(58_000),
      triggerCaller: OPERATOR.address,
    });
    expect(names).toEqual([
      'SignedPricesReceived',
      'TradeClosed',
      'PendingAccFundingFeesStored',
      'PendingAccBorrowingFeesStored',
      'PairOiAfterV10Updated',
      'TradeStored',
      'TradingFeesRealized',
      'FeesProcessed',
      'LimitExecuted',
    ]);
    expect((await world.read('getTrade', [id.user, 0])).isOpen).toBe(false);
    expect(await world.read('getTrade', [id.user, 1])).toMatchObject({ isOpen: true, tradeType: 0 });
    expect((await world.read('getTradeInfo', [id.user, 1])).maxSlippageP).toBe(0);
  });

  it.each<[string, number, Partial<Trade>, Candle, boolean]>([
    ['a long limit below the price waits', LIMIT, { tradeType: 1, openPrice: price(58_000) }, at(58_001), false],
    ['a long limit fills at a better open', LIMIT, { tradeType: 1, openPrice: price(58_000) }, at(57_500), true],
    ['a short limit waits for the rise', LIMIT, { tradeType: 1, long: false, openPrice: price(62_000) }, at(61_999), false],
    ['a short limit fills above', LIMIT, { tradeType: 1, long: false, openPrice: price(62_000) }, at(62_500), true],
    ['a long stop waits below', STOP, { tradeType: 2, openPrice: price(62_000) }, at(61_999), false],
    ['a long stop fills above', STOP, { tradeType: 2, openPrice: price(62_000) }, at(62_010), true],
    ['a short stop waits above', STOP, { tradeType: 2, long: false, openPrice: price(58_000) }, at(58_001), false],
    ['a short stop fills below', STOP, { tradeType: 2, long: false, openPrice: price(58_000) }, at(57_990), true],
  ])('%s', async (_, type, changes, prices, fills) => {
    const id = await place(changes);
    const { logs } = await world.trigger(type, id, prices);
    if (fills) expect(argsOf(logs, 'LimitExecuted').limitIndex).toBe(id.index);
    else expect(argsOf(logs, 'TriggerOrderCanceled')).toMatchObject({ cancelReason: 11, orderId: { user: zeroAddress, index: 0 } });
    expect((await world.read('getTrade', [id.user, id.index])).isOpen).toBe(!fills);
  });

  it('stays open when its slippage is exceeded', async () => {
    const id = await place({ tradeType: 2, openPrice: price(62_000) }, 100);
    const { logs } = await world.trigger(STOP, id, at(63_000));
    expect(argsOf(logs, 'TriggerOrderCanceled').cancelReason).toBe(3);
    expect((await world.read('getTrade', [id.user, id.index])).isOpen).toBe(true);
  });

  it('that is gone cancels the attempt with NO_TRADE', async () => {
    const id = await place({ tradeType: 1, openPrice: price(58_000) });
    await world.trigger(LIMIT, id, at(57_900));
    expect(argsOf((await world.trigger(LIMIT, id, at(57_900))).logs, 'TriggerOrderCanceled').cancelReason).toBe(9);
  });

  it('is validated for keepers by the view as it would be executed', async () => {
    const id = await place({ tradeType: 1, openPrice: price(58_000) });
    const [, values] = await world.read('validateTriggerOpenOrderCallback', [
      id,
      LIMIT,
      price(58_100),
      price(58_200),
      price(57_900),
      price(58_100),
    ]);
    expect(values).toMatchObject({
      cancelReason: 0,
      exactExecution: true,
      executionPriceRaw: price(58_000),
      openingFeeCollateral: 750_000n,
    });
  });
});

describe('an open trade', () => {
  it('is closed by its take profit at that price', async () => {
    const id = await position({ tp: price(63_000) });
    expect(argsOf((await world.trigger(TP, id, at(62_900))).logs, 'TriggerOrderCanceled').cancelReason).toBe(11);
    const { logs } = await world.trigger(TP, id, candle(62_500, 62_700, 63_100));
    const executed = argsOf(logs, 'LimitExecuted');
    expect(executed).toMatchObject({ orderType: 4, oraclePrice: price(63_000), limitIndex: 0, index: id.index, exactExecution: true });
    expect(executed.amountSentToTrader).toBeGreaterThan(usdc(140));
    expect(executed.t.isOpen).toBe(true);
  });

  it('is closed by its stop loss, and not beyond its slippage', async () => {
    const id = await position({ sl: price(58_000) });
    expect(argsOf((await world.trigger(SL, id, at(57_000))).logs, 'TriggerOrderCanceled').cancelReason).toBe(3);
    expect(argsOf((await world.trigger(SL, id, at(57_900))).logs, 'LimitExecuted')).toMatchObject({
      orderType: 5,
      oraclePrice: price(57_900),
      exactExecution: false,
    });
  });

  it('has nothing to hit without a take profit or a stop', async () => {
    const id = await position();
    expect(argsOf((await world.trigger(TP, id, at(90_000))).logs, 'TriggerOrderCanceled').cancelReason).toBe(11);
    expect(argsOf((await world.trigger(SL, id, at(1))).logs, 'TriggerOrderCanceled').cancelReason).toBe(11);
  });

  it('is liquidated by the oracle price and pays nothing', async () => {
    const opened = await world.open(await newTrader(), P);
    const { liqPrice } = argsOf(opened.receipt.logs, 'MarketExecuted');
    const above = { open: liqPrice + 10n, high: liqPrice + 10n, low: liqPrice + 1n, current: liqPrice + 10n };
    expect(argsOf((await world.trigger(LIQ, opened, above)).logs, 'TriggerOrderCanceled').cancelReason).toBe(11);
    const { logs } = await world.trigger(LIQ, opened, { ...above, low: liqPrice });
    const executed = argsOf(logs, 'LimitExecuted');
    expect(executed).toMatchObject({ orderType: 6, marketPrice: liqPrice, amountSentToTrader: 0n, liqPrice });
    expect(executed.percentProfit).toBeGreaterThan(-1_000_000_000_000n);
    expect(executed.percentProfit).toBeLessThan(-850_000_000_000n);
  });

  it('meets its take profit at the market price, which carries the skew', async () => {
    await setMarket(world, { skewDepth: parseEther('1') });
    const id = await position({ tp: price(63_000) });
    const { oiLongToken, oiShortToken } = await world.read('getPairOiAfterV10Token', [3, 0]);
    const skewP = ((oiLongToken - oiShortToken) * 10n ** 10n) / parseEther('1') / 2n;
    expect(await world.read('getTradeSkewPriceImpactP', [3, 0, true, 0n, true])).toBe(skewP);
    const oracle = (price(63_000) * 10n ** 12n) / (10n ** 12n + skewP);
    const hit = { open: oracle + 10n, high: oracle + 10n, low: oracle - 10n, current: oracle };
    const miss = { open: oracle - 1_000_000n, high: oracle - 1_000_000n, low: oracle - 2_000_000n, current: oracle };
    expect(argsOf((await world.trigger(TP, id, miss)).logs, 'TriggerOrderCanceled').cancelReason).toBe(11);
    expect(argsOf((await world.trigger(TP, id, hit)).logs, 'LimitExecuted').exactExecution).toBe(true);
    await setMarket(world);
  });
});

describe('a keeper without signed prices', () => {
  const keeper = account(50);
  beforeAll(() => world.fund(keeper, {}));

  it('asks in one transaction and executes in another, under its own order id', async () => {
    const id = await place({ tradeType: 1, openPrice: price(58_000) });
    const asked = await world.send(keeper, diamondCall('triggerOrder', [packed(LIMIT, id.user, id.index)]));
    expect(asked.names).toEqual([
      'PendingOrderStored',
      'ChainlinkRequested',
      'ChainlinkRequested',
      'ChainlinkRequested',
      'PriceRequested',
      'TriggerOrderInitiated',
    ]);
    expect(argsOf(asked.logs, 'PriceRequested').isLookback).toBe(true);
    const { orderId, trader } = argsOf(asked.logs, 'TriggerOrderInitiated');
    expect([orderId.user, trader]).toEqual([keeper.address, id.user]);
    const { logs } = await world.fulfil(orderId, price(57_950));
    expect(argsOf(logs, 'LimitExecuted')).toMatchObject({ orderId, triggerCaller: keeper.address, limitIndex: id.index });
    expect(argsOf(logs, 'TradingCallbackExecuted').a).toMatchObject({ open: price(57_950), high: price(57_950), low: price(57_950) });
  });

  it('blocks edits of that order for the trigger time-out, and of nothing else', async () => {
    const trader = await newTrader();
    const { index } = await world.open(trader, P, { tp: price(63_000) });
    const asked = await world.send(keeper, diamondCall('triggerOrder', [packed(TP, trader.address, index)]));
    const edits = { tp: diamondCall('updateTp', [index, price(64_000)]), slippage: diamondCall('updateMaxClosingSlippageP', [index, 500]) };
    expect(await errorOf(world.call(trader, edits.tp))).toBe('PendingTrigger');
    expect(await errorOf(world.call(trader, edits.slippage))).toBe('PendingTrigger');
    expect(await errorOf(world.call(keeper, diamondCall('triggerOrder', [packed(TP, trader.address, index)])))).toBe('PendingTrigger');
    await world.call(trader, diamondCall('updateSl', [index, price(59_000)]));
    const blocks = await world.read('getTriggerTimeoutBlocks', []);
    await world.mineBlocks(blocks - 1);
    expect(await errorOf(world.call(trader, edits.tp))).toBe('PendingTrigger');
    await world.mineBlocks(1);
    await world.call(trader, edits.tp);
    const { orderId } = argsOf(asked.logs, 'TriggerOrderInitiated');
    expect(await errorOf(world.call(keeper, diamondCall('cancelOrderAfterTimeout', [orderId.index])))).toBe('WrongOrderType');
    expect(argsOf((await world.fulfil(orderId, P)).logs, 'TriggerOrderCanceled')).toMatchObject({
      orderId,
      cancelReason: 11,
      triggerCaller: keeper.address,
    });
    expect((await world.read('getTrade', [trader.address, index])).isOpen).toBe(true);
  });

  it('blocks the edit and cancellation of a stop order in flight', async () => {
    const trader = await newTrader();
    await world.send(trader, diamondCall('openTrade', [trade({ tradeType: 2, openPrice: price(62_000) }), 1000, zeroAddress]));
    await world.send(keeper, diamondCall('triggerOrder', [packed(STOP, trader.address, 0)]));
    expect(await errorOf(world.call(trader, diamondCall('cancelOpenOrder', [0])))).toBe('PendingTrigger');
    expect(await errorOf(world.call(trader, diamondCall('updateOpenOrder', [0, price(63_000), 0n, 0n, 1000])))).toBe('PendingTrigger');
  });

  it('can be refused by the oracle with any reason while the order stays', async () => {
    const id = await place({ tradeType: 1, openPrice: price(58_000) });
    const asked = await world.send(keeper, diamondCall('triggerOrder', [packed(LIMIT, id.user, id.index)]));
    const { orderId } = argsOf(asked.logs, 'TriggerOrderInitiated');
    const { logs } = await world.control(controlCall('sandboxRejectAt', [orderId, 6, price(57_000)]));
    expect(argsOf(logs, 'TriggerOrderCanceled').cancelReason).toBe(6);
    expect((await world.read('getTrade', [id.user, id.index])).isOpen).toBe(true);
  });
});
