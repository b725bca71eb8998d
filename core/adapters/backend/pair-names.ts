import { symbolOf, type MarketConfig } from '../../domain/market.js';

type NameIndex = (name: string) => number | null;

const NONE: NameIndex = () => null;
const known = new WeakMap<MarketConfig, NameIndex>();

/** Pair index by the protocol's name, or by the public name if no pair has that name: `TSLA/USD` may mean `TSLA_1/USD`. */
export function pairNames(config: MarketConfig | null): NameIndex {
  if (!config) return NONE;
  const found = known.get(config);
  if (found) return found;
  const names = new Map<string, number>();
  for (const pair of config.pairs) if (pair) names.set(symbolOf(pair).toUpperCase(), pair.index);
  for (const pair of config.pairs) if (pair) names.set(`${pair.from}/${pair.to}`.toUpperCase(), pair.index);
  const lookUp: NameIndex = (name) => names.get(name.toUpperCase()) ?? null;
  known.set(config, lookUp);
  return lookUp;
}
