import { NAMED_REASONS } from './pricing/cancel-reason.js';

export const ORDER_ACTIONS = ['open', 'close', 'increase', 'decrease', 'leverage', 'withdraw'] as const;
export type OrderAction = (typeof ORDER_ACTIONS)[number];

type Hex = `0x${string}`;

export const ORDER_STATUSES = ['prepared', 'pending', 'open', 'filled', 'rejected', 'timed_out', 'canceled', 'expired'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

export const ORDER_TYPES = ['market', 'limit', 'stop'] as const;
export type OrderType = (typeof ORDER_TYPES)[number];

export const ORDER_REASONS = [...NAMED_REASONS, 'OTHER'] as const;
export type OrderReason = (typeof ORDER_REASONS)[number];

/** Contract units, as the events say. */
export interface OrderFill {
  readonly price: bigint;
  readonly sizeToken: bigint;
  /** 1e8; null where nothing was sized by it. */
  readonly collateralPriceUsd: bigint | null;
  readonly collateral: bigint;
  readonly fee: bigint;
  readonly txHash: Hex | null;
  readonly at: number;
  readonly tradeIndex: number;
}

/** An order in the contract's units. `status` is written by `order-machine.ts` alone. */
export interface Order {
  readonly trader: Hex;
  readonly action: OrderAction;
  readonly type: OrderType;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  /** Of the order: a close has the opposite side of its position. */
  readonly long: boolean;
  readonly reduceOnly: boolean;
  readonly leverage: bigint;
  readonly collateralAmount: bigint;
  readonly sizeCollateral: bigint;
  readonly sizeToken: bigint | null;
  /** Base units (1e18) asked for when it was made here, and the size they came to; once the size changes, they say nothing any more. */
  readonly asked?: { readonly sizeBase: bigint; readonly sizeCollateral: bigint };
  /** Trigger price, or the price a market order expects; 0 = not given. */
  readonly price: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly slippageP: bigint;
  /** The trade it changes, null when it opens one. */
  readonly tradeIndex: number | null;
  readonly clientId: string | null;
  readonly status: OrderStatus;
  readonly txHash: Hex | null;
  readonly expiresAt: number | null;
  readonly fill: OrderFill | null;
  readonly reason: OrderReason | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Block of the request, from which the oracle's time runs; null before it is on chain. */
  readonly requestedBlock: bigint | null;
}

/** Something can still happen to it without a new transaction of its owner, or its owner can still take it back. */
export const isLive = ({ status }: Pick<Order, 'status'>): boolean =>
  status === 'prepared' || status === 'pending' || status === 'open' || status === 'timed_out';

/** Its notional counts against the agent's day: what was given up, taken back or refused does not. */
export const holdsSpending = ({ status }: Pick<Order, 'status'>): boolean =>
  status !== 'expired' && status !== 'canceled' && status !== 'rejected';
