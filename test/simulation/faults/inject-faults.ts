import type { Random } from '../../fuzz/random.js';
import type { Plan } from '../plan.js';
import type { World } from '../world.js';

/** The faults of a run while it runs. */
export interface FaultState {
  /** Resolves when every fault has been taken back and every replica runs. */
  healed(): Promise<void>;
  /** Kinds that took effect. */
  applied(): readonly string[];
}

export function injectFaults(_world: World, _plan: Plan, _random: Random): FaultState {
  return { healed: () => Promise.resolve(), applied: () => [] };
}
