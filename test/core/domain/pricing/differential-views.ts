import { accruedBorrowingP, holdingFees, minFeeUsd, minPositionSizeUsd } from '../../../../core/domain/pricing/fees.js';
import { isWithinExposureLimits, maxOpenInterest, skewImpactP } from '../../../../core/domain/pricing/exposure.js';
import { accruedFunding } from '../../../../core/domain/pricing/funding.js';
import { liquidationPrice } from '../../../../core/domain/pricing/liquidation.js';
import { EMPTY_ACCOUNT, STANDARD_TERMS } from '../../../../core/domain/pricing/market-view.js';
import { collateralToUsd, usdToCollateral } from '../../../../core/domain/pricing/size.js';
import { pairSpreadP } from '../../../../core/domain/pricing/execution-price.js';
import { E18, E3, pushesUp } from '../../../../core/domain/pricing/units.js';
import { activeVolumeUsd, volumeImpactP } from '../../../../core/domain/pricing/volume-impact.js';
import { compare, type Round } from './differential-round.js';
import { TRADERS, type Read } from './differential-chain.js';
import type { ViewPlan } from './differential-plan.js';
import { accountAt, readMarket, readTrade, type TradeRef } from './differential-state.js';

/** The contract's views against our functions at the latest block, with arguments that no trade need ever have had. */

export async function compareViews(round: Round, view: ViewPlan): Promise<void> {
  const moment = round.chain.latest();
  const { market, groupOi } = await readMarket(round.chain, round.plan, { ...view, moment });
  const { pair, collateral: index, long, open, isPnlPositive, isCounterTrade, sizeUsd, price, amount, leverage } = view;
  const terms = round.plan.terms[view.trader] ?? STANDARD_TERMS;
  const trader = TRADERS[view.trader];
  const lastPosIncreaseBlock = moment.block > view.blocksAgo ? moment.block - view.blocksAgo : 0n;
  const up = pushesUp({ long, open });
  const { windows } = market.pair;
  const funding = accruedFunding(market.state, { timestamp: moment.timestamp, price, collateral: market.collateral });
  const positions = { openPrice: price, long, collateralAmount: amount, leverage, isCounterTrade, contractsVersion: 2 } as const;
  const liquidation = { market, terms, ...positions, params: market.pair.liquidation, account: EMPTY_ACCOUNT, additionalFee: view.fee };
  const liqInput = {
    ...{ collateralIndex: index, trader, pairIndex: pair, index: 0, openPrice: price, long, collateral: amount, leverage },
    ...{ additionalFeeCollateral: view.fee, liquidationParams: round.plan.liquidation, currentPairPrice: 0n, isCounterTrade },
    ...{ partialCloseMultiplier: E18, beforeOpened: true },
  };
  const groupAlone = { ...market, state: { ...market.state, maxOi: 2n ** 200n, maxSkewCollateral: 0n } };
  const expectations: [Read, unknown][] = [
    [
      { name: 'getTradeCumulVolPriceImpactP', args: [trader, pair, long, sizeUsd, isPnlPositive, open, lastPosIncreaseBlock] },
      volumeImpactP({ market, terms, moment, long, open, sizeUsd, isPnlPositive, lastPosIncreaseBlock }),
    ],
    [
      { name: 'getTradeSkewPriceImpactP', args: [index, pair, long, amount, open] },
      skewImpactP({ state: market.state, sizeToken: amount, up }),
    ],
    [
      { name: 'getPriceImpactOi', args: [pair, long] },
      activeVolumeUsd({ windows, settings: market.oiWindows, timestamp: moment.timestamp, up: long }),
    ],
    [{ name: 'getTradeLiquidationPrice', args: [liqInput] }, liquidationPrice(liquidation)],
    [{ name: 'getPairPendingAccFundingFees', args: [index, pair, price] }, [funding.longP, funding.shortP, funding.rate]],
    [
      { name: 'getPairPendingAccBorrowingFees', args: [index, pair, price] },
      accruedBorrowingP(market.state.borrowing, { timestamp: moment.timestamp, price }),
    ],
    [{ name: 'pairSpreadP', args: [trader, pair] }, pairSpreadP(market.pair, terms)],
    [{ name: 'pairMinFeeUsd', args: [pair] }, minFeeUsd(market.fees)],
    [{ name: 'pairMinPositionSizeUsd', args: [pair] }, minPositionSizeUsd(market.fees)],
    [{ name: 'getUsdNormalizedValue', args: [index, amount] }, collateralToUsd(amount, market.collateral)],
    [{ name: 'getCollateralFromUsdNormalizedValue', args: [index, sizeUsd] }, usdToCollateral(sizeUsd, market.collateral)],
    [{ name: 'getPairMaxOiCollateral', args: [index, pair] }, maxOpenInterest(market)],
    [
      { name: 'withinMaxBorrowingGroupOi', args: [index, pair, long, amount] },
      isWithinExposureLimits({ market: groupAlone, long, positionSizeCollateral: amount, price, groupOi }),
    ],
    [{ name: 'calculateFeeAmount', args: [trader, amount] }, (amount * terms.feeMultiplier) / E3],
  ];
  await check(round, expectations);
}

/** Fees and liquidation price of a trade that is open now. */
export async function compareTrade(round: Round, ref: TradeRef, price: bigint): Promise<void> {
  const { timestamp, block } = round.chain.latest();
  const { market } = await readMarket(round.chain, round.plan, { ...ref, moment: { timestamp, block } });
  const state = await readTrade(round.chain, ref);
  const { trade } = state;
  const terms = round.plan.terms[TRADERS.indexOf(ref.user)] ?? STANDARD_TERMS;
  const fees = holdingFees(market, trade, { initial: state.initial, timestamp, price });
  const account = accountAt(market, state, { timestamp, price });
  const liqInput = {
    ...{
      collateralIndex: ref.collateral,
      trader: ref.user,
      pairIndex: ref.pair,
      index: ref.index,
      openPrice: trade.openPrice,
      long: trade.long,
    },
    ...{ collateral: trade.collateralAmount, leverage: trade.leverage, additionalFeeCollateral: 0n, liquidationParams: trade.liquidation },
    ...{ currentPairPrice: price, isCounterTrade: trade.isCounterTrade, partialCloseMultiplier: E18 / 3n, beforeOpened: false },
  };
  await check(round, [
    [
      { name: 'getTradePendingHoldingFeesCollateral', args: [ref.user, ref.index, price] },
      {
        fundingFeeCollateral: fees.funding,
        borrowingFeeCollateral: fees.borrowing,
        borrowingFeeCollateral_old: 0n,
        totalFeeCollateral: fees.total,
      },
    ],
    [
      { name: 'getTradeLiquidationPrice', args: [liqInput] },
      liquidationPrice({ market, terms, ...trade, params: trade.liquidation, account, partialCloseMultiplier: E18 / 3n }),
    ],
  ]);
}

async function check(round: Round, expectations: readonly [Read, unknown][]): Promise<void> {
  const answers = await round.chain.read(expectations.map(([read]) => read));
  for (const [position, [read, expected]] of expectations.entries()) {
    compare(round, read.name, { answer: answers[position] }, { answer: expected });
  }
}
