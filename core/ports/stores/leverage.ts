import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/** A trader's leverage setting for the next opening in a market. */
export interface LeverageSetting {
  readonly leverage: number;
  readonly isCross: boolean;
}

export interface LeverageStore {
  /** By pair index; traders in lower case. */
  of(chain: ChainSlug, trader: Address): Promise<ReadonlyMap<number, LeverageSetting>>;
  set(chain: ChainSlug, trader: Address, pairIndex: number, setting: LeverageSetting): Promise<void>;
}
