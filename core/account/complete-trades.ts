import { LRUCache } from 'lru-cache';
import { atMost } from '../caching/at-most.js';
import type { MarketConfig } from '../domain/market.js';
import { CONTRACTS_VERSION, marketView } from '../domain/pricing/market-view.js';
import type { Venue } from '../gateway.js';
import type { OpenTrade, OpenTrades, ReadTrade, ReadTrades } from '../ports/account-chain.js';
import type { ListedPosition } from '../ports/stores/account.js';
import type { TradeStruct } from '../domain/diamond-log.js';
import type { Address } from '../types.js';

/** What a contract of another release does not answer is computed from what it does, or taken from its last answer. */

const MOST_KEPT = 5_000;
/** The last trades that were read, by trader and index. */
const kept = new WeakMap<Venue, LRUCache<string, OpenTrade>>();

export function completeTrades(venue: Venue, trader: Address, read: ReadTrades, stored: readonly ListedPosition[]): OpenTrades {
  const known = kept.get(venue) ?? new LRUCache<string, OpenTrade>(atMost(MOST_KEPT));
  kept.set(venue, known);
  const trades = read.trades.map((one) => {
    const key = `${trader} ${one.trade.index}`;
    const before = known.get(key);
    const last = before !== undefined && isSameTrade(before.trade, one.trade) ? before : null;
    const position = stored.find(({ tradeIndex }) => tradeIndex === one.trade.index);
    const whole = completeTrade(venue.feed.config(), one, { last, position });
    if (whole.lacks === null) known.set(key, whole);
    return whole;
  });
  return { block: read.block, trades };
}

/** Its own figures change with every action on it, and with them what is stored about it. */
const isSameTrade = (a: TradeStruct, b: TradeStruct): boolean =>
  a.collateralAmount === b.collateralAmount &&
  a.leverage === b.leverage &&
  a.openPrice === b.openPrice &&
  a.positionSizeToken === b.positionSizeToken;

const NO_LIQUIDATION = { maxLiqSpreadP: 0n, startLiqThresholdP: 0n, endLiqThresholdP: 0n, startLeverage: 0n, endLeverage: 0n };
const NO_FEES = { realizedTradingFeesCollateral: 0n, realizedPnlCollateral: 0n, initialAccFundingFeeP: 0n, initialAccBorrowingFeeP: 0n };

interface Known {
  /** The trade as it was read last, if its own figures are still the same. */
  readonly last: OpenTrade | null;
  readonly position: ListedPosition | undefined;
}

/** Fees and open interest of the pair change with time as the contract computes them, so the last values of the feed are as good. */
export function completeTrade(config: MarketConfig, read: ReadTrade, { last, position }: Known): OpenTrade {
  const { trade } = read;
  const view = marketView(config, trade);
  const info = read.info ?? last?.info ?? infoOf(trade, position);
  const [liquidation, fees] = [read.liquidation ?? last?.liquidation, read.fees ?? last?.fees];
  const state = view?.state ?? last?.pair;
  const funding = read.pair.funding ?? state?.funding ?? null;
  const borrowing = read.pair.borrowing ?? state?.borrowing ?? null;
  const spreadP = read.pair.spreadP ?? last?.pair.spreadP ?? view?.pair.spreadP ?? null;
  const oiToken = read.pair.oiToken ?? state?.oiToken ?? null;
  const lacks = [
    info === null ? ('getTradeInfos' as const) : null,
    liquidation === undefined ? ('getTradesLiquidationParams' as const) : null,
    fees === undefined ? ('getTradeFeesDataArray' as const) : null,
    funding === null ? ('getPairFundingFeeData' as const) : null,
    borrowing === null ? ('getPairBorrowingFeeData' as const) : null,
    spreadP === null ? ('pairSpreadPArray' as const) : null,
    oiToken === null ? ('getPairOisAfterV10Token' as const) : null,
  ].find((name) => name !== null);
  return {
    trade,
    info: info ?? NO_INFO,
    liquidation: liquidation ?? NO_LIQUIDATION,
    fees: fees ?? NO_FEES,
    borrowingV1: read.borrowingV1 ?? last?.borrowingV1 ?? 0n,
    takenOut: read.takenOut ?? last?.takenOut ?? 0n,
    collateral: read.collateral ?? last?.collateral ?? null,
    lacks: lacks ?? null,
    pair: {
      funding: funding ?? NO_FUNDING,
      borrowing: borrowing ?? { accBorrowingFeeP: 0n, lastBorrowingUpdateTs: 0n },
      oiToken: oiToken ?? { long: 0n, short: 0n },
      spreadP: spreadP ?? 0n,
      collateralPriceUsd: priceOf(read.pair.collateralPriceUsd, info),
    },
  };
}

/** The contract has no price where it has no feed: then the one that it stored with the trade. */
const priceOf = (priceUsd: bigint | null, info: OpenTrade['info'] | null): bigint =>
  priceUsd === null || priceUsd === 0n ? BigInt(info?.collateralPriceUsd ?? 0) : priceUsd;

const NO_FUNDING = { accFundingFeeLongP: 0n, accFundingFeeShortP: 0n, lastFundingRatePerSecondP: 0n, lastFundingUpdateTs: 0n };
const NO_INFO = {
  createdBlock: 0,
  maxSlippageP: 0,
  contractsVersion: CONTRACTS_VERSION.v10,
  lastPosIncreaseBlock: 0,
  collateralPriceUsd: 0,
};

/** A trade whose size in tokens the contract counts is one of v10; the index knows the rest. Null for an older trade: its version is not known. */
function infoOf({ positionSizeToken }: TradeStruct, stored: ListedPosition | undefined): OpenTrade['info'] | null {
  if (stored === undefined || positionSizeToken === 0n) return null;
  const { openedBlock, slippageP, entryPriceUsd = 0n } = stored.position;
  return { ...NO_INFO, createdBlock: Number(openedBlock), maxSlippageP: Number(slippageP), collateralPriceUsd: Number(entryPriceUsd) };
}

/** A stored position in the contract's form. */
export const structOf = (user: Address, { tradeIndex, position }: ListedPosition): TradeStruct => ({
  user,
  index: tradeIndex,
  pairIndex: position.pairIndex,
  leverage: Number(position.leverage),
  long: position.long,
  isOpen: true,
  collateralIndex: position.collateralIndex,
  tradeType: 0,
  collateralAmount: position.collateralAmount,
  openPrice: position.openPrice,
  tp: position.tp,
  sl: position.sl,
  isCounterTrade: position.isCounterTrade,
  positionSizeToken: position.sizeToken,
});
