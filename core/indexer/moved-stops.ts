import type { ChainEvent } from '../domain/chain-event.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import type { StopMove, TradeRef } from '../ports/stores/tracking.js';

/**
 * When the collateral, the leverage or the size of a trade changes, the contract moves a stop loss that would be too far away. It stays the
 * same order, so its level follows the price. An edit sets another order's stop loss, and an opening sets the first one.
 */
export function stopMove(event: ChainEvent, before: PositionState | null, after: PositionState | null): StopMove[] {
  if (event.kind !== 'executed' || !before?.isOpen || !after?.isOpen) return [];
  const { trader, tradeIndex } = event;
  const [from, to] = [before.sl, after.sl];
  return from === to || from === 0n || to === 0n ? [] : [{ trader, tradeIndex, from, to }];
}

/** The moves of a trade's stop loss by those of its events that are in `by`, oldest first. */
export function stopMovesOf(events: readonly ChainEvent[], by: readonly ChainEvent[]): StopMove[] {
  const keys = new Set(by.map(keyOf));
  let position: PositionState | null = null;
  return events.flatMap((event) => {
    const before = position;
    position = foldPosition(before, event);
    return keys.has(keyOf(event)) ? stopMove(event, before, position) : [];
  });
}

const keyOf = ({ place: { blockHash, txHash, logIndex } }: ChainEvent): string => [blockHash, txHash, logIndex].join('/');

/** The moves back, where a reorganisation undid the newest events of the trade. */
export function movesBack(left: readonly ChainEvent[], undone: readonly ChainEvent[], { trader, tradeIndex }: TradeRef): StopMove[] {
  const own = undone.filter((event) => event.trader === trader && event.tradeIndex === tradeIndex);
  return stopMovesOf([...left, ...own], own)
    .map((move) => ({ ...move, from: move.to, to: move.from }))
    .reverse();
}
