import { figuresOf } from '../domain/interpret-executions.js';
import { holdingFees, type HoldingFees } from '../domain/pricing/fees.js';
import type { ContractsVersion, MarketView, StoredTrade, TradeAccount } from '../domain/pricing/market-view.js';
import type { BlockHead } from '../types.js';
import type { OpenTrade } from '../ports/account-chain.js';

/** Inputs of the pricing functions for a trade, all at one block. */
export interface TradePricing {
  readonly market: MarketView;
  readonly trade: StoredTrade;
  readonly account: TradeAccount;
  /** Without v1 borrowing fees, which are in `account`. */
  readonly held: HoldingFees;
}

/** Uses the market state read at the block, which is newer than the feed's; fees at the oracle's price. */
export function tradePricing(
  view: MarketView,
  own: OpenTrade,
  { block, oraclePrice }: { readonly block: BlockHead; readonly oraclePrice: bigint },
): TradePricing {
  const { info, fees, pair } = own;
  const { sizeToken, ...figures } = figuresOf(own.trade);
  const trade: StoredTrade = {
    ...figures,
    positionSizeToken: sizeToken,
    contractsVersion: info.contractsVersion as ContractsVersion,
    lastPosIncreaseBlock: BigInt(info.lastPosIncreaseBlock),
    liquidation: own.liquidation,
  };
  const collateral = { ...view.collateral, priceUsd: pair.collateralPriceUsd };
  const state = { ...view.state, funding: pair.funding, oiToken: pair.oiToken, borrowing: { ...view.state.borrowing, ...pair.borrowing } };
  const initial = { fundingP: fees.initialAccFundingFeeP, borrowingP: fees.initialAccBorrowingFeeP };
  const held = holdingFees({ state, collateral }, trade, { initial, timestamp: block.timestamp, price: oraclePrice });
  return {
    market: { ...view, collateral, state, pair: { ...view.pair, spreadP: pair.spreadP } },
    trade,
    account: {
      holdingFees: held.total + own.borrowingV1,
      realizedPnl: fees.realizedPnlCollateral - fees.realizedTradingFeesCollateral,
    },
    held,
  };
}
