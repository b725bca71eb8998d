import { beforeV10InP10, type GroupOpenInterest } from '../../../../core/domain/pricing/exposure.js';
import { holdingFees } from '../../../../core/domain/pricing/fees.js';
import type { ContractsVersion, MarketView, Moment, StoredTrade, TradeAccount } from '../../../../core/domain/pricing/market-view.js';
import { E18 } from '../../../../core/domain/pricing/units.js';
import type { DifferentialChain } from './differential-chain.js';
import type { RoundPlan } from './differential-plan.js';
import { DURATION, skewDepthOf } from './differential-world.js';

/** The chain's state as the pricing functions want it. */

/** The contract's uint types of up to 48 bits come back as numbers. */
const big = (value: unknown): bigint => BigInt(value as bigint | number);

export interface TradeRef {
  readonly user: `0x${string}`;
  readonly index: number;
  readonly pair: number;
  readonly collateral: number;
}

export interface TradeState {
  readonly trade: StoredTrade;
  readonly isOpen: boolean;
  readonly maxSlippageP: bigint;
  readonly initial: { readonly fundingP: bigint; readonly borrowingP: bigint };
  readonly realizedPnl: bigint;
}

export async function readMarket(
  chain: DifferentialChain,
  plan: RoundPlan,
  at: { pair: number; collateral: number; moment: Moment },
): Promise<{ market: MarketView; groupOi: GroupOpenInterest }> {
  const { pair: pairIndex, collateral: index } = at;
  const pair = plan.pairs[pairIndex];
  const inCollateral = pair?.collaterals[index - 1];
  if (!pair || !inCollateral) throw new Error('no such pair');
  const [settings, token, collateralOi, before, funding, borrowing, group] = (await chain.read([
    { name: 'getOiWindowsSettings', args: [] },
    { name: 'getPairOiAfterV10Token', args: [index, pairIndex] },
    { name: 'getPairOiAfterV10Collateral', args: [index, pairIndex] },
    { name: 'getPairOisBeforeV10Collateral', args: [index, pairIndex] },
    { name: 'getPairFundingFeeData', args: [[index], [pairIndex]] },
    { name: 'getPairBorrowingFeeData', args: [[index], [pairIndex]] },
    { name: 'getBorrowingGroupOi', args: [index, pairIndex + 1] },
  ])) as [
    Record<string, number>,
    Record<string, bigint>,
    Record<string, bigint>,
    readonly bigint[],
    Record<string, unknown>[],
    Record<string, unknown>[],
    Record<string, bigint>,
  ];
  const startTs = big(settings['startTs']);
  const current = (at.moment.timestamp - startTs) / DURATION;
  const ids = Array.from({ length: 6 }, (_, back) => current - BigInt(back)).filter((id) => id >= 0n);
  const [windows] = (await chain.read([{ name: 'getOiWindows', args: [DURATION, pairIndex, ids] }])) as [
    { oiLongUsd: bigint; oiShortUsd: bigint }[],
  ];
  const [f, b] = [funding[0] ?? {}, borrowing[0] ?? {}];
  const precision = index === 1 ? 10n ** 6n : E18;
  const market: MarketView = {
    pair: {
      index: pairIndex,
      from: `P${pairIndex}`,
      to: 'USD',
      spreadP: pair.spreadP,
      groupIndex: 0,
      feeIndex: 0,
      customMaxLeverage: pair.customMaxLeverage,
      depth: { above: pair.above, below: pair.below },
      factors: pair.factors,
      liquidation: plan.liquidation,
      counterTrade: pair.counterTrade,
      windows: windows.map((window, position) => ({ id: ids[position] ?? 0n, ...window })),
    },
    group: { index: 0, name: 'crypto', minLeverage: 1100n, maxLeverage: 150_000n },
    fees: {
      index: 0,
      totalPositionSizeFeeP: plan.fees.feeP,
      totalLiqCollateralFeeP: plan.fees.liqFeeP,
      oraclePositionSizeFeeP: 0n,
      minPositionSizeUsd: plan.fees.minPositionSizeUsd,
    },
    collateral: { precision, precisionDelta: E18 / precision, priceUsd: plan.priceUsd[index - 1] ?? 0n },
    state: {
      maxOi: inCollateral.maxOi,
      oiBeforeV10: beforeV10InP10({ long: before[0] ?? 0n, short: before[1] ?? 0n }, { precision }),
      oiCollateral: { long: collateralOi['oiLongCollateral'] ?? 0n, short: collateralOi['oiShortCollateral'] ?? 0n },
      oiToken: { long: token['oiLongToken'] ?? 0n, short: token['oiShortToken'] ?? 0n },
      skewDepth: skewDepthOf(plan, pairIndex, index),
      maxSkewCollateral: inCollateral.maxSkewCollateral,
      fundingParams: inCollateral.fundingParams,
      funding: {
        accFundingFeeLongP: big(f['accFundingFeeLongP']),
        accFundingFeeShortP: big(f['accFundingFeeShortP']),
        lastFundingRatePerSecondP: big(f['lastFundingRatePerSecondP']),
        lastFundingUpdateTs: big(f['lastFundingUpdateTs']),
      },
      borrowing: {
        borrowingRatePerSecondP: inCollateral.borrowingRatePerSecondP,
        accBorrowingFeeP: big(b['accBorrowingFeeP']),
        lastBorrowingUpdateTs: big(b['lastBorrowingUpdateTs']),
      },
    },
    bandOffsets: plan.offsets,
    oiWindows: { startTs, windowsDuration: DURATION, windowsCount: plan.windowsCount },
  };
  return { market, groupOi: { long: group['long'] ?? 0n, short: group['short'] ?? 0n, max: group['max'] ?? 0n } };
}

export async function readTrade(chain: DifferentialChain, { user, index }: Pick<TradeRef, 'user' | 'index'>): Promise<TradeState> {
  const [t, info, fees, liquidation] = (await chain.read([
    { name: 'getTrade', args: [user, index] },
    { name: 'getTradeInfo', args: [user, index] },
    { name: 'getTradeFeesData', args: [user, index] },
    { name: 'getTradeLiquidationParams', args: [user, index] },
  ])) as Record<string, unknown>[];
  if (!t || !info || !fees || !liquidation) throw new Error('no such trade');
  const trade: StoredTrade = {
    long: t['long'] === true,
    collateralAmount: big(t['collateralAmount']),
    leverage: big(t['leverage']),
    openPrice: big(t['openPrice']),
    tp: big(t['tp']),
    sl: big(t['sl']),
    positionSizeToken: big(t['positionSizeToken']),
    isCounterTrade: t['isCounterTrade'] === true,
    contractsVersion: Number(info['contractsVersion']) as ContractsVersion,
    lastPosIncreaseBlock: big(info['lastPosIncreaseBlock']),
    liquidation: {
      maxLiqSpreadP: big(liquidation['maxLiqSpreadP']),
      startLiqThresholdP: big(liquidation['startLiqThresholdP']),
      endLiqThresholdP: big(liquidation['endLiqThresholdP']),
      startLeverage: big(liquidation['startLeverage']),
      endLeverage: big(liquidation['endLeverage']),
    },
  };
  return {
    trade,
    isOpen: t['isOpen'] === true,
    maxSlippageP: big(info['maxSlippageP']),
    initial: { fundingP: big(fees['initialAccFundingFeeP']), borrowingP: big(fees['initialAccBorrowingFeeP']) },
    realizedPnl: big(fees['realizedPnlCollateral']) - big(fees['realizedTradingFeesCollateral']),
  };
}

export const accountAt = (market: MarketView, state: TradeState, at: { timestamp: bigint; price: bigint }): TradeAccount => ({
  holdingFees: holdingFees(market, state.trade, { ...at, initial: state.initial }).total,
  realizedPnl: state.realizedPnl,
});
