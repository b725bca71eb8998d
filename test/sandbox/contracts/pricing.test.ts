import { parseEther } from 'viem';
import { argsOf, controlCall, diamondCall, price, usdc } from '../../harness/diamond/diamond-calls.js';
import { FUNDING_OFF, setMarket } from '../../harness/diamond/diamond-markets.js';
import { account, closeWorlds, createDiamondWorld, type DiamondWorld, type Id } from '../../harness/diamond/bare-diamond.js';

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

const impact = (usd: string, options: { up?: boolean; open?: boolean; profit?: boolean; increaseBlock?: bigint } = {}): Promise<bigint> => {
  const { up = true, open = true, profit = false, increaseBlock = 0n } = options;
  return world.read('getTradeCumulVolPriceImpactP', [trader.address, 0, open ? up : !up, parseEther(usd), profit, open, increaseBlock]);
};

async function close(id: Id, at: bigint) {
  const from = id.user === trader.address ? trader : other;
  const { logs } = await world.send(from, diamondCall('closeTradeMarket', [id.index, at]));
  return world.fulfil(argsOf(logs, 'MarketOrderInitiated').orderId, at);
}

describe('volume impact', () => {
  it('pushes up for longs opened and shorts closed, down for the others, equally far', async () => {
    expect(await impact('1000')).toBe(250_000n);
    expect(await impact('1000', { open: false })).toBe(250_000n);
    expect(await impact('1000', { up: false })).toBe(-250_000n);
  });

  it('extrapolates beyond the deepest band', async () => {
    // 9.5 million at 0.475 % on average, and 10.5 million from 0.95 % on along the last band's slope: 1 % on average, of which half.
    expect(await impact('20000000')).toBe(5_000_000_000n);
  });

  it('forgets volume after four minutes', async () => {
    await world.open(other, P, { collateralAmount: usdc(10_000) }, 5000);
    expect(await impact('1000')).toBe(250_000n + 50_000_000n);
    await world.mine(240);
    expect(await impact('1000')).toBe(250_000n);
  });

  it('counts losing closes by the multiplier for losses', async () => {
    await world.control(
      controlCall('sandboxSetOiWindows', [{ startTs: 1_713_192_226, windowsDuration: 60, windowsCount: 4 }, 4_000_000_000]),
    );
    const loser = await world.open(trader, P, { collateralAmount: usdc(1000) });
    await close(loser, price(59_900));
    expect(await world.read('getPriceImpactOi', [0n, false])).toBe(parseEther('4000'));
  });

  it("multiplies for a user and adds the user's own spread", async () => {
    await world.control(controlCall('sandboxSetUserPriceImpact', [trader.address, 0n, 2000, 50]));
    expect(await impact('1000')).toBe(500_000n);
    expect(await world.read('pairSpreadP', [trader.address, 0n])).toBe(400_000_000n + 500_000_000n);
    expect(await world.read('pairSpreadP', [other.address, 0n])).toBe(400_000_000n);
  });

  it('is raised for quick profits and switched off where a pair is exempt', async () => {
    const factors = {
      protectionCloseFactor: 30_000_000_000,
      protectionCloseFactorBlocks: 1000,
      cumulativeFactor: 10_000_000_000,
      exemptOnOpen: true,
      exemptAfterProtectionCloseFactor: true,
      __placeholder: 0n,
    };
    await world.control(controlCall('sandboxSetPairFactors', [0n, factors]));
    expect(await impact('1000')).toBe(0n);
    expect(await impact('1000', { open: false, profit: false })).toBe(0n);
    expect(await impact('1000', { open: false, profit: true })).toBe(750_000n);
    await world.control(controlCall('sandboxSetProtectionCloseFactorWhitelist', [trader.address, true]));
    expect(await impact('1000', { open: false, profit: true })).toBe(0n);
  });

  it('protects a close in profit only while its blocks last', async () => {
    const factors = {
      protectionCloseFactor: 30_000_000_000,
      protectionCloseFactorBlocks: 3,
      cumulativeFactor: 0,
      exemptOnOpen: false,
      exemptAfterProtectionCloseFactor: false,
      __placeholder: 0n,
    };
    await world.control(controlCall('sandboxSetPairFactors', [0n, factors]));
    const quick = await world.open(trader, P);
    expect(argsOf((await close(quick, price(61_000))).logs, 'MarketExecuted').priceImpact.cumulVolPriceImpactP).toBe(-750_000n);
    await world.mine(600);
    const slow = await world.open(trader, P);
    await world.mineBlocks(5);
    expect(argsOf((await close(slow, price(61_000))).logs, 'MarketExecuted').priceImpact.cumulVolPriceImpactP).toBe(-250_000n);
  });
});

describe('skew impact', () => {
  it('is half of what the skew and half the trade take of the depth', async () => {
    await setMarket(world, { skewDepth: parseEther('2000') });
    const first = argsOf((await world.open(other, P, { collateralAmount: usdc(60_000) }, 5000)).receipt.logs, 'MarketExecuted');
    const size = first.priceImpact.positionSizeToken;
    expect(first.priceImpact.skewPriceImpactP).toBe(((size / 2n) * 10n ** 10n) / parseEther('2000') / 2n);
    const next = parseEther('1');
    const up = ((size + next / 2n) * 10n ** 10n) / parseEther('2000') / 2n;
    const down = ((size - next / 2n) * 10n ** 10n) / parseEther('2000') / 2n;
    expect(await world.read('getTradeSkewPriceImpactP', [3, 0, true, next, true])).toBe(up);
    expect(await world.read('getTradeSkewPriceImpactP', [3, 0, false, next, true])).toBe(down);
    expect(await world.read('getTradeSkewPriceImpactP', [3, 0, true, next, false])).toBe(down);
  });
});

describe('a trade of an older release', () => {
  it('closes without skew, and before v9.2 without spread and volume impact too', async () => {
    await setMarket(world, { skewDepth: parseEther('2000') });
    await world.open(other, P, { collateralAmount: usdc(60_000) }, 5000);
    await world.mine(600);
    const v9 = await world.open(trader, P, {}, 5000);
    const v8 = await world.open(trader, P, {}, 5000);
    await world.control(controlCall('sandboxSetTradeVersion', [v9.user, v9.index, 1]));
    await world.control(controlCall('sandboxSetTradeVersion', [v8.user, v8.index, 0]));
    expect(argsOf((await close(v9, P)).logs, 'MarketExecuted').priceImpact).toMatchObject({
      skewPriceImpactP: 0n,
      totalPriceImpactP: -200_250_000n,
    });
    expect(argsOf((await close(v8, P)).logs, 'MarketExecuted')).toMatchObject({ marketPrice: P, priceImpact: { totalPriceImpactP: 0n } });
  });

  it('has no tokens, and open interest of its own in the collateral’s precision, which goes when it closes', async () => {
    const old = await world.open(trader, P, {}, 5000);
    await world.control(controlCall('sandboxSetTradeVersion', [old.user, old.index, 1]));
    expect((await world.read('getTrade', [old.user, old.index])).positionSizeToken).toBe(0n);
    expect(await world.read('getPairOisBeforeV10Collateral', [3, 0])).toEqual([usdc(1000), 0n]);
    expect(await world.read('getPairOiAfterV10Token', [3, 0])).toMatchObject({ oiLongToken: 0n });
    const { t, priceImpact } = argsOf((await close(old, P)).logs, 'MarketExecuted');
    expect([t.positionSizeToken, priceImpact.positionSizeToken]).toEqual([0n, 0n]);
    expect(await world.read('getPairOisBeforeV10Collateral', [3, 0])).toEqual([0n, 0n]);
  });
});

describe('funding', () => {
  const funding = {
    ...FUNDING_OFF,
    skewCoefficientPerYear: 10n ** 27n,
    absoluteVelocityPerYearCap: 1_000_000,
    absoluteRatePerSecondCap: 31_709,
    fundingFeesEnabled: true,
  };

  it('is paid by the crowded side to the other, never beyond its cap', async () => {
    const long = await world.open(trader, P, { collateralAmount: usdc(300) });
    const short = await world.open(other, P, { long: false });
    await setMarket(world, { funding });
    await world.mine(7200);
    const [, , rate] = await world.read('getPairPendingAccFundingFees', [3, 0, P]);
    expect(rate).toBe(3_170_900_000_000n);
    const pays = await world.read('getTradeFundingFeesCollateral', [long.user, long.index, P]);
    const earns = await world.read('getTradeFundingFeesCollateral', [short.user, short.index, P]);
    expect(pays).toBeGreaterThan(0n);
    expect(earns).toBeLessThan(0n);
  });

  it('shares what the paying side pays when the multiplier is on', async () => {
    await world.open(trader, P, { collateralAmount: usdc(300) });
    await world.open(other, P, { long: false });
    await setMarket(world, { funding: { ...funding, aprMultiplierEnabled: true } });
    await world.mine(3600);
    const oi = await world.read('getPairOiAfterV10Token', [3, 0]);
    const [accLong, accShort] = await world.read('getPairPendingAccFundingFees', [3, 0, P]);
    const multiplier = (oi.oiLongToken * 10n ** 20n) / oi.oiShortToken;
    expect(accShort).toBe(-((accLong * multiplier) / 10n ** 20n));
  });

  it('rests while the skew is below the threshold', async () => {
    await world.open(trader, P);
    await setMarket(world, { funding: { ...funding, thetaThresholdUsd: 1001 } });
    await world.mine(3600);
    expect(await world.read('getPairPendingAccFundingFees', [3, 0, P])).toEqual([0n, 0n, 0n]);
  });

  it('and borrowing are settled on closing, and the value is what the formula says', async () => {
    const opened = await world.open(trader, P);
    await setMarket(world, { funding, borrowingRatePerSecondP: 63_420 });
    await world.mine(3600);
    const { logs, names } = await close(opened, P);
    expect(names).toContain('HoldingFeesChargedOnTrade');
    const { tradeHoldingFees } = argsOf(logs, 'HoldingFeesChargedOnTrade');
    const { percentProfit, amountSentToTrader } = argsOf(logs, 'MarketExecuted');
    const value = usdc(100) + (usdc(100) * percentProfit) / 10n ** 12n - 750_000n - tradeHoldingFees.totalFeeCollateral - 750_000n;
    expect(tradeHoldingFees.totalFeeCollateral).toBeGreaterThan(0n);
    // Scaling by the precision delta first keeps the fraction of the loss, so the truncation may differ by one unit.
    expect([value, value - 1n]).toContain(amountSentToTrader);
  });
});

describe('fees', () => {
  it('fall with the volume of the days before, from the first action of a day', async () => {
    await world.control(controlCall('sandboxSetFeeTiers', [[{ feeMultiplier: 900, pointsThreshold: 100_000 }]]));
    await world.open(trader, P, { collateralAmount: usdc(20_000) }, 5000);
    expect(await world.read('calculateFeeAmount', [trader.address, 1000n])).toBe(1000n);
    await world.mine(86_400);
    const { receipt } = await world.open(trader, P, { collateralAmount: usdc(1000) });
    expect(argsOf(receipt.logs, 'FeesProcessed').totalFeesCollateral).toBe(5_400_000n);
    expect(await world.read('calculateFeeAmount', [trader.address, 1000n])).toBe(900n);
    await world.mine(86_400 * 31);
    const late = await world.open(trader, P, { collateralAmount: usdc(1000) });
    expect(argsOf(late.receipt.logs, 'FeesProcessed').totalFeesCollateral).toBe(6_000_000n);
  });

  it('are not discounted for a trader excluded from tiers or a pair without them', async () => {
    await world.control(controlCall('sandboxSetTraderTier', [trader.address, 500, false]));
    expect(await world.read('calculateFeeAmount', [trader.address, 1000n])).toBe(500n);
    await world.control(
      controlCall('sandboxSetPairFlags', [
        3,
        0,
        { skipBurn: false, skipFeeTierMultiplier: true, skipFeeTierMultiplierCounterTrade: false, __placeholder: 0n },
      ]),
    );
    const { receipt } = await world.open(trader, P, { collateralAmount: usdc(1000) });
    expect(argsOf(receipt.logs, 'FeesProcessed').totalFeesCollateral).toBe(6_000_000n);
    await world.control(controlCall('sandboxSetTraderTier', [trader.address, 500, true]));
    expect(await world.read('calculateFeeAmount', [trader.address, 1000n])).toBe(1000n);
  });

  it('make a stop loss impossible where leverage is too high for one', async () => {
    // Two fees of 0.47 % at 75x and the buffer are more than the threshold.
    const fees = await world.read('fees', [0n]);
    await world.control(controlCall('sandboxSetFees', [[{ ...fees, totalPositionSizeFeeP: 4_700_000_000 }]]));
    const { receipt } = await world.open(trader, P, { leverage: 75_000, sl: price(59_900) });
    expect(argsOf(receipt.logs, 'TradeStored').trade.sl).toBe(0n);
  });
});
