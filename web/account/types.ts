/** What the native API says of an account; amounts are decimal strings. */

export interface Balance {
  readonly collateral: string;
  readonly balance: string;
  readonly allowance: string;
  readonly inOrders: string;
}

export interface Account {
  readonly address: string;
  readonly balances: readonly Balance[];
  readonly feeTierMultiplier: string | null;
}

export interface Position {
  readonly id: string;
  readonly market: string;
  readonly side: 'long' | 'short';
  readonly size: string;
  readonly collateral: string;
  readonly collateralSymbol: string;
  readonly leverage: string;
  readonly entryPrice: string;
  readonly markPrice: string;
  readonly markSource: 'live' | 'last' | 'entry';
  readonly liquidationPrice: string;
  readonly unrealizedPnl: string;
  readonly unrealizedPnlPercent: string;
  readonly fundingFee: string;
  readonly borrowingFee: string;
  readonly sl: string;
  readonly tp: string;
}

export type OrderStatus = 'prepared' | 'pending' | 'open' | 'filled' | 'rejected' | 'timed_out' | 'canceled' | 'expired';

export interface Order {
  readonly id: string;
  readonly market: string;
  readonly side: 'long' | 'short';
  readonly type: 'market' | 'limit' | 'stop';
  readonly size: string;
  readonly price: string | null;
  readonly leverage: string;
  readonly collateral: string;
  readonly reduceOnly: boolean;
  readonly status: OrderStatus;
  readonly fill: { readonly price: string } | null;
  readonly reason: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Fill {
  readonly id: number;
  readonly market: string | null;
  readonly action: string;
  readonly side: 'long' | 'short';
  readonly price: string;
  readonly size: string;
  readonly leverage: string;
  readonly pnl: string;
  readonly timestamp: number;
  readonly txHash: string;
}

export const EVENT_KINDS = ['order', 'fill', 'position', 'withdrawal', 'agent', 'correction'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

export interface JournalEvent {
  readonly cursor: number;
  readonly kind: EventKind;
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface TimelineStep {
  readonly step: string;
  readonly at: number;
  /** When the gateway saw it. */
  readonly seenAt: number | null;
  readonly sincePreviousMs: number;
  readonly sinceStartMs: number;
  readonly block: number | null;
  readonly txHash: string | null;
  /** What happened, where the name of the step does not say it. */
  readonly note: string | null;
  readonly isTakenBack: boolean;
}

export interface Refusal {
  readonly reason: string;
  readonly quantity: string | null;
  readonly actual: string | null;
  readonly bound: string | null;
  readonly oraclePrice: string | null;
  readonly isEstimate: boolean;
}

export interface OrderTimeline {
  readonly id: string;
  readonly status: OrderStatus | null;
  readonly steps: readonly TimelineStep[];
  readonly refusal: Refusal | null;
  readonly repeats: readonly string[];
  readonly repeatOf: string | null;
}

/** Digits of a market's prices and sizes. */
export interface MarketDigits {
  readonly symbol: string;
  readonly pricePrecision: number;
  readonly sizePrecision: number;
}

export interface Page<Row> {
  readonly data: readonly Row[];
  readonly nextCursor: string | null;
}
