import { floorToLot } from '../../core/domain/decimal.js';

/** One execution of a trader, with the net position (base units, 1e18) before and after it. */
export interface Execution {
  readonly before: bigint;
  readonly after: bigint;
  /** Base units of one lot of its market. */
  readonly lot: bigint;
  /** The block's second, epoch ms. */
  readonly at: number;
  /** The executed order of the client; null without a requested size, so that nothing can exceed it. */
  readonly order: { readonly key: string; readonly size: bigint } | null;
}

/** A fill as shown to clients. */
export interface ShownPart {
  /** Base units, never 0, whole lots. */
  readonly size: bigint;
  /** The shown position before it, signed. */
  readonly start: bigint;
  /** Executed beyond the size of its order: shown as a fill of a separate order. */
  readonly isExcess: boolean;
  /** Epoch ms, in the order of the chain. */
  readonly time: number;
}

const LAST_OF_SECOND = 999;

/**
 * The time of a part of an execution: the block's second, and a millisecond for each part that an earlier execution of the trader in that
 * second can have, which are two. It depends on nothing else, so every list shows a fill at the same time.
 */
export const timeOfPart = (at: number, earlierExecutions: number, nth: number): number =>
  at + Math.min(2 * earlierExecutions + nth, LAST_OF_SECOND);

/**
 * What clients see of a trader's executions, given in the order of the chain. A fill is the difference of two shown positions: fills add
 * up to the position whatever the contract's digits are. The fills of an order come to no more than it asked for. An execution that the
 * lot hides is no fill.
 */
export function showExecutions(executions: readonly Execution[]): ShownPart[][] {
  const filled = new Map<string, bigint>();
  const executedAt = new Map<number, number>();
  return executions.map(({ before, after, lot, at, order }) => {
    const earlier = executedAt.get(at) ?? 0;
    executedAt.set(at, earlier + 1);
    const [from, to] = [floorToLot(before, lot), floorToLot(after, lot)];
    const moved = to - from;
    const size = moved < 0n ? -moved : moved;
    const left = order === null ? size : largest(order.size - (filled.get(order.key) ?? 0n), 0n);
    const own = size < left ? size : left;
    if (order !== null) filled.set(order.key, (filled.get(order.key) ?? 0n) + own);
    const signed = moved < 0n ? -own : own;
    const parts = [
      { size: own, start: from, isExcess: false },
      { size: size - own, start: from + signed, isExcess: true },
    ];
    return parts.filter((part) => part.size > 0n).map((part, nth) => ({ ...part, time: timeOfPart(at, earlier, nth) }));
  });
}

const largest = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Ids of orders, positions and events are below this; executions beyond an order have ids from here on. */
const FIRST_EXCESS_ID = 2n ** 52n;

export const excessId = (id: bigint): bigint => FIRST_EXCESS_ID + id;

/** The fill behind an excess order's id; null for every other id. */
export const fillOfExcess = (id: bigint): bigint | null => (id > FIRST_EXCESS_ID ? id - FIRST_EXCESS_ID : null);
