import { createLevelList, levelsOf, type Level, type LevelList } from './level-list.js';
import { keyOf, type WatchedTrade } from './order-book.js';

/** Prices of one pair at one moment. */
export interface PairPrices {
  readonly pairIndex: number;
  readonly oraclePrice: bigint;
  /** Skew-adjusted, by collateral. */
  readonly marketPrices: ReadonlyMap<number, bigint>;
}

/** How long a position's liquidation need not be checked. */
export interface LiquidationWatch {
  /** The oracle price at which it must be checked. */
  readonly near: Level;
  /** Chain time, in seconds. */
  readonly staleAt: number;
}

/**
 * Open trades by the prices they wait for, so that a price change costs only the trades it reaches. It may return too many (a position
 * near its liquidation, or without a known liquidation price), never too few.
 */
export interface TradeIndex {
  /** Replaces the trade with the same key. */
  set(trade: WatchedTrade): void;
  delete(key: string): void;
  /** From now on the position is returned only when the watch requires it; no effect if the trade changed meanwhile. */
  watchLiquidation(trade: WatchedTrade, watch: LiquidationWatch): void;
  /** Pairs with open trades. */
  pairs(): number[];
  /** Collaterals of the pair in which a trade waits for the market price. */
  collateralsOf(pairIndex: number): number[];
  /** The trades reached by these prices and this time, in order of arrival. */
  reachedBy(prices: readonly PairPrices[], chainTime: number): WatchedTrade[];
}

type Levels = Readonly<Record<Level['side'], LevelList<Entry>>>;

interface Place {
  readonly list: LevelList<Entry>;
  readonly level: bigint;
}

interface Entry {
  readonly trade: WatchedTrade;
  /** The sequence number of its key's first appearance. */
  readonly order: number;
  readonly triggers: readonly Place[];
  /** Empty while unknown, and always for orders. */
  liquidation: readonly Place[];
}

interface Pair {
  readonly entries: Set<Entry>;
  readonly markets: Map<number, Levels>;
  readonly oracle: Levels;
  /** By the time at which the liquidation price becomes stale. */
  readonly stale: LevelList<Entry>;
  /** Positions without a known liquidation price. */
  readonly unknown: Set<Entry>;
}

const createLevels = (): Levels => ({ below: createLevelList('below'), above: createLevelList('above') });
const isPosition = ({ tradeType }: WatchedTrade): boolean => tradeType === 0;

export function createTradeIndex(): TradeIndex {
  const entries = new Map<string, Entry>();
  const pairs = new Map<number, Pair>();
  let orders = 0;

  function pairAt(pairIndex: number): Pair {
    const known = pairs.get(pairIndex);
    if (known) return known;
    const made: Pair = {
      entries: new Set(),
      markets: new Map(),
      oracle: createLevels(),
      stale: createLevelList('above'),
      unknown: new Set(),
    };
    pairs.set(pairIndex, made);
    return made;
  }

  function marketAt({ markets }: Pair, collateralIndex: number): Levels {
    const market = markets.get(collateralIndex) ?? createLevels();
    markets.set(collateralIndex, market);
    return market;
  }

  function put(trade: WatchedTrade, order: number): void {
    const pair = pairAt(trade.pairIndex);
    const market = marketAt(pair, trade.collateralIndex);
    const triggers = levelsOf(trade).map(({ side, level }) => ({ list: market[side], level }));
    const entry: Entry = { trade, order, triggers, liquidation: [] };
    entries.set(keyOf(trade), entry);
    pair.entries.add(entry);
    addTo(triggers, entry);
    if (isPosition(trade)) pair.unknown.add(entry);
  }

  function take(entry: Entry): void {
    const pair = pairAt(entry.trade.pairIndex);
    removeFrom([...entry.triggers, ...entry.liquidation], entry);
    pair.entries.delete(entry);
    pair.unknown.delete(entry);
    entries.delete(keyOf(entry.trade));
  }

  function reachedOf({ pairIndex, oraclePrice, marketPrices }: PairPrices, chainTime: number): Entry[] {
    const { markets, oracle, stale, unknown } = pairAt(pairIndex);
    const byMarket = [...marketPrices].flatMap(([collateralIndex, price]) => reachedIn(markets.get(collateralIndex), price));
    return [...byMarket, ...reachedIn(oracle, oraclePrice), ...stale.reachedBy(BigInt(chainTime)), ...unknown];
  }

  return {
    set(trade) {
      const before = entries.get(keyOf(trade));
      if (before) take(before);
      put(trade, before?.order ?? orders++);
    },
    delete(key) {
      const entry = entries.get(key);
      if (entry) take(entry);
    },
    watchLiquidation(trade, { near, staleAt }) {
      const entry = entries.get(keyOf(trade));
      if (entry?.trade !== trade) return;
      const { oracle, stale, unknown } = pairAt(trade.pairIndex);
      removeFrom(entry.liquidation, entry);
      unknown.delete(entry);
      entry.liquidation = [
        { list: oracle[near.side], level: near.level },
        { list: stale, level: BigInt(staleAt) },
      ];
      addTo(entry.liquidation, entry);
    },
    pairs: () => [...pairs].filter(([, pair]) => pair.entries.size > 0).map(([pairIndex]) => pairIndex),
    collateralsOf: (pairIndex) =>
      [...pairAt(pairIndex).markets].filter(([, { below, above }]) => below.size + above.size > 0).map(([collateral]) => collateral),
    reachedBy(prices, chainTime) {
      const reached = new Set(prices.flatMap((price) => reachedOf(price, chainTime)));
      return [...reached].sort((one, other) => one.order - other.order).map(({ trade }) => trade);
    },
  };
}

const addTo = (places: readonly Place[], entry: Entry): void => places.forEach(({ list, level }) => list.add(level, entry));
const removeFrom = (places: readonly Place[], entry: Entry): void => places.forEach(({ list, level }) => list.remove(level, entry));

const reachedIn = (levels: Levels | undefined, price: bigint): Entry[] =>
  levels ? [...levels.below.reachedBy(price), ...levels.above.reachedBy(price)] : [];
