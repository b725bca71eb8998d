import { firstReason, type CancelReason } from './cancel-reason.js';
import { closingImpact, type PriceContext, type PriceImpact } from './execution-price.js';
import { tradingFee } from './fees.js';
import { isLiquidatable, liquidationPrice } from './liquidation.js';
import type { StoredTrade, TradeAccount } from './market-view.js';
import { pnlPercentP, tradeValue } from './pnl.js';
import { positionSizeCollateral } from './size.js';
import { DEFAULT_CLOSING_SLIPPAGE_P, isWithinSlippage } from './slippage.js';

export interface CloseRequest {
  readonly trade: StoredTrade;
  readonly account: TradeAccount;
  readonly expectedPrice: bigint;
  /** The trade's closing slippage; 0 = the default. */
  readonly maxSlippageP: bigint;
}

export interface CloseOutcome {
  readonly cancelReason: CancelReason;
  readonly impact: PriceImpact;
  /** At the execution price, before fees. */
  readonly pnlP: bigint;
  readonly closingFee: bigint;
  readonly liquidationPrice: bigint;
  /** What the trader gets: all fees taken, and nothing once the oracle price is beyond liquidation. */
  readonly sentToTrader: bigint;
}

/** What the callback would do with a market close at `context.oraclePrice`. Throws `PriceRangeError` where it would revert. */
export function predictClose(context: PriceContext, request: CloseRequest): CloseOutcome {
  const { market, terms, oraclePrice } = context;
  const { trade, account, expectedPrice } = request;
  const { long, isCounterTrade, collateralAmount } = trade;
  const size = positionSizeCollateral(trade);
  const impact = closingImpact(context, { trade, account, positionSizeCollateral: size });
  const price = impact.priceAfterImpact;
  const maxSlippageP = request.maxSlippageP === 0n ? DEFAULT_CLOSING_SLIPPAGE_P : request.maxSlippageP;
  const pnlP = pnlPercentP({ ...trade, price });
  const closingFee = tradingFee({ market, positionSizeCollateral: size, isCounterTrade, feeMultiplier: terms.feeMultiplier });
  const liqPrice = liquidationPrice({ market, terms, ...trade, params: trade.liquidation, account });
  const { precisionDelta } = market.collateral;
  const worthless = isLiquidatable({ long, oraclePrice, liquidationPrice: liqPrice });
  const sentToTrader = worthless ? 0n : tradeValue({ collateralAmount, precisionDelta, pnlP, closingFee, account });
  const cancelReason = firstReason([['SLIPPAGE', () => !isWithinSlippage({ price, expectedPrice, maxSlippageP, long, open: false })]]);
  return { cancelReason, impact, pnlP, closingFee, liquidationPrice: liqPrice, sentToTrader };
}
