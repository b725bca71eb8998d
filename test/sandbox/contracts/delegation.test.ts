import { decodeAbiParameters, zeroAddress, type Hex } from 'viem';
import { RevertedError, argsOf, diamondCall, errorOf, packed, price, trade, usdc } from '../../harness/diamond/diamond-calls.js';
import { setMarket } from '../../harness/diamond/diamond-markets.js';
import { account, closeWorlds, createDiamondWorld, type DiamondWorld } from '../../harness/diamond/bare-diamond.js';

describe('a delegate', () => {
  const trader = account(1);
  const agent = account(2);
  const stranger = account(3);
  let world: DiamondWorld;

  beforeAll(async () => {
    world = await createDiamondWorld();
    await setMarket(world);
    await world.fund(trader);
    await world.fund(agent, {});
    await world.fund(stranger, {});
    await world.send(trader, diamondCall('setTradingDelegate', [agent.address]));
  });
  afterAll(closeWorlds);

  const acting = (data: Hex): Hex => diamondCall('delegatedTradingAction', [trader.address, data]);
  const opening = diamondCall('openTrade', [trade({ tradeType: 1, openPrice: price(59_000) }), 1000, zeroAddress]);
  const close = diamondCall('closeTradeMarket', [0, price(60_000)]);

  it('is set, replaced and removed without a single log', async () => {
    const set = await world.send(stranger, diamondCall('setTradingDelegate', [agent.address]));
    const replaced = await world.send(stranger, diamondCall('setTradingDelegate', [trader.address]));
    expect(await world.read('getTradingDelegate', [stranger.address])).toBe(trader.address);
    const removed = await world.send(stranger, diamondCall('removeTradingDelegate', []));
    expect([...set.names, ...replaced.names, ...removed.names]).toEqual([]);
    expect(await world.read('getTradingDelegate', [stranger.address])).toBe(zeroAddress);
  });

  it('cannot be the zero address', async () => {
    expect(await errorOf(world.call(stranger, diamondCall('setTradingDelegate', [zeroAddress])))).toBe('ZeroAddress');
  });

  it('places an order that belongs to the trader and is paid by the trader', async () => {
    const before = await world.balanceOf('USDC', trader.address);
    const { logs } = await world.send(agent, acting(opening));
    expect(argsOf(logs, 'OpenOrderPlaced').trader).toBe(trader.address);
    expect(before - (await world.balanceOf('USDC', trader.address))).toBe(usdc(100));
  });

  it("gets the inner call's return value back", async () => {
    const answer = (await world.call(agent, acting(diamondCall('getTradingDelegate', [trader.address])))) as Hex;
    const [inner] = decodeAbiParameters([{ type: 'bytes' }], answer);
    expect(decodeAbiParameters([{ type: 'address' }], inner)).toEqual([agent.address]);
  });

  it('is refused when no trader delegated to it', async () => {
    expect(await errorOf(world.call(stranger, acting(opening)))).toBe('DelegateNotApproved');
  });

  it('is not the trader itself, unless the trader said so', async () => {
    const self = diamondCall('delegatedTradingAction', [stranger.address, '0x']);
    expect(await errorOf(world.call(stranger, self))).toBe('DelegateNotApproved');
    await world.send(stranger, diamondCall('setTradingDelegate', [stranger.address]));
    await world.send(stranger, self);
  });

  it("changes its own delegation, never the trader's, from inside", async () => {
    await world.send(agent, acting(diamondCall('setTradingDelegate', [stranger.address])));
    expect(await world.read('getTradingDelegate', [agent.address])).toBe(stranger.address);
    expect(await world.read('getTradingDelegate', [trader.address])).toBe(agent.address);
    await world.send(agent, acting(diamondCall('removeTradingDelegate', [])));
    expect(await world.read('getTradingDelegate', [agent.address])).toBe(zeroAddress);
    expect(await world.read('getTradingDelegate', [trader.address])).toBe(agent.address);
  });

  it.each<[string, Hex]>([
    ['another delegated action', diamondCall('delegatedTradingAction', [trader.address, close])],
    ['openTradeNative', diamondCall('openTradeNative', [trade(), 1000, zeroAddress])],
    ['updateLeverageNative', diamondCall('updateLeverageNative', [0, 5000])],
    ['increasePositionSizeNative', diamondCall('increasePositionSizeNative', [0, 1n, 1000, price(60_000), 1000])],
    ['triggerOrder', diamondCall('triggerOrder', [packed(2, trader.address, 0)])],
    ['triggerOrderWithSignatures', diamondCall('triggerOrderWithSignatures', [packed(2, trader.address, 0), []])],
  ])('may not call %s', async (_, data) => {
    expect(await errorOf(world.call(agent, acting(data)))).toBe('DelegatedActionNotAllowed');
    expect(await errorOf(world.call(agent, acting(diamondCall('multicall', [[data]]))))).toBe('DelegatedActionNotAllowed');
  });

  it('cannot send native currency along', async () => {
    expect(await errorOf(world.call(agent, acting(opening), 1n))).toBe('empty');
  });

  it('does nothing, successfully, with empty calldata', async () => {
    const { names } = await world.send(agent, acting('0x'));
    expect(names).toEqual([]);
  });

  it('gets the inner error unchanged, whatever its kind', async () => {
    expect(await errorOf(world.call(agent, acting('0xdeadbeef')))).toBe('NotFound');
    expect(await errorOf(world.call(agent, acting(diamondCall('closeTradeMarket', [99, price(1)]))))).toBe('DoesntExist');
    const unknownCollateral = diamondCall('openTrade', [trade({ collateralIndex: 77 }), 1000, zeroAddress]);
    expect(await errorOf(world.call(agent, acting(unknownCollateral)))).toBe('empty');
    const tooMuch = diamondCall('openTrade', [trade({ collateralAmount: usdc(1_000_000), leverage: 2000 }), 1000, zeroAddress]);
    expect(await errorOf(world.call(agent, acting(tooMuch)))).toBe('ERC20InsufficientBalance');
    const opened = await world.open(trader, price(60_000));
    const beyond = diamondCall('decreasePositionSize', [opened.index, usdc(101), 0, price(60_000)]);
    await expect(world.call(agent, acting(beyond))).rejects.toMatchObject({ errorName: 'Panic', args: [0x11n] });
  });

  it("is bound by the trader's allowance", async () => {
    const poor = account(4);
    await world.fund(poor, {});
    await world.send(poor, diamondCall('setTradingDelegate', [agent.address]));
    const attempt = world.call(agent, diamondCall('delegatedTradingAction', [poor.address, opening]));
    await expect(attempt).rejects.toMatchObject({ errorName: 'ERC20InsufficientAllowance', args: [world.diamond, 0n, usdc(100)] });
  });

  it('batches inside and outside of the delegated action, all or nothing', async () => {
    const counter = async () => (await world.read('getCounters', [trader.address, 0])).currentIndex;
    const start = await counter();
    await world.send(agent, acting(diamondCall('multicall', [[opening, opening]])));
    await world.send(agent, diamondCall('multicall', [[acting(opening), acting(opening)]]));
    expect(await counter()).toBe(start + 4);
    const half = acting(diamondCall('multicall', [[opening, diamondCall('cancelOpenOrder', [999])]]));
    expect(await errorOf(world.send(agent, half))).toBe('WrongTradeType');
    expect(await counter()).toBe(start + 4);
  });

  it('sets its slippage and closes in one transaction', async () => {
    const opened = await world.open(trader, price(60_000));
    const both = diamondCall('multicall', [
      [diamondCall('updateMaxClosingSlippageP', [opened.index, 250]), diamondCall('closeTradeMarket', [opened.index, price(60_000)])],
    ]);
    const { names } = await world.send(agent, acting(both));
    expect(names[0]).toBe('TradeMaxClosingSlippagePUpdated');
    expect(names.at(-1)).toBe('MarketOrderInitiated');
  });

  it('has at most twenty calls in a batch, and none with value', async () => {
    const nothing = diamondCall('getTradingActivated', []);
    await world.call(agent, diamondCall('multicall', [Array<Hex>(20).fill(nothing)]));
    expect(await errorOf(world.call(agent, diamondCall('multicall', [Array<Hex>(21).fill(nothing)])))).toBe('AboveMax');
    expect(await errorOf(world.call(agent, diamondCall('multicall', [[nothing]]), 1n))).toBe('empty');
  });

  it('sees its payouts go to the trader', async () => {
    const opened = await world.open(trader, price(60_000));
    const { logs } = await world.send(agent, acting(diamondCall('closeTradeMarket', [opened.index, price(60_000)])));
    const before = await world.balanceOf('USDC', trader.address);
    const closed = await world.fulfil(argsOf(logs, 'MarketOrderInitiated').orderId, price(60_000));
    const paid = argsOf(closed.logs, 'MarketExecuted').amountSentToTrader;
    expect(paid).toBeGreaterThan(0n);
    expect((await world.balanceOf('USDC', trader.address)) - before).toBe(paid);
    expect(await world.balanceOf('USDC', agent.address)).toBe(0n);
  });

  it('leaves no trace of the trader behind for the next caller', async () => {
    await world.send(agent, acting(opening));
    expect(await errorOf(world.call(agent, close))).toBe('DoesntExist');
    expect(new RevertedError('0x').errorName).toBe('empty');
  });
});
