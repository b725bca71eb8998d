import type { HistogramCounts } from '../../observability/metrics.js';
import type { RelayState } from './relay.js';

/** Connections of this process to the database. */
export interface PoolFigures {
  readonly used: number;
  readonly idle: number;
  readonly opening: number;
  readonly most: number;
  /** Callers that wait for a connection now. */
  readonly waiting: number;
  /** Past waiting times. */
  readonly waitSeconds: HistogramCounts;
}

export interface LaneFigures {
  readonly chain: string;
  readonly wallet: string;
  readonly nextNonce: number | null;
  readonly isBlocked: boolean;
  /** Jobs that are not final. */
  readonly open: readonly { readonly state: RelayState; readonly count: number }[];
  /** Epoch ms; null when there is none. */
  readonly oldestOpenAt: number | null;
}

export interface JournalDepth {
  readonly chain: string;
  readonly count: number;
}

/** Counts from the database. None of them scans finished rows, and each is one statement for all chains. */
export interface MetricsStore {
  /** Orders that are not final, by status. */
  liveOrders(): Promise<readonly { readonly chain: string; readonly status: string; readonly count: number }[]>;
  openAlerts(): Promise<readonly { readonly chain: string; readonly kind: string; readonly count: number }[]>;
  undelivered(): Promise<readonly { readonly state: string; readonly count: number }[]>;
  /** All journal entries by chain, summed from the accounts' cursors. */
  journalEntries(): Promise<readonly JournalDepth[]>;
  /** Of wallets that ever had a job or a lane problem. */
  lanes(): Promise<readonly LaneFigures[]>;
  /** Reads memory only. */
  pool(): Promise<PoolFigures>;
}
