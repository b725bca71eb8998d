import type { ExchangeOrder } from '../../core/domain/relay/exchange-order.js';
import { levelRoom } from '../../core/domain/relay/level-room.js';
import { MAX_SLIPPAGE_P } from '../../core/domain/relay/price-bound.js';

export interface AttachedLevels {
  /** 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  /** Closing slippage of both, 1e3 percent, as the contract has one value for both; 0 = none. */
  readonly roomP: bigint;
}

/** The first take profit and the first stop loss among the children of a parent order. */
export function attachedLevels(children: readonly ExchangeOrder[]): AttachedLevels {
  const first = (tpsl: 'tp' | 'sl') => children.find(({ style }) => style.kind === 'trigger' && style.tpsl === tpsl);
  const [tp, sl] = [first('tp'), first('sl')];
  const rooms = [tp, sl].map((level) => (level === undefined ? 0n : levelRoom(level, MAX_SLIPPAGE_P)));
  return { tp: triggerOf(tp), sl: triggerOf(sl), roomP: rooms.reduce((most, room) => (room > most ? room : most), 0n) };
}

const triggerOf = (level: ExchangeOrder | undefined): bigint => (level?.style.kind === 'trigger' ? level.style.trigger : 0n);
