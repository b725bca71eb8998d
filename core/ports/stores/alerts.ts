import type { HistogramCounts } from '../../observability/metrics.js';
import type { RelayState } from './relay.js';

/** Conditions that alert the operator. */
export const ALERT_KINDS = [
  'low-balance',
  'lane-jammed',
  'quota-reached',
  'budget-reached',
  'key-trouble',
  'forged-job',
  'foreign-transactions',
  'commits-lost',
  'unexplained-nonces',
  'rpc-trouble',
  'contract-changed',
  'index-jammed',
  'schedule-given-up',
  'unhandled-rejection',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];
export const ALERT_EVENTS = ['opened', 'repeated', 'recovered'] as const;
export const DELIVERY_STATES = ['pending', 'delivered', 'dead'] as const;

/** At most one alert per kind, chain and subject is open. */
export interface AlertName {
  readonly kind: AlertKind;
  /** A chain's slug; `all` for alerts without a chain. */
  readonly chain: string;
  /** A wallet, a trader, or a fixed name. */
  readonly subject: string;
}

export interface AlertFacts extends AlertName {
  readonly message: string;
  /** JSON; nothing in it may be secret. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Epoch ms at which it ends by itself; null = only by `recover`. */
  readonly expiresAt: number | null;
}

export interface Alert extends AlertFacts {
  readonly id: bigint;
  readonly openedAt: number;
  readonly recoveredAt: number | null;
}

export interface AlertDelivery {
  readonly id: bigint;
  /** The same for every attempt, so that a receiver can deduplicate. */
  readonly eventId: string;
  readonly alertId: bigint;
  readonly event: (typeof ALERT_EVENTS)[number];
  /** The exact bytes that are sent and signed. */
  readonly body: string;
  readonly state: (typeof DELIVERY_STATES)[number];
  readonly attempts: number;
  readonly createdAt: number;
  /** When it is tried next. */
  readonly dueAt: number;
  readonly lastError: string | null;
  readonly deliveredAt: number | null;
}

export interface AlertSending {
  readonly at: number;
  /** False: the alert is stored and shown, but not sent to the webhook. */
  readonly isSent: boolean;
}

/** Alerts of all replicas. An alert and its delivery are stored in one statement. */
export interface AlertStore {
  /** Opens or refreshes the alert; an alert last sent more than `repeatMs` ago is sent again, null = never. */
  raise(facts: AlertFacts, sending: AlertSending & { readonly repeatMs: number | null }): Promise<void>;
  /** False when it was not open. */
  recover(name: AlertName, sending: AlertSending & { readonly message: string }): Promise<boolean>;
  open(): Promise<Alert[]>;
  /** Newest first. */
  recovered(limit: number): Promise<Alert[]>;
  /** Makes this holder the leader until then, which it must renew before, and returns the open alerts; null while another leads. */
  lead(holder: string, at: number, until: number): Promise<Alert[] | null>;
  /** Claims due deliveries until `until`, per alert in order. Deliveries of a replica that died become due again at `until`. */
  claim(at: number, until: number, limit: number): Promise<AlertDelivery[]>;
  delivered(id: bigint, at: number): Promise<void>;
  /** `dueAt` null: no further attempt. */
  failed(id: bigint, error: string, dueAt: number | null): Promise<void>;
  /** At most `limit` of either state, newest first. */
  undelivered(limit: number): Promise<AlertDelivery[]>;
  /** Newest first. */
  lastDelivered(limit: number): Promise<AlertDelivery[]>;
  /** Retries a dead delivery; null when there is none with this id. */
  retry(id: bigint, at: number): Promise<AlertDelivery | null>;
}

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
