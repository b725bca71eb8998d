import type { ChainSlug } from '../../chains/chains.js';

/** How a market is counted for clients that learn it once and never ask again; it stays although prices move by orders of magnitude. */
export interface AssetUnits {
  readonly pairIndex: number;
  /** Of the pair when it was listed: a slot that gets another pair is another asset. */
  readonly symbol: string;
  readonly szDecimals: number;
  /** Base units that one unit of the asset stands for: 1, or 1000 where the price would have no digits left. */
  readonly multiplier: number;
}

export interface AssetStore {
  /** What is fixed already. */
  all(chain: ChainSlug): Promise<AssetUnits[]>;
  /** Fixes what is not fixed yet; whoever comes second gets what the first one fixed. */
  fix(chain: ChainSlug, units: readonly AssetUnits[]): Promise<AssetUnits[]>;
}
