import { systemClock } from '../../../core/adapters/system/clock.js';
import type { Clock } from '../../../core/ports/clock.js';

export interface ShiftedClock extends Clock {
  /** From now on it is this much later, without a timer having noticed. */
  move(ms: number): void;
}

/** The time of the machine, plus what a test says. */
export function createShiftedClock(): ShiftedClock {
  let offset = 0;
  return { ...systemClock, now: () => systemClock.now() + offset, move: (ms) => void (offset += ms) };
}
