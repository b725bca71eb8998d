import { GatewayError } from '../errors.js';
import { symbolOf, type Collateral, type MarketConfig, type Pair } from '../domain/market.js';

export interface Directory {
  /** Listed pairs by index. */
  readonly pairs: readonly Pair[];
  readonly bySymbol: ReadonlyMap<string, Pair>;
}

/** Cached per config snapshot, which is immutable. */
const directories = new WeakMap<MarketConfig, Directory>();

const PUBLIC_SYMBOL = /^[A-Z0-9.]{1,15}\/[A-Z0-9]{1,10}$/;

export function directoryOf(config: MarketConfig): Directory {
  const known = directories.get(config);
  if (known) return known;
  const bySymbol = new Map<string, Pair>();
  for (const pair of config.pairs)
    if (pair && PUBLIC_SYMBOL.test(symbolOf(pair))) bySymbol.set(symbolOf(pair), preferredOf(bySymbol.get(symbolOf(pair)), pair));
  const directory = { bySymbol, pairs: [...bySymbol.values()].sort((a, b) => a.index - b.index) };
  directories.set(config, directory);
  return directory;
}

/** After a split or relisting two pairs share a public symbol: the tradable one wins, then the highest suffix, then the highest index. */
function preferredOf(older: Pair | undefined, newer: Pair): Pair {
  if (!older) return newer;
  const ranks = [older, newer].map((pair) => [pair.customMaxLeverage === 1n ? 0 : 1, splitOf(pair), pair.index] as const);
  const [a, b] = ranks;
  if (!a || !b) return newer;
  return (a[0] - b[0] || a[1] - b[1] || a[2] - b[2]) > 0 ? older : newer;
}

const splitOf = ({ from }: Pair): number => Number(from.split('_')[1] ?? 0) || 0;

export function pairOf(config: MarketConfig, symbol: string): Pair {
  const pair = directoryOf(config).bySymbol.get(symbol);
  if (!pair) throw new GatewayError('MARKET_NOT_FOUND', { market: symbol });
  return pair;
}

export const activeCollaterals = ({ collaterals }: Pick<MarketConfig, 'collaterals'>): Collateral[] =>
  collaterals.filter((collateral) => collateral.isActive);

/** The collateral whose figures are shown where they cannot be summed: USDC where it is listed, else the first. */
export function referenceCollateral(config: Pick<MarketConfig, 'collaterals'>): Collateral | null {
  const active = activeCollaterals(config);
  return active.find(({ symbol }) => symbol === 'USDC') ?? active[0] ?? null;
}
