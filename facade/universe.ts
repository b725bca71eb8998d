import type { AssetUnits } from '../core/ports/stores/facade.js';
import { groupOf, maxLeverageOf, publicBase, symbolOf, type MarketConfig, type Pair, directoryOf } from '../core/domain/market.js';
import type { Gateway, Venue } from '../core/gateway.js';
import { BASE_SCALE, PRICE_SCALE, magnitude } from './format.js';

/** One row of `meta.universe`; its index, its asset id and its pair index are the same number. */
export interface Asset {
  readonly id: number;
  readonly coin: string;
  /** null for a slot without a pair: the row stays so that later indices do not move. */
  readonly pair: Pair | null;
  /** The symbol in the native API; empty for a slot without a pair. */
  readonly symbol: string;
  readonly szDecimals: number;
  /** Base units in one unit of the coin. */
  readonly multiplier: bigint;
  readonly maxLeverage: number;
  /** No position can be opened in it. */
  readonly isDelisted: boolean;
}

export interface Universe {
  readonly assets: readonly Asset[];
  readonly byCoin: ReadonlyMap<string, Asset>;
}

const MOST_SZ_DECIMALS = 5;
const LONGEST_COIN = 15;
/** Below a cent, six decimals leave too few digits. */
const THOUSANDS_BELOW = 10n ** BigInt(PRICE_SCALE - 2);
/** Shown until a market's first price; nothing is fixed by it. */
const NO_UNITS = { szDecimals: 2, multiplier: 1 } as const;

/** A lot is worth 0.1 to 1 USD, and five significant figures of the price fit beside it. `price` is 1e10. */
export function unitsFor(price: bigint): Pick<AssetUnits, 'szDecimals' | 'multiplier'> {
  const multiplier = price < THOUSANDS_BELOW ? 1000 : 1;
  const digits = 1 + magnitude(price * BigInt(multiplier), PRICE_SCALE);
  return { multiplier, szDecimals: Math.min(Math.max(digits, 0), MOST_SZ_DECIMALS) };
}

export interface Universes {
  of(venue: Venue): Promise<Universe>;
}

/** Units are stored with a market's first price, so that they are the same on every replica and after a restart. */
export function createUniverses({ store }: Pick<Gateway, 'store'>): Universes {
  const made = new WeakMap<MarketConfig, { readonly universe: Universe; readonly isComplete: boolean }>();
  const fixed = new Map<Venue, ReadonlyMap<string, AssetUnits>>();

  const load = async (venue: Venue, missing: readonly AssetUnits[]): Promise<ReadonlyMap<string, AssetUnits>> => {
    const { slug } = venue.definition;
    const known = new Map((await store.facade.assets.fix(slug, missing)).map((units) => [keyOf(units), units]));
    fixed.set(venue, known);
    return known;
  };

  return {
    async of(venue) {
      const config = venue.feed.config();
      const ready = made.get(config);
      if (ready?.isComplete) return ready.universe;
      let known = fixed.get(venue) ?? (await load(venue, []));
      const missing = unfixed(config, known, venue);
      if (missing.length > 0) known = await load(venue, missing);
      const universe = universeOf(config, known);
      made.set(config, {
        universe,
        isComplete: universe.assets.every(({ id, pair }) => pair === null || known.has(keyOf(nameOf(pair, id)))),
      });
      return universe;
    },
  };
}

const keyOf = ({ pairIndex, symbol }: Pick<AssetUnits, 'pairIndex' | 'symbol'>): string => `${pairIndex} ${symbol}`;
const nameOf = (pair: Pair, pairIndex: number) => ({ pairIndex, symbol: symbolOf(pair) });

function unfixed(config: MarketConfig, known: ReadonlyMap<string, AssetUnits>, { feed }: Venue): AssetUnits[] {
  return config.pairs.flatMap((pair, index) => {
    if (pair === null || known.has(keyOf(nameOf(pair, index)))) return [];
    const price = feed.lastPrice(index)?.oracle ?? 0n;
    return price > 0n ? [{ ...nameOf(pair, index), ...unitsFor(price) }] : [];
  });
}

function universeOf(config: MarketConfig, known: ReadonlyMap<string, AssetUnits>): Universe {
  const taken = new Set<string>();
  const directory = directoryOf(config);
  const assets = config.pairs.map((pair, id): Asset => {
    const units = (pair && known.get(keyOf(nameOf(pair, id)))) ?? NO_UNITS;
    const isCurrent = pair !== null && directory.bySymbol.get(symbolOf(pair)) === pair;
    const wanted = pair === null ? `PAIR${id}` : coinOf(config, pair, units.multiplier);
    const coin = isCurrent && !taken.has(wanted.toLowerCase()) ? wanted : withSuffix(wanted, pair === null ? '' : String(id));
    taken.add(coin.toLowerCase());
    const group = pair && config.groups[pair.groupIndex];
    return {
      id,
      coin,
      pair,
      symbol: pair === null ? '' : symbolOf(pair),
      szDecimals: pair === null ? 0 : units.szDecimals,
      multiplier: BigInt(units.multiplier),
      maxLeverage: pair && group ? wholeLeverage(pair, group.maxLeverage, maxLeverageOf(pair, group)) : 1,
      isDelisted: !isCurrent || !group || pair.customMaxLeverage === CLOSED,
    };
  });
  return { assets, byCoin: new Map(assets.map((asset) => [asset.coin, asset])) };
}

/** The contract's value for a pair that takes no openings. */
const CLOSED = 1n;

const wholeLeverage = (pair: Pair, ofGroup: bigint, own: bigint): number =>
  Math.max(1, Number((pair.customMaxLeverage === CLOSED ? ofGroup : own) / 1000n));

/** Adds a suffix to a coin whose name is used by another slot or by the pair's successor. */
const withSuffix = (coin: string, suffix: string): string => coin.slice(0, LONGEST_COIN - suffix.length) + suffix;

/** Letters and digits only: clients read a slash as spot, a colon as another dex, a dash as a separator. */
function coinOf(config: MarketConfig, pair: Pair, multiplier: number): string {
  const isCross = pair.to !== 'USD' || groupOf(config.groups[pair.groupIndex]?.name ?? '') === 'forex';
  const plain = `${publicBase(pair.from)}${isCross ? pair.to : ''}`.toUpperCase().replace(/[^A-Z0-9]/g, '');
  return `${multiplier === 1 ? '' : 'k'}${plain}`.slice(0, LONGEST_COIN);
}

/** With a multiplier of 1000 a coin has a thousandth of the units at a thousand times the price. */
export const coinPrice = ({ multiplier }: Pick<Asset, 'multiplier'>, price: bigint): bigint => price * multiplier;
/** One lot of the coin, in base units (1e18). */
export const lotOf = ({ szDecimals, multiplier }: Pick<Asset, 'szDecimals' | 'multiplier'>): bigint =>
  10n ** BigInt(BASE_SCALE - szDecimals) * multiplier;
export const coinSize = ({ multiplier }: Pick<Asset, 'multiplier'>, base: bigint): bigint => base / multiplier;
