import type { Gateway } from '../../../core/gateway.js';
import type { FaultState } from '../faults/inject-faults.js';
import type { Plan } from '../plan.js';
import type { Bots } from '../run.js';
import type { World } from '../world.js';
import type { JournalWatch } from './journal-watch.js';

/** An invariant that does not hold, in words. */
export interface Violation {
  readonly invariant: string;
  readonly text: string;
}

/** What a finished run leaves to be judged. */
export interface Evidence {
  readonly world: World;
  readonly bots: Bots;
  readonly plan: Plan;
  readonly faults: FaultState;
  readonly unhandled: readonly string[];
  readonly journal: JournalWatch;
}

/** Returns a sentence for each thing that does not hold. */
export type Invariant = (evidence: Evidence) => Promise<readonly string[]> | readonly string[];

/** Some blocks of the run are no longer on the chain. */
export const hasTakenBlocksBack = (faults: FaultState): boolean =>
  faults.applied().some((kind) => kind === 'reorganisation' || kind === 'branch-changes');

/**
 * Whether the blocks of what a client has asked for at this time were never taken back. Those that were are made again, or not: what was
 * answered about them before is not final.
 */
export const isFinal = (faults: FaultState, askedAt: number): boolean => askedAt > faults.lastTakenBackAt();

export function livingGateway({ replicas }: World): Gateway {
  for (const replica of replicas.values()) {
    const gateway = replica.gateway();
    if (replica.isAlive() && gateway !== null) return gateway;
  }
  throw new Error('no replica runs');
}

export const SLUG = 'arbitrum-sepolia';

/** As text, for a violation. */
export const show = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? String(each) : each instanceof Map ? [...each] : each));
