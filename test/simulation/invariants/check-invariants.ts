import type { SimulationServer } from '../database-server.js';
import type { FaultState } from '../faults/inject-faults.js';
import type { Plan } from '../plan.js';
import type { Bots } from '../run.js';
import type { World } from '../world.js';

/** An invariant that does not hold, in words. */
export interface Violation {
  readonly invariant: string;
  readonly text: string;
}

export interface Evidence {
  readonly world: World;
  readonly bots: Bots;
  readonly plan: Plan;
  readonly faults: FaultState;
  readonly unhandled: readonly string[];
  readonly server: SimulationServer;
}

export async function checkInvariants({ unhandled }: Evidence): Promise<Violation[]> {
  await Promise.resolve();
  return unhandled.map((text) => ({ invariant: 'unhandled', text }));
}
