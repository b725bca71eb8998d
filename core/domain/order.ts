/** Reasons that are published to clients by name. */
export const NAMED_REASONS = [
  'NONE',
  'PAUSED',
  'MARKET_CLOSED',
  'SLIPPAGE',
  'TP_REACHED',
  'SL_REACHED',
  'EXPOSURE_LIMITS',
  'PRICE_IMPACT',
  'MAX_LEVERAGE',
  'NO_TRADE',
  'WRONG_TRADE',
  'NOT_HIT',
  'LIQ_REACHED',
] as const;

/** In the order of the contract's enum; a higher number is a future reason. */
export const CANCEL_REASONS = [...NAMED_REASONS, 'COUNTER_TRADE_CANCELED'] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

/** Rules are evaluated in the contract's order and lazily, because a later one may be valid only if the earlier ones hold. */
export function firstReason(rules: readonly (readonly [CancelReason, () => boolean])[]): CancelReason {
  return rules.find(([, applies]) => applies())?.[0] ?? 'NONE';
}

export const ORDER_ACTIONS = ['open', 'close', 'increase', 'decrease', 'leverage', 'withdraw'] as const;
export type OrderAction = (typeof ORDER_ACTIONS)[number];

/** Orders of the other actions add to a position or keep its size. */
export const reduces = (action: OrderAction): boolean => action === 'close' || action === 'decrease';

type Hex = `0x${string}`;

export const ORDER_STATUSES = ['prepared', 'pending', 'open', 'filled', 'rejected', 'timed_out', 'canceled', 'expired'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

export const ORDER_TYPES = ['market', 'limit', 'stop'] as const;
export type OrderType = (typeof ORDER_TYPES)[number];

export const ORDER_REASONS = [...NAMED_REASONS, 'OTHER'] as const;
export type OrderReason = (typeof ORDER_REASONS)[number];

/** In contract units, as in the events. */
export interface OrderFill {
  readonly price: bigint;
  readonly sizeToken: bigint;
  /** 1e8; null where no size depends on it. */
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
  /** Side of the order: a close has the opposite side of its position. */
  readonly long: boolean;
  readonly reduceOnly: boolean;
  readonly leverage: bigint;
  readonly collateralAmount: bigint;
  readonly sizeCollateral: bigint;
  readonly sizeToken: bigint | null;
  /** Requested base units (1e18) of an order prepared here, and the resulting size; invalid once the size changes. */
  readonly asked?: { readonly sizeBase: bigint; readonly sizeCollateral: bigint };
  /** Trigger price, or the expected price of a market order; 0 = not given. */
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
  /** Block of the request, from which the oracle's timeout counts; null before it is on chain. */
  readonly requestedBlock: bigint | null;
  /** The transaction that closed its request, while this release cannot read what it did: then no timeout counts. */
  readonly unexplained?: Hex;
}

/** The order can still change without a new transaction of its owner, or its owner can still cancel or reclaim it. */
export const isLive = ({ status }: Pick<Order, 'status'>): boolean =>
  status === 'prepared' || status === 'pending' || status === 'open' || status === 'timed_out';

/** Whether its notional counts against the agent's daily cap: expired, cancelled and rejected orders do not. */
export const holdsSpending = ({ status }: Pick<Order, 'status'>): boolean =>
  status !== 'expired' && status !== 'canceled' && status !== 'rejected';

/** Neither waiting to be sent nor for the oracle: final, or waiting for a trigger that may take days. */
export const isSettled = (status: OrderStatus): boolean => status !== 'prepared' && status !== 'pending';

/** What an order begins with: nothing of it has happened on chain. */
export const newlyPrepared = (at: number, expiresAt: number | null) =>
  ({
    status: 'prepared',
    txHash: null,
    expiresAt,
    fill: null,
    reason: null,
    createdAt: at,
    updatedAt: at,
    requestedBlock: null,
  }) as const satisfies Partial<Order>;
