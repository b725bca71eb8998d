import type { ChainSlug } from '../../chains/chains.js';

/** What longs pay per hour, as it was when the hour began. */
export interface FundingHour {
  readonly pairIndex: number;
  /** Epoch ms at which the hour began. */
  readonly time: number;
  /** 1e20 of one: 1e18 percent. */
  readonly rate: bigint;
  /** 1e10 of one: how far the mark stood above the oracle's price. */
  readonly premium: bigint;
}

export interface FundingStore {
  /** What was recorded first stands. */
  record(chain: ChainSlug, hours: readonly FundingHour[]): Promise<void>;
  /** Oldest first, both ends included. */
  between(chain: ChainSlug, pairIndex: number, from: number, to: number, limit: number): Promise<FundingHour[]>;
}
