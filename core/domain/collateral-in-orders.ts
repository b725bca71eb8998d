import type { PendingOrderStruct, TradeStruct } from './diamond-log.js';
import { PENDING_TYPE } from './interpret-executions.js';

type Target = Pick<TradeStruct, 'index' | 'collateralIndex' | 'leverage'>;

/** What a trader's orders are at one block, as the contract's views answer. */
export interface HeldOrders {
  /** Limit and stop orders. */
  readonly resting: readonly Pick<TradeStruct, 'collateralIndex' | 'collateralAmount'>[];
  /** Requests that were neither executed nor taken back, however old they are. */
  readonly pending: readonly Pick<PendingOrderStruct, 'orderType' | 'trade'>[];
  /** The trades that requests change, closed ones included: such a request names neither its market nor its collateral. */
  readonly targets: readonly Target[];
}

/**
 * Collateral that the contract took for these orders and gives back unless they are executed, in token units by collateral index. It has
 * left the wallet and is in no position. The rules are those of `cancelOrderAfterTimeout`: closings and withdrawals of profit took nothing.
 */
export function collateralInOrders({ resting, pending, targets }: HeldOrders): ReadonlyMap<number, bigint> {
  const held = new Map<number, bigint>();
  const add = (collateralIndex: number, amount: bigint): void => {
    if (amount > 0n) held.set(collateralIndex, (held.get(collateralIndex) ?? 0n) + amount);
  };
  for (const { collateralIndex, collateralAmount } of resting) add(collateralIndex, collateralAmount);
  for (const { orderType, trade } of pending) {
    if (orderType === PENDING_TYPE.marketOpen) add(trade.collateralIndex, trade.collateralAmount);
    const target = changesTrade(orderType) ? targets.find(({ index }) => index === trade.index) : undefined;
    if (target && tookCollateral(orderType, trade, target)) add(target.collateralIndex, trade.collateralAmount);
  }
  return held;
}

/** Whether a request may have taken collateral for a trade that exists. */
export const changesTrade = (orderType: number): boolean => orderType === PENDING_TYPE.partialOpen || orderType === PENDING_TYPE.leverage;

/** A higher leverage pays out when it is executed; a lower one adds the same field's amount to the trade. */
const tookCollateral = (orderType: number, asked: TradeStruct, target: Target): boolean =>
  orderType === PENDING_TYPE.partialOpen || asked.leverage < target.leverage;
