import type { Level } from './triggers.js';

/** Things that wait for a figure to reach a level from one side: what it reaches is found without a look at the others. */
export interface LevelList<Item> {
  readonly size: number;
  /** A thing may wait at a level once. */
  add(level: bigint, item: Item): void;
  remove(level: bigint, item: Item): void;
  reachedBy(figure: bigint): Item[];
}

interface Waiting<Item> {
  readonly level: bigint;
  readonly item: Item;
}

/** Short enough to put one in between, long enough for few runs. */
const LONGEST_RUN = 512;

/** `below`: reached by figures at the level or lower ones; `above`: by higher ones. */
export function createLevelList<Item>(side: Level['side']): LevelList<Item> {
  /** Ascending by level, within each run and from one to the next; none is empty. */
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

  /** Those at the level and above it. */
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
        if (place < run.length) return; // beyond the level: it was not there
      }
    },
    reachedBy(figure) {
      const reached = side === 'below' ? from(figure) : lowerThan(figure + 1n);
      return reached.map(({ item }) => item);
    },
  };
}

/** Where the first one stands of which it is true; it is true of all after it. */
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
