import type { ChainSlug } from '../../chains/chains.js';

/** The hourly rate longs pay, as of the start of the hour. */
export interface FundingHour {
  readonly pairIndex: number;
  /** Epoch ms at which the hour began. */
  readonly time: number;
  /** 1e20 of one: 1e18 percent. */
  readonly rate: bigint;
  /** 1e10 of one: how far the mark was above the oracle price. */
  readonly premium: bigint;
}

export interface FundingStore {
  /** The first record of an hour wins. */
  record(chain: ChainSlug, hours: readonly FundingHour[]): Promise<void>;
  /** Oldest first, both ends included. */
  between(chain: ChainSlug, pairIndex: number, from: number, to: number, limit: number): Promise<FundingHour[]>;
}
