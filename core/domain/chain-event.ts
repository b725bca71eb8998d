import type { Order, OrderReason, OrderAction, OrderFill, CancelReason } from './order.js';

/** Events of orders and positions, from chain logs or from the gateway. Amounts are in the contract's units; addresses are in lower case. */

type Hex = `0x${string}`;

/**
 * An order's key on chain: a market request by its pending index, a resting order by its trade slot, a TP/SL by its position's slot. The first two
 * are unique; a TP/SL key passes from one order to the next, so the first key of a repeated TP/SL order includes its transaction.
 */
export type OrderKey = `request:${number}` | `resting:${number}` | LevelKey | `${LevelKey}/${Hex}`;

/** Actions in the fill history and the public trades. */
export const FILL_ACTIONS = ['open', 'close', 'increase', 'decrease', 'tp', 'sl', 'liquidation', 'leverage'] as const;
export type FillAction = (typeof FILL_ACTIONS)[number];
/** A profit withdrawal is executed like an order, but trades nothing. */
export type ExecutedAction = FillAction | 'withdraw';

/** Profit withdrawn from a position that stays open; false for a withdrawal that paid nothing. */
export const isWithdrawal = ({ action, collateral }: Pick<Executed, 'action' | 'collateral'>): boolean =>
  action === 'withdraw' && collateral > 0n;

export const isFillAction = (action: ExecutedAction): action is FillAction => action !== 'withdraw';

/** The terms of a trade or of an order that opens one. `long` is the side of the position. */
export interface Terms {
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly long: boolean;
  readonly leverage: bigint;
  readonly collateralAmount: bigint;
  readonly openPrice: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
}

/** An open trade's figures. */
export interface TradeFigures extends Terms {
  readonly sizeToken: bigint;
  readonly isCounterTrade: boolean;
}

export interface EventPlace {
  readonly blockNumber: bigint;
  /** null for events without a log: timeouts, state read by a backfill, and the gateway's own events. */
  readonly blockHash: Hex | null;
  readonly txHash: Hex | null;
  readonly logIndex: number | null;
  /** Epoch ms, of the block where there is one. */
  readonly at: number;
}

/** Block number of the gateway's own events: before all blocks, so that no reorganisation reverts them. */
export const OFF_CHAIN = -1n;

export const placeOffChain = (at: number): EventPlace => ({ blockNumber: OFF_CHAIN, blockHash: null, txHash: null, logIndex: null, at });

interface About {
  readonly trader: Hex;
  readonly orderKey: OrderKey | null;
  readonly tradeIndex: number | null;
  readonly place: EventPlace;
}

export interface AboutOrder extends About {
  readonly orderKey: OrderKey;
}

interface AboutTrade extends About {
  readonly tradeIndex: number;
}

/** Collateral units throughout. */
export interface Size {
  /** Position size that the order changes; 0 where only leverage or profit changes. */
  readonly sizeCollateral: bigint;
  /** The same in the contract's tokens (1e18), if known. */
  readonly sizeToken: bigint | null;
}

export interface Requested extends AboutOrder, Size {
  readonly kind: 'requested';
  readonly action: OrderAction;
  readonly terms: Terms;
  readonly slippageP: bigint;
  /** For a pending request found by a backfill: the block of the request. */
  readonly createdBlock?: bigint;
}

export interface Rested extends AboutOrder, Size {
  readonly kind: 'rested';
  readonly type: 'limit' | 'stop';
  readonly terms: Terms;
  readonly slippageP: bigint;
}

/** A resting order cancelled and placed again in the same transaction; both are one order. */
export interface Replaced extends AboutOrder, Size {
  readonly kind: 'replaced';
  readonly formerKey: OrderKey;
  readonly type: 'limit' | 'stop';
  readonly terms: Terms;
  readonly slippageP: bigint;
}

export interface Amended extends AboutOrder {
  readonly kind: 'amended';
  readonly openPrice: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly slippageP: bigint;
}

export interface Executed extends AboutTrade, Size {
  readonly kind: 'executed';
  readonly action: ExecutedAction;
  /** Of the executed trade, as requested, or as it was before it was closed. */
  readonly terms: Terms;
  readonly price: bigint;
  readonly oraclePrice: bigint;
  /** Collateral added or removed with the traded part. */
  readonly collateral: bigint;
  /** Signed; before fees, and after all of them. */
  readonly grossPnl: bigint;
  readonly netPnl: bigint;
  readonly fee: bigint;
  /** 1e8; null where the log does not contain it and no size depends on it. */
  readonly collateralPriceUsd: bigint | null;
  /** 1e8: the collateral's price when the trade was opened. Absent where unknown, and in older stored events. */
  readonly entryPriceUsd?: bigint;
  /** The position afterwards; null = closed, or untouched by a withdrawal. */
  readonly after: TradeFigures | null;
}

export interface Refused extends AboutOrder {
  readonly kind: 'refused';
  readonly reason: CancelReason | 'OTHER';
  /** Absent in older stored events. */
  readonly figures?: RefusalFigures;
}

/** The figures the contract compared when it refused; null where its logs do not contain them. */
export interface RefusalFigures {
  readonly oraclePrice: bigint | null;
  readonly executionPrice: bigint | null;
  /** Effective, after the change. */
  readonly leverage: bigint | null;
  /** After the change. */
  readonly liquidationPrice: bigint | null;
}

/** What became of it is in a transaction whose logs this release cannot read. */
export interface Unexplained extends AboutOrder {
  readonly kind: 'unexplained';
}

/** The operator stated what became of an order that was unexplained; `place` is after all logs of its transaction. */
export interface Settled extends AboutOrder {
  readonly kind: 'settled';
  /** null: nothing was executed. */
  readonly fill: OrderFill | null;
  /** Epoch ms. */
  readonly settledAt: number;
}

export interface Withdrawn extends AboutOrder {
  readonly kind: 'withdrawn';
}

export interface TimedOut extends AboutOrder {
  readonly kind: 'timedOut';
}

export interface PositionEdited extends AboutTrade {
  readonly kind: 'edited';
  readonly field: Level | 'slippageP';
  readonly value: bigint;
  /** The edited position, with its slippage as of this log; absent where it was unknown, and in older stored events. */
  readonly held?: HeldTrade;
}

/** A position that was opened before the start block, or in a transaction that cannot be read. */
export interface PositionFound extends AboutTrade {
  readonly kind: 'found';
  readonly trade: TradeFigures;
  readonly isOpen: boolean;
  readonly slippageP: bigint;
  readonly openedBlock: bigint;
  /** Read after a transaction that cannot be read: it replaces what is known of the position. */
  readonly isReread?: true;
  /** The transaction since which it is not there, which cannot be read. Absent in older stored events. */
  readonly goneIn?: Hex;
  /** What the operator says of that transaction. */
  readonly ended?: SettledEnd;
  /** 1e8, as stored by the contract with the trade. Absent where it is not, and in older stored events. */
  readonly entryPriceUsd?: bigint;
}

/** The end of a position, as the operator states it. */
export interface SettledEnd {
  /** The trigger that closed it; null: something else did. */
  readonly by: Level | null;
  readonly fill: OrderFill | null;
  /** Epoch ms. */
  readonly settledAt: number;
}

/** Events of orders prepared by the gateway, before they are on chain. */
interface AboutOurs extends About {
  readonly orderKey: null;
  readonly tradeIndex: null;
}

/** Prepared for the first time, or again after it had expired. */
export interface Prepared extends AboutOurs {
  readonly kind: 'prepared' | 'renewed';
  readonly order: Order;
  readonly steps?: PreparationSteps;
}

/** Epoch ms of the steps before an order is returned. */
export interface PreparationSteps {
  readonly validatedAt: number;
  /** When the node had answered. */
  readonly simulatedAt: number;
}

/** A transaction hash was reported for the order. */
export interface Sent extends AboutOurs {
  readonly kind: 'sent';
  readonly hash: Hex;
}

export interface Lapsed extends AboutOurs {
  readonly kind: 'expired';
  readonly because: 'time' | 'owner';
}

/** Its transaction was mined and reverted; `place` has the block and the transaction. */
export interface Reverted extends AboutOurs {
  readonly kind: 'reverted';
  readonly reason: OrderReason;
}

export type OwnEvent = Prepared | Sent | Lapsed | Reverted;

export type ChainEvent =
  | Requested
  | Rested
  | Replaced
  | Amended
  | Executed
  | Refused
  | Unexplained
  | Settled
  | Withdrawn
  | TimedOut
  | PositionEdited
  | PositionFound
  | LevelEvent
  | OwnEvent;

/** Chain order; events without a log come before the logs of their block. */
export function comparePlaces(a: EventPlace, b: EventPlace): number {
  if (a.blockNumber !== b.blockNumber) return a.blockNumber < b.blockNumber ? -1 : 1;
  return (a.logIndex ?? -1) - (b.logIndex ?? -1);
}

/** TP/SL orders of a position, and their events, which are derived from the position's. */

/** The triggers of a position: take profit and stop loss. */
export const LEVELS = ['tp', 'sl'] as const;
export type Level = (typeof LEVELS)[number];
export type LevelKey = `${Level}:${number}`;

export interface HeldTrade {
  readonly trade: TradeFigures;
  readonly slippageP: bigint;
}

/** An event of a TP/SL order, derived from an event of its position; the log is the position's. */
interface AboutLevel extends AboutOrder {
  readonly orderKey: LevelKey;
  readonly tradeIndex: number;
  readonly level: Level;
}

/** The order became the position's TP/SL, or its trigger price or the position changed. `terms.openPrice` is the trigger price. */
export interface Guarded extends AboutLevel, Size {
  readonly kind: 'guarded' | 'guardMoved';
  readonly terms: Terms;
  readonly slippageP: bigint;
}

/** The price reached the trigger and the position was closed by it. */
export interface GuardHit extends AboutLevel {
  readonly kind: 'guardHit';
  readonly fill: OrderFill;
}

/** The TP/SL was replaced or removed, or the position is closed. */
export interface GuardGone extends AboutLevel {
  readonly kind: 'guardGone';
  readonly because: 'replaced' | 'removed' | 'closed';
}

/** The position is gone since a transaction that cannot be read: whether this order was executed is not known. */
export interface GuardUnexplained extends AboutLevel {
  readonly kind: 'guardUnexplained';
}

export type LevelEvent = Guarded | GuardHit | GuardGone | GuardUnexplained;
