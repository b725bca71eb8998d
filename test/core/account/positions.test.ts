import { completeTrade } from '../../../core/account/complete-trades.js';
import { positionMoney } from '../../../core/account/list-positions.js';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { marketView } from '../../../core/domain/pricing/market-view.js';
import { venueOf } from '../../../core/gateway.js';
import { lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader } from '../../harness/traders/chain-trader.js';
import { price } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
let sandbox: TestVenue;
beforeAll(async () => (sandbox = await startOwnVenue()));
afterAll(() => sandbox.stop());

describe('the money of a position', () => {
  it.each([
    ['USDC', 3, 100_000_000n, true],
    ['DAI', 1, 100n * 10n ** 18n, false],
  ] as const)('in %s is what the contract itself answers at the same block', async (_symbol, collateralIndex, collateralAmount, long) => {
    const [chain] = sandbox.controls.chains;
    if (!chain) throw new Error('the sandbox has no chain');
    sandbox.controls.prices.jump(0, '60000');
    const trader = await newTrader(chain);
    await chain.faucet.fund(trader.account.address, { dai: '1000' });
    await trader.open({ collateralIndex, collateralAmount, long, openPrice: price(60_000) }, 50_000);
    await eventually(
      () => trader.trades(),
      (trades) => trades.length === 1,
    );
    await chain.warp(7_200);
    await chain.mine(2);
    const venue = venueOf(sandbox.gateway, CHAIN);
    const block = await venue.chain.head();
    const now = price(61_234);
    const { trades } = await venue.chain.openTrades({ trader: lowerOf(trader), block, guesses: [], expected: [], priceOf: () => now });
    const own = trades[0] && completeTrade(venue.feed.config(), trades[0], { last: null, position: undefined });
    const view = marketView(venue.feed.config(), { pairIndex: 0, collateralIndex });
    if (!own || !view) throw new Error('the position is not there');
    const money = positionMoney(view, own, { block, price: { mark: now, index: now, oracle: now, at: 0 } });

    const read = { address: chain.definition.diamond, abi: diamondAbi, blockNumber: block.number } as const;
    const fees = await trader.client.readContract({
      ...read,
      functionName: 'getTradePendingHoldingFeesCollateral',
      args: [trader.account.address, own.trade.index, now],
    });
    expect(fees.totalFeeCollateral).not.toBe(0n);
    expect([money.funding, money.borrowing]).toEqual([
      fees.fundingFeeCollateral,
      fees.borrowingFeeCollateral + fees.borrowingFeeCollateral_old,
    ]);
    const liquidationParams = await trader.client.readContract({
      ...read,
      functionName: 'getTradeLiquidationParams',
      args: [trader.account.address, own.trade.index],
    });
    const { pairIndex, index, openPrice, leverage, isCounterTrade } = own.trade;
    const liquidation = await trader.client.readContract({
      ...read,
      functionName: 'getTradeLiquidationPrice',
      args: [
        {
          collateralIndex,
          trader: trader.account.address,
          pairIndex,
          index,
          openPrice,
          long,
          collateral: own.trade.collateralAmount,
          leverage: BigInt(leverage),
          additionalFeeCollateral: 0n,
          liquidationParams,
          currentPairPrice: now,
          isCounterTrade,
          partialCloseMultiplier: 10n ** 18n,
          beforeOpened: false,
        },
      ],
    });
    expect(money.liquidation).toBe(liquidation);
  });

  it('is the same whether or not the follower knew the position before', async () => {
    const [chain] = sandbox.controls.chains;
    if (!chain) throw new Error('the sandbox has no chain');
    sandbox.controls.prices.jump(0, '60000');
    const trader = await newTrader(chain);
    await trader.open({ openPrice: price(60_000) }, 50_000);
    const [known] = await eventually(
      () => sandbox.gateway.store.account.openPositions(CHAIN, lowerOf(trader)),
      (positions) => positions.length === 1,
    );
    const venue = venueOf(sandbox.gateway, CHAIN);
    const block = await venue.chain.head();
    const guesses = known ? [{ index: known.tradeIndex, ...known.position }] : [];
    const query = { trader: lowerOf(trader), block, expected: [], priceOf: () => price(60_000) };
    expect(await venue.chain.openTrades({ ...query, guesses })).toEqual(await venue.chain.openTrades({ ...query, guesses: [] }));
  });
});
