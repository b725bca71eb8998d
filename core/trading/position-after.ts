import type { TradePricing } from '../account/trade-pricing.js';
import { accruedBorrowingP, clampStopLoss } from '../domain/pricing/fees.js';
import { accruedFunding } from '../domain/pricing/funding.js';
import { liquidationThresholdP } from '../domain/pricing/liquidation.js';
import type { IncreaseValues } from '../domain/pricing/predict-increase.js';
import type { WithdrawalOutcome } from '../domain/pricing/predict-withdrawal.js';
import type { OpenTrade } from '../ports/account-chain.js';

/** A position as the contract will store it, so that it is described like one that was read. */

interface At {
  readonly pricing: TradePricing;
  /** Epoch seconds of the block that was read. */
  readonly timestamp: bigint;
  readonly oraclePrice: bigint;
}

/** The contract realises the fees of holding, charges the opening fee, and takes the pair's liquidation parameters of now. */
export function afterIncrease(own: OpenTrade, values: IncreaseValues, { pricing, timestamp, oraclePrice: price }: At): OpenTrade {
  const { market, account } = pricing;
  const { long, sl } = own.trade;
  const { newOpenPrice: openPrice, newLeverage: leverage } = values;
  const { longP, shortP } = accruedFunding(market.state, { timestamp, price, collateral: market.collateral });
  const { liquidation } = market.pair;
  return {
    ...own,
    liquidation,
    borrowingV1: 0n,
    fees: {
      realizedTradingFeesCollateral: own.fees.realizedTradingFeesCollateral + values.openingFee,
      realizedPnlCollateral: own.fees.realizedPnlCollateral - account.holdingFees,
      initialAccFundingFeeP: long ? longP : shortP,
      initialAccBorrowingFeeP: accruedBorrowingP(market.state.borrowing, { timestamp, price }),
    },
    trade: {
      ...own.trade,
      collateralAmount: values.newCollateralAmount,
      leverage: Number(leverage),
      openPrice,
      positionSizeToken: own.trade.positionSizeToken + values.impact.positionSizeToken,
      sl: clampStopLoss({
        ...{ sl, openPrice, long, leverage },
        feeP: market.fees.totalPositionSizeFeeP,
        thresholdP: liquidationThresholdP(liquidation, leverage),
      }),
    },
  };
}

/** Collateral, size and prices stay. */
export const afterWithdrawal = (own: OpenTrade, { paid, govFee }: WithdrawalOutcome): OpenTrade => ({
  ...own,
  takenOut: own.takenOut + paid,
  fees: {
    ...own.fees,
    realizedPnlCollateral: own.fees.realizedPnlCollateral - paid,
    realizedTradingFeesCollateral: own.fees.realizedTradingFeesCollateral + govFee,
  },
});
