import { zeroAddress, type Hex } from 'viem';
import { argsOf, controlCall, diamondCall, errorOf, packed, price, trade, usdc, type Trade } from '../../harness/diamond/diamond-calls.js';
import { setMarket } from '../../harness/diamond/diamond-markets.js';
import { tokenAbi } from '../../../sandbox/contracts/artefact.js';
import { OPERATOR, account, closeWorlds, createDiamondWorld, type DiamondWorld } from '../../harness/diamond/bare-diamond.js';

const open = (changes: Partial<Trade> = {}, slippage = 1000): Hex => diamondCall('openTrade', [trade(changes), slippage, zeroAddress]);

const trader = account(1);
const stranger = account(2);
let world: DiamondWorld;
let position: number;
let order: number;

beforeAll(async () => {
  world = await createDiamondWorld();
  await setMarket(world);
  await world.fund(trader);
  await world.fund(stranger);
  position = (await world.open(trader, price(60_000))).index;
  const { logs } = await world.send(trader, open({ tradeType: 1, openPrice: price(59_000) }));
  order = argsOf(logs, 'OpenOrderPlaced').index;
});
afterAll(closeWorlds);

describe('opening a trade is refused', () => {
  it.each<[string, string, Hex]>([
    ['with too little collateral', 'InsufficientCollateral', open({ collateralAmount: 3_749_999n })],
    ['above the highest leverage', 'WrongLeverage', open({ leverage: 150_001 })],
    ['below the lowest leverage', 'WrongLeverage', open({ leverage: 1099 })],
    ['as a counter trade with more leverage than those may have', 'WrongTradeType', open({ isCounterTrade: true })],
    ['without a price', 'BelowMin', open({ openPrice: 0n })],
    ['when spread and impact would eat the collateral', 'PriceImpactTooHigh', open({ leverage: 150_000, collateralAmount: usdc(70_000) })],
    ['without the money', 'ERC20InsufficientBalance', open({ collateralAmount: usdc(20_000), leverage: 2000 })],
    ['on an unlisted pair', 'TradePairNotListed', open({ pairIndex: 400 })],
    ['on the delisted slot', 'TradePairNotListed', open({ pairIndex: 5 })],
    ['in a collateral that is switched off', 'ERC20InsufficientAllowance', open({ collateralIndex: 2, collateralAmount: 10n ** 18n })],
    ['in a collateral that does not exist', 'empty', open({ collateralIndex: 9 })],
    ['with a take profit on the wrong side', 'TradeTpInvalid', open({ tp: price(59_000) })],
    ['with a stop loss on the wrong side', 'TradeSlInvalid', open({ sl: price(61_000) })],
    ['as a short with a take profit above', 'TradeTpInvalid', open({ long: false, tp: price(61_000) })],
    ['without slippage', 'MaxSlippageZero', open({}, 0)],
    ['as a limit order without slippage', 'MaxSlippageZero', open({ tradeType: 1 }, 0)],
    ['with a type that is none', 'WrongTradeType', open({ tradeType: 3 })],
  ])('%s', async (_, error, data) => {
    expect(await errorOf(world.call(trader, data))).toBe(error);
  });

  it('in the documented order when everything is wrong at once', async () => {
    const all: Partial<Trade> = { collateralAmount: 1n, leverage: 1, openPrice: 0n, pairIndex: 400, tp: 1n, sl: price(99_000) };
    const after = async (changes: Partial<Trade>): Promise<string> => errorOf(world.call(trader, open({ ...all, ...changes }, 0)));
    expect(await after({})).toBe('InsufficientCollateral');
    const paid = { collateralAmount: usdc(100) };
    expect(await after(paid)).toBe('WrongLeverage');
    expect(await after({ ...paid, leverage: 10_000, isCounterTrade: true })).toBe('WrongTradeType');
    expect(await after({ ...paid, leverage: 10_000 })).toBe('BelowMin');
    expect(await after({ collateralAmount: usdc(50_000), leverage: 10_000, openPrice: price(60_000) })).toBe('ERC20InsufficientBalance');
    expect(await after({ ...paid, leverage: 10_000, openPrice: price(60_000) })).toBe('TradePairNotListed');
    expect(await after({ ...paid, leverage: 10_000, openPrice: price(60_000), pairIndex: 0 })).toBe('TradeTpInvalid');
    expect(await after({ ...paid, leverage: 10_000, openPrice: price(60_000), pairIndex: 0, tp: 0n })).toBe('TradeSlInvalid');
    expect(await after({ ...paid, leverage: 10_000, openPrice: price(60_000), pairIndex: 0, tp: 0n, sl: 0n })).toBe('MaxSlippageZero');
  });

  it('in a collateral switched off, once it is paid for', async () => {
    await world.control(controlCall('sandboxSetCollateral', [3, false, 100_000_000n]));
    expect(await errorOf(world.call(trader, open()))).toBe('InvalidCollateralIndex');
    expect(await errorOf(world.call(trader, diamondCall('updateLeverage', [position, 5000])))).toBe('InvalidCollateralIndex');
    await world.control(controlCall('sandboxSetCollateral', [3, true, 100_000_000n]));
  });
});

describe('changing what is open is refused', () => {
  const P = price(60_000);
  it.each<[string, string, () => Hex]>([
    ['closing what is not open', 'DoesntExist', () => diamondCall('closeTradeMarket', [77, P])],
    ['closing a resting order', 'WrongTradeType', () => diamondCall('closeTradeMarket', [order, P])],
    ['closing without an expected price', 'ZeroValue', () => diamondCall('closeTradeMarket', [position, 0n])],
    ['cancelling a position', 'WrongTradeType', () => diamondCall('cancelOpenOrder', [position])],
    ['cancelling an index never used', 'WrongTradeType', () => diamondCall('cancelOpenOrder', [77])],
    ['editing a position as an order', 'WrongTradeType', () => diamondCall('updateOpenOrder', [position, P, 0n, 0n, 1000])],
    ['editing an order that is not there', 'DoesntExist', () => diamondCall('updateOpenOrder', [77, P, 0n, 0n, 1000])],
    ['editing an order to no price', 'TradeOpenPriceZero', () => diamondCall('updateOpenOrder', [order, 0n, 0n, 0n, 1000])],
    ['editing an order to a wrong take profit', 'TradeTpInvalid', () => diamondCall('updateOpenOrder', [order, P, P, 0n, 1000])],
    ['editing an order to a wrong stop', 'TradeSlInvalid', () => diamondCall('updateOpenOrder', [order, P, 0n, P, 1000])],
    ['editing an order to no slippage', 'MaxSlippageZero', () => diamondCall('updateOpenOrder', [order, P, 0n, 0n, 0])],
    ['a take profit on nothing', 'DoesntExist', () => diamondCall('updateTp', [77, P])],
    ['a stop loss on a resting order', 'WrongTradeType', () => diamondCall('updateSl', [order, P])],
    ['no closing slippage', 'MaxSlippageZero', () => diamondCall('updateMaxClosingSlippageP', [position, 0])],
    ['leverage that is the same', 'WrongLeverage', () => diamondCall('updateLeverage', [position, 10_000])],
    ['leverage below a tenth', 'WrongLeverage', () => diamondCall('updateLeverage', [position, 99])],
    ['leverage that leaves no collateral', 'InsufficientCollateral', () => diamondCall('updateLeverage', [position, 2_000_000])],
    ['leverage of nothing', 'DoesntExist', () => diamondCall('updateLeverage', [77, 5000])],
    [
      'an increase by nothing',
      'InvalidIncreasePositionSizeInput',
      () => diamondCall('increasePositionSize', [position, usdc(1), 0, P, 1000]),
    ],
    [
      'an increase without a price',
      'InvalidIncreasePositionSizeInput',
      () => diamondCall('increasePositionSize', [position, usdc(1), 1000, 0n, 1000]),
    ],
    [
      'an increase without slippage',
      'InvalidIncreasePositionSizeInput',
      () => diamondCall('increasePositionSize', [position, usdc(1), 1000, P, 0]),
    ],
    ['an increase beyond all leverage', 'WrongLeverage', () => diamondCall('increasePositionSize', [position, 0n, 16_777_000, P, 1000])],
    ['a decrease of both', 'InvalidDecreasePositionSizeInput', () => diamondCall('decreasePositionSize', [position, usdc(1), 1000, P])],
    ['a decrease of neither', 'InvalidDecreasePositionSizeInput', () => diamondCall('decreasePositionSize', [position, 0n, 0, P])],
    ['a decrease to no leverage', 'WrongLeverage', () => diamondCall('decreasePositionSize', [position, 0n, 9950, P])],
    ['a decrease without a price', 'ZeroValue', () => diamondCall('decreasePositionSize', [position, usdc(1), 0, 0n])],
    [
      'a decrease that leaves too little',
      'InsufficientCollateral',
      () => diamondCall('decreasePositionSize', [position, usdc(99.5), 0, P]),
    ],
    ['a decrease by more than there is', 'Panic', () => diamondCall('decreasePositionSize', [position, usdc(101), 0, P])],
    ['a withdrawal of nothing', 'ZeroValue', () => diamondCall('withdrawPositivePnl', [position, 0n])],
    ['a withdrawal from nothing', 'NoTrade', () => diamondCall('withdrawPositivePnl', [77, 1n])],
    ['reclaiming no order', 'NoOrder', () => diamondCall('cancelOrderAfterTimeout', [77])],
    ['triggering a market type', 'WrongOrderType', () => diamondCall('triggerOrder', [packed(1, trader.address, position)])],
    ['triggering nothing', 'NoTrade', () => diamondCall('triggerOrder', [packed(2, trader.address, 77)])],
    ['triggering the wrong kind of order', 'WrongTradeType', () => diamondCall('triggerOrder', [packed(3, trader.address, order)])],
    ['triggering a stop loss that is not set', 'NoSl', () => diamondCall('triggerOrder', [packed(5, trader.address, position)])],
    ['triggering a take profit that is not set', 'NoTp', () => diamondCall('triggerOrder', [packed(4, trader.address, position)])],
    [
      'triggering with invalid signatures',
      'NotAuthorized',
      () => diamondCall('triggerOrderWithSignatures', [packed(4, trader.address, position), []]),
    ],
    ['an unserved selector', 'NotFound', () => diamondCall('fulfill', [`0x${'00'.repeat(32)}`, 1n])],
  ])('%s', async (_, error, data) => {
    expect(await errorOf(world.call(trader, data()))).toBe(error);
  });

  it('a cancelled order, which is known to be gone', async () => {
    const { logs } = await world.send(trader, open({ tradeType: 2, openPrice: price(61_000) }));
    const { index } = argsOf(logs, 'OpenOrderPlaced');
    await world.send(trader, diamondCall('cancelOpenOrder', [index]));
    expect(await errorOf(world.call(trader, diamondCall('cancelOpenOrder', [index])))).toBe('DoesntExist');
  });

  it('an increase of a position an older release opened', async () => {
    const { index } = await world.open(stranger, price(60_000));
    await world.control(controlCall('sandboxSetTradeVersion', [stranger.address, index, 1]));
    const data = diamondCall('increasePositionSize', [index, usdc(10), 10_000, price(60_000), 1000]);
    expect(await errorOf(world.call(stranger, data))).toBe('NotAuthorized');
  });
});

describe('native currency', () => {
  it('must be sent, and only for the wrapped native collateral', async () => {
    const data = diamondCall('openTradeNative', [trade({ collateralIndex: 2 }), 1000, zeroAddress]);
    expect(await errorOf(world.call(trader, data))).toBe('ZeroValue');
    const other = diamondCall('openTradeNative', [trade({ collateralIndex: 3 }), 1000, zeroAddress]);
    expect(await errorOf(world.call(trader, other, 1n))).toBe('NotWrappedNativeToken');
    expect(await errorOf(world.call(trader, data, 10n ** 18n))).toBe('InvalidCollateralIndex');
  });

  it('opens a trade once that collateral is active', async () => {
    await world.control(controlCall('sandboxSetCollateral', [2, true, 300_000_000_000n]));
    const { logs } = await world.send(
      trader,
      diamondCall('openTradeNative', [trade({ collateralIndex: 2, tradeType: 1 }), 1000, zeroAddress]),
      { value: 10n ** 17n },
    );
    expect(argsOf(logs, 'TradeStored').trade.collateralAmount).toBe(10n ** 17n);
    await world.control(controlCall('sandboxSetCollateral', [2, false, 300_000_000_000n]));
  });

  it.each([
    ['is what a partial close pays', true],
    ['is paid as its wrapped token where that is switched off', false],
  ])('%s', async (_, isEnabled) => {
    await world.control(controlCall('sandboxSetCollateral', [2, true, 300_000_000_000n]));
    await world.control(controlCall('sandboxSetNativeTransfer', [isEnabled]));
    await setMarket(world, { collateralIndex: 2 });
    const data = diamondCall('openTradeNative', [trade({ collateralIndex: 2 }), 1000, zeroAddress]);
    const { logs } = await world.send(trader, data, { value: 10n ** 18n });
    const { index } = argsOf((await world.fulfil(argsOf(logs, 'PendingOrderStored').pendingOrder, price(60_000))).logs, 'MarketExecuted');
    const id = await world.ask(trader, diamondCall('decreasePositionSize', [index, 10n ** 17n, 0, price(60_000)]));
    const token = (await world.read('getCollaterals', []))[1]?.collateral ?? zeroAddress;
    const balance = { address: token, abi: tokenAbi, functionName: 'balanceOf', args: [trader.address] } as const;
    const held = async () =>
      [await world.client.getBalance({ address: trader.address }), await world.client.readContract(balance)] as const;
    const [coins, tokens] = await held();
    const { values } = argsOf((await world.fulfil(id, price(60_000))).logs, 'PositionSizeDecreaseExecuted');
    const [coinsAfter, tokensAfter] = await held();
    const sent = values.collateralSentToTrader;
    expect(sent).toBeGreaterThan(0n);
    expect([coinsAfter - coins, tokensAfter - tokens]).toEqual(isEnabled ? [sent, 0n] : [0n, sent]);
    await world.control(controlCall('sandboxSetCollateral', [2, false, 300_000_000_000n]));
  });
});

describe('governance is refused', () => {
  it.each([
    ['a trigger timeout worth less than ten seconds', 32, 'BelowMin'],
    ['one worth more than thirty', 101, 'AboveMax'],
  ])('%s', async (_, blocks, name) => {
    expect(await errorOf(world.control(controlCall('sandboxSetTimeouts', [200, blocks])))).toBe(name);
  });

  it('a limit for borrowing group 0, which means that a pair is in none', async () => {
    await expect(world.control(controlCall('sandboxSetBorrowingGroupMaxOi', [3, 0, 1n]))).rejects.toThrow();
    await setMarket(world, { borrowingGroup: 0 });
    expect(await world.read('withinMaxBorrowingGroupOi', [3, 0, true, usdc(10 ** 9)])).toBe(true);
    await setMarket(world);
  });
});

describe('control functions', () => {
  it.each<[string, Hex]>([
    ['answering', controlCall('sandboxFulfill', [{ user: trader.address, index: 0 }, 1n])],
    ['rejecting', controlCall('sandboxReject', [{ user: trader.address, index: 0 }, 3])],
    ['triggering', controlCall('sandboxTrigger', [packed(2, trader.address, 0), 1n, 1n, 1n, 1n])],
    ['configuring', controlCall('sandboxSetTradingActivated', [2])],
    ['routing', controlCall('sandboxSetFacets', [[]])],
    ['making operators', controlCall('sandboxSetOperator', [trader.address, true])],
  ])("are the operator's alone: %s", async (_, data) => {
    expect(await errorOf(world.call(trader, data))).toBe('WrongAccess');
    const delegated = diamondCall('delegatedTradingAction', [trader.address, data]);
    expect(await errorOf(world.call(trader, diamondCall('multicall', [[data]])))).toBe('WrongAccess');
    expect(await errorOf(world.call(trader, delegated))).toBe('DelegateNotApproved');
  });

  it('initialise once', async () => {
    expect(await errorOf(world.call(OPERATOR, controlCall('sandboxInit', [[trader.address], []])))).toBe('WrongAccess');
  });

  it('refuse a price of zero, a reason of zero, an impossible candle and an order that was never placed', async () => {
    const id = await world.requestOpen(stranger);
    expect(await errorOf(world.fulfil(id, 0n))).toBe('PriceZero');
    expect(await errorOf(world.reject(id, 0))).toBe('WrongParams');
    expect(await errorOf(world.fulfil({ user: stranger.address, index: 999 }, price(1)))).toBe('DoesntExist');
    const candle = { open: price(10), high: price(9), low: price(8), current: price(9) };
    expect(await errorOf(world.trigger(2, { user: trader.address, index: order }, candle))).toBe('InvalidCandle');
    expect(await errorOf(world.trigger(1, { user: trader.address, index: order }, candle))).toBe('WrongOrderType');
    expect(await errorOf(world.trigger(5, { user: trader.address, index: order }, { ...candle, high: price(11) }))).toBe('WrongTradeType');
  });
});
