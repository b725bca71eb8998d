import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/** What a trader last chose for a market, to be used by the next opening. */
export interface LeverageSetting {
  readonly leverage: number;
  readonly isCross: boolean;
}

export interface LeverageStore {
  /** By pair index; traders in lower case. */
  of(chain: ChainSlug, trader: Address): Promise<ReadonlyMap<number, LeverageSetting>>;
  set(chain: ChainSlug, trader: Address, pairIndex: number, setting: LeverageSetting): Promise<void>;
}
