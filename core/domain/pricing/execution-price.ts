import { tradingFee, pnlPercentP, tradeValue } from './fees.js';
import { CONTRACTS_VERSION, type MarketView, type Moment, type StoredTrade, type TradeAccount, type TraderTerms } from './market-view.js';
import { priceAfterImpact, skewImpactP } from './exposure.js';
import { collateralToUsd, positionSizeCollateral, positionSizeToken } from './size.js';
import { E3, pushesUp } from './units.js';
import { volumeImpactP } from './volume-impact.js';
import type { Pair } from '../market.js';

/** The contract's `TradePriceImpact`. */
export interface PriceImpact {
  readonly positionSizeToken: bigint;
  readonly fixedSpreadP: bigint;
  readonly volumeImpactP: bigint;
  readonly skewImpactP: bigint;
  readonly totalImpactP: bigint;
  readonly priceAfterImpact: bigint;
}

export interface PriceContext {
  readonly market: MarketView;
  readonly terms: TraderTerms;
  readonly moment: Moment;
  readonly oraclePrice: bigint;
}

/** Price of opening, or of adding, a position of this size. Throws `PriceRangeError` where the contract reverts. */
export function openingImpact(
  context: PriceContext,
  order: { readonly long: boolean; readonly positionSizeCollateral: bigint },
): PriceImpact {
  const { market, terms, moment, oraclePrice } = context;
  const direction = { long: order.long, open: true };
  const spread = fixedSpreadP({ spreadP: pairSpreadP(market.pair, terms), ...direction });
  const sizeUsd = collateralToUsd(order.positionSizeCollateral, market.collateral);
  const volume = volumeImpactP({ market, terms, moment, ...direction, sizeUsd, isPnlPositive: false, lastPosIncreaseBlock: 0n });
  const sizeToken = positionSizeToken({
    positionSizeCollateral: order.positionSizeCollateral,
    price: priceAfterImpact(oraclePrice, spread + volume),
    collateral: market.collateral,
  });
  const skew = skewImpactP({ state: market.state, sizeToken, up: pushesUp(direction) });
  return total({ oraclePrice, positionSizeToken: sizeToken, fixedSpreadP: spread, volumeImpactP: volume, skewImpactP: skew });
}

/**
 * Price of closing all or a part of a trade. Whether the close counts as profitable (and so may be protected) is decided first, at
 * the unprotected price and after every fee of closing the whole trade.
 */
export function closingImpact(
  context: PriceContext,
  close: { readonly trade: StoredTrade; readonly account: TradeAccount; readonly positionSizeCollateral: bigint },
): PriceImpact {
  const { market, terms, moment, oraclePrice } = context;
  const { trade } = close;
  if (trade.contractsVersion < CONTRACTS_VERSION.v92) return untouched(oraclePrice);
  const direction = { long: trade.long, open: false };
  const sizeToken = (close.positionSizeCollateral * trade.positionSizeToken) / positionSizeCollateral(trade);
  const spread = fixedSpreadP({ spreadP: pairSpreadP(market.pair, terms), ...direction });
  const hasSkew = trade.contractsVersion >= CONTRACTS_VERSION.v10;
  const skew = hasSkew ? skewImpactP({ state: market.state, sizeToken, up: pushesUp(direction) }) : 0n;
  const sizeUsd = collateralToUsd(close.positionSizeCollateral, market.collateral);
  const { lastPosIncreaseBlock } = trade;
  const volumeWhen = (isPnlPositive: boolean): bigint =>
    volumeImpactP({ market, terms, moment, ...direction, sizeUsd, isPnlPositive, lastPosIncreaseBlock });
  const unprotected = priceAfterImpact(oraclePrice, spread + volumeWhen(false) + skew);
  const volume = volumeWhen(netValue(context, close, unprotected) > trade.collateralAmount);
  return total({ oraclePrice, positionSizeToken: sizeToken, fixedSpreadP: spread, volumeImpactP: volume, skewImpactP: skew });
}

/** Value of the whole trade if it closed at this execution price. */
export function netValue(
  { market, terms }: Pick<PriceContext, 'market' | 'terms'>,
  { trade, account }: { readonly trade: StoredTrade; readonly account: TradeAccount },
  price: bigint,
): bigint {
  return tradeValue({
    collateralAmount: trade.collateralAmount,
    precisionDelta: market.collateral.precisionDelta,
    pnlP: pnlPercentP({ ...trade, price }),
    closingFee: tradingFee({
      market,
      positionSizeCollateral: positionSizeCollateral(trade),
      isCounterTrade: trade.isCounterTrade,
      feeMultiplier: terms.feeMultiplier,
    }),
    account,
  });
}

function total(parts: Omit<PriceImpact, 'totalImpactP' | 'priceAfterImpact'> & { readonly oraclePrice: bigint }): PriceImpact {
  const { oraclePrice, ...impact } = parts;
  const totalImpactP = impact.fixedSpreadP + impact.volumeImpactP + impact.skewImpactP;
  return { ...impact, totalImpactP, priceAfterImpact: priceAfterImpact(oraclePrice, totalImpactP) };
}

const untouched = (oraclePrice: bigint): PriceImpact => ({
  positionSizeToken: 0n,
  fixedSpreadP: 0n,
  volumeImpactP: 0n,
  skewImpactP: 0n,
  totalImpactP: 0n,
  priceAfterImpact: oraclePrice,
});

/** The trader's own part is stored with three decimals of percent, the pair's with ten. */
const USER_SPREAD_TO_P = 10n ** 7n;

/** 1e10 percent, both sides together. */
export const pairSpreadP = (pair: Pick<Pair, 'spreadP'>, terms: Pick<TraderTerms, 'fixedSpreadP'>): bigint =>
  pair.spreadP + terms.fixedSpreadP * USER_SPREAD_TO_P;

/** Half of the spread, signed by the direction the trade pushes. */
function fixedSpreadP(input: { readonly spreadP: bigint; readonly long: boolean; readonly open: boolean }): bigint {
  const half = input.spreadP / 2n;
  return pushesUp(input) ? half : -half;
}

/** Closing slippage of a trade that never set one: 1 %. */
export const DEFAULT_CLOSING_SLIPPAGE_P = 1000n;

/** How far the execution price may be from the expected one. */
const slippageAmount = (expectedPrice: bigint, maxSlippageP: bigint): bigint => (expectedPrice * maxSlippageP) / 100n / E3;

/** The worst accepted price: an upper bound for trades that push the price up, a lower bound for the others. */
export function worstPrice(input: {
  readonly expectedPrice: bigint;
  readonly maxSlippageP: bigint;
  readonly long: boolean;
  readonly open: boolean;
}): bigint {
  const amount = slippageAmount(input.expectedPrice, input.maxSlippageP);
  return pushesUp(input) ? input.expectedPrice + amount : input.expectedPrice - amount;
}

export function isWithinSlippage(input: {
  readonly price: bigint;
  readonly expectedPrice: bigint;
  readonly maxSlippageP: bigint;
  readonly long: boolean;
  readonly open: boolean;
}): boolean {
  const worst = worstPrice(input);
  return pushesUp(input) ? input.price <= worst : input.price >= worst;
}
