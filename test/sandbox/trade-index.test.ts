import { createNoise } from '../../sandbox/backend/price-walk.js';
import { createLevelList, firesAt } from '../../sandbox/oracle/level-list.js';
import { believedFor, watchOf, type Liquidation } from '../../sandbox/oracle/keeper.js';
import { keyOf, type WatchedTrade } from '../../sandbox/oracle/order-book.js';
import { createTradeIndex, type PairPrices, type TradeIndex } from '../../sandbox/oracle/trade-index.js';

/** What the keeper finds by its index is what it would find by looking at everything. */

type Roll = (sides: number) => number;

/** Seeded, so that a failure can be looked at again. */
function createDice(seed: number): Roll {
  const noise = createNoise(`dice ${seed}`);
  let rolled = 0;
  return (sides) => Math.floor(noise.uniform(0, rolled++) * sides);
}

/** `npm run test:slow` takes more seeds and more steps. */
const isSlow = process.env['SLOW_TESTS'] === '1';
const SEEDS = isSlow ? [1, 2, 3] : [1];
const STEPS = isSlow ? 2_000 : 600;
const PAIRS = [0, 1, 5];
const COLLATERALS = [1, 3];
/** Few prices, so that many are met exactly and many are alike. */
const somePrice = (roll: Roll): bigint => BigInt(1 + roll(60));

const someTrade = (roll: Roll, changes: Partial<WatchedTrade> = {}): WatchedTrade => ({
  user: `0x${String(1 + roll(4)).padStart(40, '0')}`,
  index: roll(30),
  pairIndex: PAIRS[roll(PAIRS.length)] ?? 0,
  collateralIndex: COLLATERALS[roll(COLLATERALS.length)] ?? 1,
  long: roll(2) === 0,
  tradeType: roll(3),
  openPrice: somePrice(roll),
  tp: roll(2) === 0 ? 0n : somePrice(roll),
  sl: roll(2) === 0 ? 0n : somePrice(roll),
  leverage: 10_000,
  collateralAmount: 100n,
  isCounterTrade: false,
  liqPrice: null,
  ...changes,
});

const somePrices = (roll: Roll): PairPrices[] =>
  PAIRS.filter(() => roll(3) > 0).map((pairIndex) => ({
    pairIndex,
    oraclePrice: somePrice(roll),
    marketPrices: new Map(COLLATERALS.map((collateralIndex) => [collateralIndex, somePrice(roll)])),
  }));

interface Book {
  readonly index: TradeIndex;
  readonly trades: Map<string, WatchedTrade>;
  readonly liquidations: Map<WatchedTrade, Liquidation>;
}

const createBook = (): Book => ({ index: createTradeIndex(), trades: new Map(), liquidations: new Map() });

function put({ index, trades }: Book, trade: WatchedTrade): void {
  trades.set(keyOf(trade), trade);
  index.set(trade);
}

/** Something is opened, changed, closed, or its liquidation price becomes known. */
function stir(book: Book, roll: Roll, time: number): void {
  const kind = roll(8);
  const known = [...book.trades.values()][roll(Math.max(1, book.trades.size))];
  if (kind < 4 || !known) return put(book, someTrade(roll));
  if (kind === 4) return put(book, { ...known, tp: somePrice(roll), sl: somePrice(roll), liqPrice: null });
  if (kind === 5) {
    book.trades.delete(keyOf(known));
    return book.index.delete(keyOf(known));
  }
  if (known.tradeType !== 0) return;
  const liquidation: Liquidation = { params: null, price: somePrice(roll), at: time - roll(10) };
  book.liquidations.set(known, liquidation);
  book.index.watchLiquidation(known, watchOf(known, liquidation));
}

/** The same question without an index: a trigger is reached, or the liquidation price is reached, too old or unknown. */
function isDue(trade: WatchedTrade, { liquidations }: Book, prices: PairPrices | undefined, time: number): boolean {
  if (!prices) return false;
  const { oraclePrice, marketPrices } = prices;
  const trigger = firesAt(trade, marketPrices.get(trade.collateralIndex) ?? 0n);
  if (trigger || trade.tradeType !== 0) return trigger !== null;
  const known = liquidations.get(trade);
  if (!known || time - known.at >= believedFor(trade, known, oraclePrice)) return true;
  return trade.long ? oraclePrice <= known.price : oraclePrice >= known.price;
}

function dueIn(trades: Iterable<WatchedTrade>, book: Book, prices: readonly PairPrices[], time: number): WatchedTrade[] {
  const pricesOf = (trade: WatchedTrade) => prices.find(({ pairIndex }) => pairIndex === trade.pairIndex);
  return [...trades].filter((trade) => isDue(trade, book, pricesOf(trade), time));
}

describe.each(SEEDS)('over any book, any prices and any time (seed %d)', (seed) => {
  it('what is due among what the index finds is all that is due, in the order in which it came', () => {
    const [roll, book] = [createDice(seed), createBook()];
    let [time, found] = [1_000, 0];
    for (let step = 0; step < STEPS; step += 1) {
      stir(book, roll, time);
      time += roll(4) === 0 ? roll(20) - 5 : 0; // a reorganisation may set it back
      const prices = somePrices(roll);
      const due = dueIn(book.trades.values(), book, prices, time);
      expect(dueIn(book.index.reachedBy(prices, time), book, prices, time)).toEqual(due);
      found += due.length;
    }
    expect(found).toBeGreaterThan(STEPS / 2);
  });

  it('of resting orders it finds nothing that is not due', () => {
    const [roll, book] = [createDice(seed), createBook()];
    for (let step = 0; step < 500; step += 1) {
      put(book, someTrade(roll, { tradeType: 1 + roll(2), index: step }));
      const prices = somePrices(roll);
      expect(book.index.reachedBy(prices, 0)).toEqual(dueIn(book.trades.values(), book, prices, 0));
    }
  });

  it('it names the pairs that anything is open of and the collaterals in which a price is waited for', () => {
    const [roll, book] = [createDice(seed), createBook()];
    for (let step = 0; step < 400; step += 1) {
      stir(book, roll, 0);
      if (roll(40) === 0) for (const key of [...book.trades.keys()]) if (book.trades.delete(key)) book.index.delete(key);
      const open = [...book.trades.values()];
      expect(new Set(book.index.pairs())).toEqual(new Set(open.map(({ pairIndex }) => pairIndex)));
      for (const pairIndex of PAIRS) {
        const waiting = open.filter((trade) => trade.pairIndex === pairIndex && (trade.tradeType > 0 || trade.tp > 0n || trade.sl > 0n));
        expect(new Set(book.index.collateralsOf(pairIndex))).toEqual(new Set(waiting.map(({ collateralIndex }) => collateralIndex)));
      }
    }
  });
});

describe('a position', () => {
  const position = someTrade(createDice(1), { tradeType: 0, long: true, openPrice: 50n, tp: 0n, sl: 0n });
  const at = (oraclePrice: bigint): PairPrices[] => [{ pairIndex: position.pairIndex, oraclePrice, marketPrices: new Map() }];

  it('is left alone while its liquidation price is far and fresh, and found when it is near or old', () => {
    const index = createTradeIndex();
    index.set(position);
    expect(index.reachedBy(at(50n), 0)).toEqual([position]);
    index.watchLiquidation(position, watchOf(position, { params: null, price: 30n, at: 100 }));
    expect(index.reachedBy(at(41n), 159)).toEqual([]);
    expect(index.reachedBy(at(40n), 100)).toEqual([position]);
    expect(index.reachedBy(at(41n), 160)).toEqual([position]);
  });

  it('that has changed is not bound by what was known of it before', () => {
    const [index, changed] = [createTradeIndex(), { ...position, collateralAmount: 50n }];
    index.set(position);
    index.set(changed);
    index.watchLiquidation(position, watchOf(position, { params: null, price: 30n, at: 100 }));
    expect(index.reachedBy(at(50n), 100)).toEqual([changed]);
  });
});

describe.each(['below', 'above'] as const)('a list of levels reached from %s', (side) => {
  it.each(isSlow ? [2, 60, 5_000] : [60])('gives what a look at each of them would, with %d different ones', (different) => {
    const roll = createDice(different);
    const someLevel = (): bigint => BigInt(1 + roll(different));
    const list = createLevelList<number>(side);
    const all = new Map<number, bigint>();
    for (let step = 0; step < 4_000; step += 1) {
      // It grows to well above a thousand, and ends empty.
      const gone = roll(10) < (step < 2_000 ? 2 : 9) ? [...all][roll(all.size)] : undefined;
      if (gone) {
        list.remove(gone[1], gone[0]);
        all.delete(gone[0]);
      } else {
        all.set(step, someLevel());
        list.add(all.get(step) ?? 0n, step);
      }
      expect(list.size).toBe(all.size);
      if (step % 7 !== 0) continue;
      const figure = someLevel();
      const reached = [...all].filter(([, level]) => (side === 'below' ? figure <= level : figure >= level)).map(([item]) => item);
      expect(list.reachedBy(figure).sort((one, other) => one - other)).toEqual(reached);
    }
    expect(all.size).toBeLessThan(10);
  });
});
