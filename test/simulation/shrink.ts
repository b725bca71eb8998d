import type { Violation } from './invariants/evidence.js';
import { cutPlan, type Cutting, type Plan } from './plan.js';

/** Runs a plan and returns the invariants that do not hold. */
export type Judge = (plan: Plan) => Promise<readonly Violation[]>;

const MOST_TRIES = 40;

/** The fewest faults, then the fewest actions, with which one of the same invariants is still violated. */
export async function shrink(seed: number, found: readonly Violation[], judge: Judge): Promise<Cutting> {
  const names = new Set(found.map(({ invariant }) => invariant));
  let tries = 0;
  const stillFails = async (cutting: Cutting): Promise<boolean> => {
    tries += 1;
    return (await judge(cutPlan(cutting))).some(({ invariant }) => names.has(invariant));
  };
  const whole = cutPlan({ seed });
  let kept: Required<Cutting> = { seed, faults: whole.faults.map((_, at) => at), actions: whole.actions.map((_, at) => at) };
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
export const asRow = ({ seed, faults, actions }: Cutting, because: string): string =>
  `{ because: ${JSON.stringify(because)}, seed: ${seed}, faults: ${JSON.stringify(faults)}, actions: ${JSON.stringify(actions)} },`;
