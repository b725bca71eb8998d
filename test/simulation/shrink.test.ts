import type { Violation } from './invariants/evidence.js';
import { cutPlan, drawPlan, type Plan } from './plan.js';
import { asRow, shrink } from './shrink.js';

const OPTIONS = { replicas: 2, runMs: 20_000 } as const;
const FOUND: readonly Violation[] = [{ invariant: 'a rule', text: 'does not hold' }];

/** A seed whose plan has several faults and actions. */
const plan = drawPlan(3, OPTIONS);
const fault = plan.faults.at(-1);
const action = plan.actions.at(7);

const failsWith =
  (isMet: (plan: Plan) => boolean) =>
  (candidate: Plan): Promise<readonly Violation[]> =>
    Promise.resolve(isMet(candidate) ? FOUND : []);

const needsBoth = failsWith(
  ({ faults, actions }) =>
    faults.some((each) => JSON.stringify(each) === JSON.stringify(fault)) &&
    actions.some((each) => JSON.stringify(each) === JSON.stringify(action)),
);

it('cuts a plan to the one fault and the one action that are needed', async () => {
  expect(plan.faults.length).toBeGreaterThan(1);
  const cut = cutPlan(await shrink(plan, FOUND, needsBoth));
  expect(cut.faults).toEqual([fault]);
  expect(cut.actions).toEqual([action]);
});

it('cuts the plan that failed, with the length and the replicas it was drawn with', async () => {
  const cut = cutPlan(await shrink(plan, FOUND, needsBoth));
  expect(cut).toMatchObject({ seed: plan.seed, replicas: OPTIONS.replicas, busyMs: plan.busyMs, options: OPTIONS });
});

it('keeps the whole plan if every smaller one holds', async () => {
  const needsAll = failsWith(({ faults, actions }) => faults.length === plan.faults.length && actions.length === plan.actions.length);
  expect(cutPlan(await shrink(plan, FOUND, needsAll))).toEqual(plan);
});

it('does not follow another violation than the one that was found', async () => {
  const other = (candidate: Plan): Promise<readonly Violation[]> =>
    Promise.resolve(candidate.actions.length < plan.actions.length ? [{ invariant: 'another rule', text: '' }] : []);
  expect(cutPlan(await shrink(plan, FOUND, other))).toEqual(plan);
});

it('prints a row that makes the same plan', async () => {
  const cutting = await shrink(plan, FOUND, needsBoth);
  const row = asRow(cutting, 'a rule')
    .replace(/,$/, '')
    .replaceAll(/(\w+): /g, '"$1": ');
  const { because, ...read } = JSON.parse(row) as { because: string } & typeof cutting;
  expect(because).toBe('a rule');
  expect(cutPlan(read)).toEqual(cutPlan(cutting));
});
