/** Numbers that follow from a seed alone. Each input has a generator of its own, made from the seed and its index, so that it can be replayed. */
export interface Random {
  /** A fraction in [0, 1). */
  fraction(): number;
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

const FRACTION_BITS = 2 ** 32;

/** sfc32 with the seed and the stream as its state: good enough for tests, and the same on every machine. */
export function createRandom(seed: number, stream: number): Random {
  let a = seed >>> 0;
  let b = stream >>> 0;
  let c = (Math.floor(stream / FRACTION_BITS) ^ 0x9e3779b9) >>> 0;
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = (((c << 21) | (c >>> 11)) + sum) >>> 0;
    return sum;
  };
  // The first outputs still show the state they come from.
  for (let round = 0; round < 15; round += 1) next();
  const fraction = (): number => next() / FRACTION_BITS;
  const int = (min: number, max: number): number => min + Math.floor(fraction() * (max - min + 1));
  return {
    fraction,
    int,
    chance: (probability) => fraction() < probability,
    pick<Item>(items: readonly Item[]): Item {
      if (items.length === 0) throw new RangeError('there is nothing to pick from');
      return items[int(0, items.length - 1)] as Item;
    },
  };
}
