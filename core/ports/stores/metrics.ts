import type { HistogramCounts } from '../../observability/histogram.js';
import type { RelayState } from './relay.js';

/** Connections of this process to the database. */
export interface PoolFigures {
  readonly used: number;
  readonly idle: number;
  readonly opening: number;
  readonly most: number;
  /** Who waits for a connection now. */
  readonly waiting: number;
  /** How long those waited that have one. */
  readonly waitSeconds: HistogramCounts;
}

export interface LaneFigures {
  readonly chain: string;
  readonly wallet: string;
  readonly nextNonce: number | null;
  readonly isFenced: boolean;
  /** Jobs that are not over. */
  readonly open: readonly { readonly state: RelayState; readonly count: number }[];
  /** Epoch ms; null when there is none. */
  readonly oldestOpenAt: number | null;
}

export interface JournalDepth {
  readonly chain: string;
  readonly count: number;
}

/** Counts that only the database knows. None of them reads what is over, and each is one statement whatever the number of chains. */
export interface MetricsStore {
  /** Orders that are not over, by status. */
  liveOrders(): Promise<readonly { readonly chain: string; readonly status: string; readonly count: number }[]>;
  openAlerts(): Promise<readonly { readonly chain: string; readonly kind: string; readonly count: number }[]>;
  undelivered(): Promise<readonly { readonly state: string; readonly count: number }[]>;
  /** Everything ever told, by chain: the accounts have counted it, and are what is read. */
  journalEntries(): Promise<readonly JournalDepth[]>;
  /** Of wallets that ever had a job or a fence. */
  lanes(): Promise<readonly LaneFigures[]>;
  /** Asks nobody. */
  pool(): Promise<PoolFigures>;
}
