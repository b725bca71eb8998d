import { closingImpact, type PriceContext, type PriceImpact } from './execution-price.js';
import { minGovFee, pnlPercentP, tradeValue, tradingFee } from './fees.js';
import type { StoredTrade, TradeAccount } from './market-view.js';
import { positionSizeCollateral } from './size.js';
import { maximum, minimum } from './units.js';

export interface WithdrawalRequest {
  readonly trade: StoredTrade;
  readonly account: TradeAccount;
  readonly amount: bigint;
  /** 1e3 percent. */
  readonly govFeeP: bigint;
}

export interface WithdrawalOutcome {
  readonly impact: PriceImpact;
  readonly pnlP: bigint;
  /** What closing the whole trade would pay above its collateral; negative at a loss. */
  readonly withdrawable: bigint;
  readonly paid: bigint;
  /** Charged on the trade, also when nothing is paid. */
  readonly govFee: bigint;
}

/**
 * What the callback would do with a withdrawal of profit at `context.oraclePrice`. The contract refuses none: it pays what there is.
 * Throws `PriceRangeError` where it would revert.
 */
export function predictWithdrawal(context: PriceContext, { trade, account, amount, govFeeP }: WithdrawalRequest): WithdrawalOutcome {
  const { market, terms } = context;
  const { collateralAmount, isCounterTrade } = trade;
  const size = positionSizeCollateral(trade);
  const impact = closingImpact(context, { trade, account, positionSizeCollateral: size });
  const pnlP = pnlPercentP({ ...trade, price: impact.priceAfterImpact });
  const closingFee = tradingFee({ market, positionSizeCollateral: size, isCounterTrade, feeMultiplier: terms.feeMultiplier });
  const { precisionDelta } = market.collateral;
  const withdrawable = tradeValue({ collateralAmount, precisionDelta, pnlP, closingFee, account }) - collateralAmount;
  return {
    impact,
    pnlP,
    withdrawable,
    paid: minimum(amount, maximum(withdrawable, 0n)),
    govFee: minGovFee({ market, feeMultiplier: terms.feeMultiplier, govFeeP }),
  };
}
