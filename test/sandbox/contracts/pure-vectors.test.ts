import { parseEther, zeroAddress } from 'viem';
import { argsOf, controlCall, diamondCall, price, trade, usdc } from '../../harness/diamond/diamond-calls.js';
import { setMarket, setPair } from '../../harness/diamond/diamond-markets.js';
import { account, closeWorlds, createDiamondWorld, type DiamondWorld } from '../../harness/diamond/bare-diamond.js';
import { depthBands } from '../../../sandbox/deploy-markets.js';

const LIQUIDATION = {
  maxLiqSpreadP: 500_000_000,
  startLiqThresholdP: 900_000_000_000,
  endLiqThresholdP: 750_000_000_000,
  startLeverage: 25_000,
  endLeverage: 60_000,
};

describe('the Diamond computes', () => {
  const trader = account(1);
  let world: DiamondWorld;

  beforeAll(async () => {
    world = await createDiamondWorld();
    await setMarket(world);
    await world.fund(trader, { USDC: usdc(2_000_000) });
  });
  afterAll(closeWorlds);

  const liqInput = (changes: object) => ({
    collateralIndex: 3,
    trader: trader.address,
    pairIndex: 0,
    index: 0,
    openPrice: price(60_000),
    long: true,
    collateral: usdc(100),
    leverage: 10_000n,
    additionalFeeCollateral: 0n,
    liquidationParams: LIQUIDATION,
    currentPairPrice: 0n,
    isCounterTrade: false,
    partialCloseMultiplier: 10n ** 18n,
    beforeOpened: true,
    ...changes,
  });

  it.each([
    ['long', true, 547020000000000n],
    ['short', false, 652980000000000n],
  ] as const)('the published liquidation price of a %s with 1.5 USDC of fees', async (_, long, expected) => {
    expect(await world.read('getTradeLiquidationPrice', [liqInput({ long, additionalFeeCollateral: 750_000n })])).toBe(expected);
  });

  it.each([
    [10, 900_000_000_000n],
    [40, 835_714_285_715n],
    [100, 750_000_000_000n],
  ])('the published liquidation threshold at %dx', async (leverage, threshold) => {
    // With the closing fee given back and a whole token of collateral the distance is the threshold itself, less the capped spread.
    const collateral = 1_000_000_000_000n;
    const fee = (collateral * BigInt(leverage) * 6n) / 10_000n;
    const openPrice = 10n ** 15n;
    const input = liqInput({
      openPrice,
      collateral,
      leverage: BigInt(leverage) * 1000n,
      additionalFeeCollateral: -fee,
      liquidationParams: { ...LIQUIDATION, maxLiqSpreadP: 1 },
    });
    const distance = openPrice - (await world.read('getTradeLiquidationPrice', [input]));
    const spread = openPrice / 10n ** 12n;
    expect(distance + spread).toBe((openPrice * threshold * 1000n) / (BigInt(leverage) * 1000n) / 10n ** 12n);
  });

  it('half the published average offset for the first million of an untouched book', async () => {
    expect(await world.read('getTradeCumulVolPriceImpactP', [trader.address, 0, true, parseEther('1000000'), false, true, 0n])).toBe(
      250_000_000n,
    );
  });

  it('the published impact of half a million after half a million', async () => {
    const opened = await world.open(trader, price(60_000), { collateralAmount: usdc(50_000) }, 5000);
    expect(argsOf(opened.receipt.logs, 'MarketExecuted').priceImpact.cumulVolPriceImpactP).toBe(125_000_000n);
    expect(await world.read('getPriceImpactOi', [0n, true])).toBe(parseEther('500000'));
    expect(await world.read('getTradeCumulVolPriceImpactP', [trader.address, 0, true, parseEther('500000'), false, true, 0n])).toBe(
      375_000_000n,
    );
  });

  it('the published clamp of a stop loss', async () => {
    const { logs } = await world.send(trader, diamondCall('openTrade', [trade({ tradeType: 1, sl: price(50_000) }), 1000, zeroAddress]));
    expect(argsOf(logs, 'TradeStored').trade.sl).toBe(549720000000000n);
  });

  it('20 percent for 60000 to 61200 at 10x when nothing moves the execution price', async () => {
    await world.mine(600);
    await setPair(world, { spreadP: 0n });
    await world.control(controlCall('sandboxSetDepths', [[0n], [depthBands(0)]]));
    const opened = await world.open(trader, price(60_000));
    const request = await world.send(trader, diamondCall('closeTradeMarket', [opened.index, price(61_200)]));
    const { logs } = await world.fulfil(argsOf(request.logs, 'MarketOrderInitiated').orderId, price(61_200));
    expect(argsOf(logs, 'MarketExecuted')).toMatchObject({ percentProfit: 200_000_000_000n, marketPrice: price(61_200) });
  });
});
