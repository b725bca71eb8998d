/** What can be wrong enough to call somebody. */
export const ALERT_KINDS = [
  'low-balance',
  'lane-jammed',
  'quota-reached',
  'budget-reached',
  'key-trouble',
  'rpc-trouble',
  'schedule-given-up',
  'unhandled-rejection',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];
export const ALERT_EVENTS = ['opened', 'repeated', 'recovered'] as const;
export const DELIVERY_STATES = ['pending', 'delivered', 'dead'] as const;

/** Of one kind about one subject on one chain, only one can be open. */
export interface AlertName {
  readonly kind: AlertKind;
  /** A chain's slug; `all` for what belongs to no chain. */
  readonly chain: string;
  /** A wallet, a trader, or a word. */
  readonly subject: string;
}

export interface AlertFacts extends AlertName {
  readonly message: string;
  /** JSON; nothing in it may be secret. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Epoch ms at which it is over by itself; null = when somebody says so. */
  readonly expiresAt: number | null;
}

export interface Alert extends AlertFacts {
  readonly id: bigint;
  readonly openedAt: number;
  readonly recoveredAt: number | null;
}

export interface AlertDelivery {
  readonly id: bigint;
  /** The same for every attempt, so that a receiver knows what it has already. */
  readonly eventId: string;
  readonly alertId: bigint;
  readonly event: (typeof ALERT_EVENTS)[number];
  /** The very bytes that are sent and signed. */
  readonly body: string;
  readonly state: (typeof DELIVERY_STATES)[number];
  readonly attempts: number;
  readonly createdAt: number;
  /** When it is tried next. */
  readonly dueAt: number;
  readonly lastError: string | null;
  readonly deliveredAt: number | null;
}

export interface Telling {
  readonly at: number;
  /** False: it is stored and shown, nobody is called. */
  readonly tells: boolean;
}

/** Alerts of all replicas. What is told is stored in the statement that stores what it is about. */
export interface AlertStore {
  /** Opens it, or refreshes the open one; one that is open for longer than `repeatMs` is told again, null = never. */
  raise(facts: AlertFacts, telling: Telling & { readonly repeatMs: number | null }): Promise<void>;
  /** False when it was not open. */
  recover(name: AlertName, telling: Telling & { readonly message: string }): Promise<boolean>;
  open(): Promise<Alert[]>;
  /** Newest first. */
  recovered(limit: number): Promise<Alert[]>;
  /** Whether this holder is the one that looks after things until then; it has to ask again before. */
  lead(holder: string, at: number, until: number): Promise<boolean>;
  /** What is due, taken so that nobody else sends it before `until`; of one alert in order. A taker that dies gives it back by that. */
  claim(at: number, until: number, limit: number): Promise<AlertDelivery[]>;
  delivered(id: bigint, at: number): Promise<void>;
  /** `dueAt` null: it is given up. */
  failed(id: bigint, error: string, dueAt: number | null): Promise<void>;
  /** At most so many of either state, newest first. */
  undelivered(limit: number): Promise<AlertDelivery[]>;
  /** Begins again with one that was given up; null when there is no such one. */
  retry(id: bigint, at: number): Promise<AlertDelivery | null>;
}
