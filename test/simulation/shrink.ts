import type { Violation } from './invariants/evidence.js';
import { cutPlan, type Cutting, type Plan } from './plan.js';

/** Runs a plan and returns the invariants that do not hold. */
export type Judge = (plan: Plan) => Promise<readonly Violation[]>;

const MOST_TRIES = 40;

/** The fewest faults, then the fewest actions, with which one of the same invariants is still violated. */
export async function shrink({ seed, options, ...whole }: Plan, found: readonly Violation[], judge: Judge): Promise<Cutting> {
  const names = new Set(found.map(({ invariant }) => invariant));
  let tries = 0;
  const stillFails = async (cutting: Cutting): Promise<boolean> => {
    tries += 1;
    return (await judge(cutPlan(cutting))).some(({ invariant }) => names.has(invariant));
  };
  let kept = { ...options, seed, faults: whole.faults.map((_, at) => at), actions: whole.actions.map((_, at) => at) };
  for (const part of ['faults', 'actions'] as const)
    for (let size = Math.max(1, Math.floor(kept[part].length / 2)); size >= 1; size = Math.floor(size / 2))
      for (let at = 0; at < kept[part].length && tries < MOST_TRIES;) {
        const without = { ...kept, [part]: [...kept[part].slice(0, at), ...kept[part].slice(at + size)] };
        if (await stillFails(without)) kept = without;
        else at += size;
      }
  return kept;
}

/** A row for `found-plans.ts`. */
export const asRow = (cutting: Cutting, because: string): string =>
  `{ ${Object.entries({ because, ...cutting })
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(', ')} },`;
