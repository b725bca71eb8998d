import type { Level } from './triggers.js';

/** Things that wait for a figure to reach a level from one side: what it reaches is found without a look at the others. */
export interface LevelList<Item> {
  readonly size: number;
  /** A thing may wait at a level once. */
  add(level: bigint, item: Item): void;
  remove(level: bigint, item: Item): void;
  reachedBy(figure: bigint): readonly Item[];
}

interface Waiting<Item> {
  readonly level: bigint;
  readonly item: Item;
}

/** `below`: reached by figures at the level or lower ones; `above`: by higher ones. */
export function createLevelList<Item>(side: Level['side']): LevelList<Item> {
  /** Ascending by level. */
  const waiting: Waiting<Item>[] = [];

  /** Where the first one stands that is not lower. */
  function placeOf(level: bigint): number {
    let [from, to] = [0, waiting.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((waiting[middle]?.level ?? level) < level) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  return {
    get size() {
      return waiting.length;
    },
    add: (level, item) => void waiting.splice(placeOf(level), 0, { level, item }),
    remove(level, item) {
      let at = placeOf(level);
      while (waiting[at]?.level === level && waiting[at]?.item !== item) at += 1;
      if (waiting[at]?.level === level) waiting.splice(at, 1);
    },
    reachedBy(figure) {
      const reached = side === 'below' ? waiting.slice(placeOf(figure)) : waiting.slice(0, placeOf(figure + 1n));
      return reached.map(({ item }) => item);
    },
  };
}
