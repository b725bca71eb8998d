import type { ChainSlug } from '../../chains/chains.js';

/** Units of a market for clients that read them once; they stay fixed although prices move by orders of magnitude. */
export interface AssetUnits {
  readonly pairIndex: number;
  /** Symbol of the pair when it was listed: a pair index reused by another pair is another asset. */
  readonly symbol: string;
  readonly szDecimals: number;
  /** Base units that one unit of the asset stands for: 1, or 1000 where the price would have no digits left. */
  readonly multiplier: number;
}

export interface AssetStore {
  /** Units that are already fixed. */
  all(chain: ChainSlug): Promise<AssetUnits[]>;
  /** Fixes units that are not fixed yet; later callers get the units fixed first. */
  fix(chain: ChainSlug, units: readonly AssetUnits[]): Promise<AssetUnits[]>;
}
