import type { Order, OrderReason, OrderAction, OrderFill } from './order.js';
import type { CancelReason } from './pricing/cancel-reason.js';

/** What happened to an order or a position, as the chain and we tell it. Amounts keep the contract's units; addresses are in lower case. */

type Hex = `0x${string}`;

/**
 * An order's place on chain: a market request by its pending index, a resting order by its trade slot, a level by its position's. The
 * first two are never given twice; a level passes from one order to the next, so an order that was made of it by bytes mined again is at
 * home in its transaction.
 */
export type OrderKey = `request:${number}` | `resting:${number}` | LevelKey | `${LevelKey}/${Hex}`;

/** The words of a fill history, and of the public tape. */
export const FILL_ACTIONS = ['open', 'close', 'increase', 'decrease', 'tp', 'sl', 'liquidation', 'leverage'] as const;
export type FillAction = (typeof FILL_ACTIONS)[number];
/** A withdrawal of profit is executed as an order is, but trades nothing. */
export type ExecutedAction = FillAction | 'withdraw';

/** Profit that left a position which stays open. One that ended without paying anything took nothing out. */
export const isWithdrawal = ({ action, collateral }: Pick<Executed, 'action' | 'collateral'>): boolean =>
  action === 'withdraw' && collateral > 0n;

export const isFillAction = (action: ExecutedAction): action is FillAction => action !== 'withdraw';

/** What a trade or an order to get one consists of. `long` is the side of the position. */
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
  /** null for what no log tells: the chain's clock, state found on first sight, or what happened with us. */
  readonly blockHash: Hex | null;
  readonly txHash: Hex | null;
  readonly logIndex: number | null;
  /** Epoch ms, of the block where there is one. */
  readonly at: number;
}

/** Of what happened with us and not on chain: before all blocks, and no reorganisation reaches it. */
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
  /** Position size that the order moves; 0 where only leverage or profit does. */
  readonly sizeCollateral: bigint;
  /** The same in the contract's tokens (1e18) where it is known already. */
  readonly sizeToken: bigint | null;
}

export interface Requested extends AboutOrder, Size {
  readonly kind: 'requested';
  readonly action: OrderAction;
  readonly terms: Terms;
  readonly slippageP: bigint;
  /** Of a request that was found waiting: the block it was made in. */
  readonly createdBlock?: bigint;
}

export interface Rested extends AboutOrder, Size {
  readonly kind: 'rested';
  readonly type: 'limit' | 'stop';
  readonly terms: Terms;
  readonly slippageP: bigint;
}

/** A resting order that gave way to another in the same transaction, and is the same order to its owner. */
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
  /** Of the trade that was executed, as it was requested or as it stood before it was closed. */
  readonly terms: Terms;
  readonly price: bigint;
  readonly oraclePrice: bigint;
  /** Collateral that came in or went out with the part that was traded. */
  readonly collateral: bigint;
  /** Signed; before fees, and after all of them. */
  readonly grossPnl: bigint;
  readonly netPnl: bigint;
  readonly fee: bigint;
  /** 1e8; null where the log does not say and nothing is sized by it. */
  readonly collateralPriceUsd: bigint | null;
  /** 1e8: the collateral's price when the trade was opened. Absent where it is not known, and in events that were stored before it was kept. */
  readonly entryPriceUsd?: bigint;
  /** The position afterwards; null = closed, or untouched by a withdrawal. */
  readonly after: TradeFigures | null;
}

export interface Refused extends AboutOrder {
  readonly kind: 'refused';
  readonly reason: CancelReason | 'OTHER';
  /** Absent in events that were stored before it was kept. */
  readonly figures?: RefusalFigures;
}

/** What the contract reckoned with when it refused; null where its logs do not say. */
export interface RefusalFigures {
  readonly oraclePrice: bigint | null;
  readonly executionPrice: bigint | null;
  /** Effective, after the change. */
  readonly leverage: bigint | null;
  /** After the change. */
  readonly liquidationPrice: bigint | null;
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
  /** The position it was done to, its slippage as of this log; absent where nobody knew it, and in events from before it was kept. */
  readonly held?: HeldTrade;
}

/** A position that was open before we began to look. */
export interface PositionFound extends AboutTrade {
  readonly kind: 'found';
  readonly trade: TradeFigures;
  readonly isOpen: boolean;
  readonly slippageP: bigint;
  readonly openedBlock: bigint;
  /** 1e8, as the contract kept it with the trade. Absent where it did not, and in events that were stored before it was read. */
  readonly entryPriceUsd?: bigint;
}

/** Of orders made here, before they are on chain. */
interface AboutOurs extends About {
  readonly orderKey: null;
  readonly tradeIndex: null;
}

/** Handed out for the first time, or afresh after it had expired. */
export interface Prepared extends AboutOurs {
  readonly kind: 'prepared' | 'renewed';
  readonly order: Order;
  readonly steps?: PreparationSteps;
}

/** Epoch ms of what comes before an order is handed out. */
export interface PreparationSteps {
  readonly validatedAt: number;
  /** The node has answered. */
  readonly simulatedAt: number;
}

/** A hash was reported for it. */
export interface Sent extends AboutOurs {
  readonly kind: 'sent';
  readonly hash: Hex;
}

export interface Lapsed extends AboutOurs {
  readonly kind: 'lapsed';
  readonly because: 'time' | 'owner';
}

/** Its transaction was mined and did nothing; the place names the block and the transaction. */
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
  | Withdrawn
  | TimedOut
  | PositionEdited
  | PositionFound
  | LevelEvent
  | OwnEvent;

/** Chain order; what no log tells comes before the logs of its block. */
export function comparePlaces(a: EventPlace, b: EventPlace): number {
  if (a.blockNumber !== b.blockNumber) return a.blockNumber < b.blockNumber ? -1 : 1;
  return (a.logIndex ?? -1) - (b.logIndex ?? -1);
}

/** Orders that are a level of a position, and what happens to them because something happened to it. */

/** What closes a position by itself: its take profit, its stop loss. */
export const LEVELS = ['tp', 'sl'] as const;
export type Level = (typeof LEVELS)[number];
export type LevelKey = `${Level}:${number}`;

export interface HeldTrade {
  readonly trade: TradeFigures;
  readonly slippageP: bigint;
}

/** What happens to an order because something happened to the position whose level it is; the log tells the position's part. */
interface AboutLevel extends AboutOrder {
  readonly orderKey: LevelKey;
  readonly tradeIndex: number;
  readonly level: Level;
}

/** It became the level of the position; or the level, or the position it will close, changed. `terms.openPrice` is the level. */
export interface Guarded extends AboutLevel, Size {
  readonly kind: 'guarded' | 'guardMoved';
  readonly terms: Terms;
  readonly slippageP: bigint;
}

/** The price reached it and the position was closed by it. */
export interface GuardHit extends AboutLevel {
  readonly kind: 'guardHit';
  readonly fill: OrderFill;
}

/** The position has another level now, none, or is closed. */
export interface GuardGone extends AboutLevel {
  readonly kind: 'guardGone';
  readonly because: 'replaced' | 'removed' | 'closed';
}

export type LevelEvent = Guarded | GuardHit | GuardGone;
