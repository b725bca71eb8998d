import type { WatchedTrade } from './order-book.js';

/** Items waiting for a value to reach a level from one side; reached items are found without scanning the others. */
export interface LevelList<Item> {
  readonly size: number;
  /** An item may be added once per level. */
  add(level: bigint, item: Item): void;
  remove(level: bigint, item: Item): void;
  reachedBy(figure: bigint): Item[];
}

interface Waiting<Item> {
  readonly level: bigint;
  readonly item: Item;
}

/** Short enough for cheap insertion, long enough for few runs. */
const LONGEST_RUN = 512;

/** `below`: reached by values at or below the level; `above`: at or above it. */
export function createLevelList<Item>(side: Level['side']): LevelList<Item> {
  /** Ascending by level, within and across runs; no run is empty. */
  const runs: Waiting<Item>[][] = [];
  let size = 0;

  /** The first run that ends at the level or above it. */
  const runOf = (level: bigint): number => firstOf(runs, (run) => (run.at(-1)?.level ?? level) >= level);
  const placeIn = (run: readonly Waiting<Item>[], level: bigint): number => firstOf(run, (one) => one.level >= level);

  function put(at: number, waiting: Waiting<Item>): void {
    const run = runs[at];
    if (!run) return void runs.push([waiting]);
    run.splice(placeIn(run, waiting.level), 0, waiting);
    if (run.length > LONGEST_RUN) runs.splice(at + 1, 0, run.splice(LONGEST_RUN / 2));
  }

  function take(at: number, place: number): void {
    const run = runs[at];
    run?.splice(place, 1);
    if (run?.length === 0) runs.splice(at, 1);
    size -= 1;
  }

  /** Items at or above the level. */
  function from(level: bigint): Waiting<Item>[] {
    const at = runOf(level);
    const run = runs[at] ?? [];
    return [run.slice(placeIn(run, level)), ...runs.slice(at + 1)].flat();
  }

  function lowerThan(level: bigint): Waiting<Item>[] {
    const at = runOf(level);
    const run = runs[at] ?? [];
    return [...runs.slice(0, at), run.slice(0, placeIn(run, level))].flat();
  }

  return {
    get size() {
      return size;
    },
    add(level, item) {
      put(Math.min(runOf(level), Math.max(0, runs.length - 1)), { level, item });
      size += 1;
    },
    remove(level, item) {
      for (let at = runOf(level); at < runs.length; at += 1) {
        const run = runs[at] ?? [];
        let place = placeIn(run, level);
        while (run[place]?.level === level && run[place]?.item !== item) place += 1;
        if (run[place]?.level === level) return take(at, place);
        if (place < run.length) return; // past the level: the item was not in the list
      }
    },
    reachedBy(figure) {
      const reached = side === 'below' ? from(figure) : lowerThan(figure + 1n);
      return reached.map(({ item }) => item);
    },
  };
}

/** The index of the first item for which the predicate holds; it holds for all later ones. */
function firstOf<Item>(list: readonly Item[], isThere: (item: Item) => boolean): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const item = list[middle];
    if (item === undefined || isThere(item)) to = middle;
    else from = middle + 1;
  }
  return from;
}

export interface Trigger {
  /** The contract's PendingOrderType. */
  readonly orderType: number;
  readonly name: 'limit' | 'stop' | 'take profit' | 'stop loss' | 'liquidation';
}

/** Reached by a market price at the level, or beyond it on this side. */
export interface Level {
  readonly side: 'below' | 'above';
  readonly level: bigint;
}

interface TriggerLevel extends Level {
  readonly trigger: Trigger;
}

type Triggered = Pick<WatchedTrade, 'tradeType' | 'long' | 'openPrice' | 'tp' | 'sl'>;

const LIMIT: Trigger = { orderType: 2, name: 'limit' };
const STOP: Trigger = { orderType: 3, name: 'stop' };
const TAKE_PROFIT: Trigger = { orderType: 4, name: 'take profit' };
const STOP_LOSS: Trigger = { orderType: 5, name: 'stop loss' };

const isReached = ({ side, level }: Level, price: bigint): boolean => (side === 'below' ? price <= level : price >= level);

/** The levels of a trade, by priority. A limit waits for a better price, a stop for a worse one. */
export function levelsOf({ tradeType, long, openPrice, tp, sl }: Triggered): TriggerLevel[] {
  const [worse, better] = long ? (['below', 'above'] as const) : (['above', 'below'] as const);
  if (tradeType === 1) return [{ trigger: LIMIT, side: worse, level: openPrice }];
  if (tradeType === 2) return [{ trigger: STOP, side: better, level: openPrice }];
  const stopLoss: TriggerLevel = { trigger: STOP_LOSS, side: worse, level: sl };
  const takeProfit: TriggerLevel = { trigger: TAKE_PROFIT, side: better, level: tp };
  return [stopLoss, takeProfit].filter(({ level }) => level > 0n);
}

/** Which trigger of the trade the market price has reached, if any. */
export function firesAt(trade: Triggered, marketPrice: bigint): Trigger | null {
  return levelsOf(trade).find((level) => isReached(level, marketPrice))?.trigger ?? null;
}
