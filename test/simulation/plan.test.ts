import { createHash } from 'node:crypto';
import { PAIRS } from './faults/fault-groups.js';
import { changesContract } from './faults/fault-table.js';
import { drawPlan, type Rules } from './plan.js';

const SEEDS = 200;

function digestOf(rules: Rules): string {
  const digest = createHash('sha256');
  for (let seed = 0; seed < SEEDS; seed += 1)
    digest.update(JSON.stringify(drawPlan(seed, { rules }), (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)));
  return digest.digest('hex');
}

it.each([
  [1, '4c89f5fed385eca1d07a39ee237da504ac12f9792a8034338c16298705657228'],
  [2, 'a186d2e4451ee900733b9f328655d656f8b730969cf87eb111424f420059d379'],
  [3, 'd8676563b687469c7aa254d32505e447cefd308898fae147513a377647d422ae'],
  [4, '9b467b9cc85877e4dc93ad624b776d27535b2380855459bcdd9bbf90ff72eb8e'],
  [5, '04110cbadfe226e913b766374ed82b43cd82befa51d943c515a2f409f6d6ae2e'],
] as const)('draws by the rules %i what was drawn before there were others', (rules, digest) => {
  expect(digestOf(rules)).toBe(digest);
});

it('leaves the number of replicas that was asked for, and every fault on one of them', () => {
  for (let seed = 0; seed < SEEDS; seed += 1) {
    expect(drawPlan(seed, { replicas: 1 }).replicas).toBe(1);
    const { replicas, faults } = drawPlan(seed);
    expect(faults.every(({ replica }) => replica < replicas)).toBe(true);
  }
});

it('ends what groups of faults begin while clients still act', () => {
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const { faults, actions, busyMs } = drawPlan(seed);
    expect(faults.every(({ at }) => at >= 0 && at <= busyMs)).toBe(true);
    expect(actions.every(({ at }) => at <= busyMs)).toBe(true);
  }
});

it('has actions with levels in about a third of the plans, and never more actions than before', () => {
  const plans = Array.from({ length: SEEDS }, (_, seed) => drawPlan(seed));
  const withLevels = plans.filter(({ actions }) => actions.some(({ level }) => level !== undefined));
  expect(withLevels.length / SEEDS).toBeGreaterThan(0.25);
  expect(withLevels.length / SEEDS).toBeLessThan(0.42);
  expect(Math.max(...plans.map(({ actions }) => actions.length))).toBeLessThanOrEqual(33);
});

it('aims a fault of every kind at every state of a lane, once in as many seeds as there are pairs', () => {
  const first = new Set<string>();
  for (let seed = 1_000; seed < 1_000 + PAIRS.length; seed += 1) {
    const [aimed, ...more] = drawPlan(seed, { rules: 5 }).faults.filter(({ isAimed }) => isAimed === true);
    expect(more.length).toBeLessThanOrEqual(1);
    first.add(`${aimed?.kind} ${aimed?.when}`);
  }
  expect(first.size).toBe(PAIRS.length);
});

it('has no more faults and actions for each plan than the fourth rules', () => {
  const count = (rules: Rules, of: 'faults' | 'actions'): number =>
    Array.from({ length: SEEDS }, (_, seed) => drawPlan(seed, { rules })[of].length).reduce((sum, each) => sum + each, 0) / SEEDS;
  expect(count(5, 'faults')).toBeLessThan(count(4, 'faults') + 0.5);
  expect(count(5, 'actions')).toBeLessThan(count(4, 'actions') + 2);
});

it('changes the contract in about half of the plans, in place of another fault and other actions', () => {
  const plans = Array.from({ length: SEEDS }, (_, seed) => [drawPlan(seed, { rules: 5 }), drawPlan(seed, { rules: 6 })] as const);
  const changed = plans.filter(([, { faults }]) => changesContract(faults));
  expect(changed.length / SEEDS).toBeGreaterThan(0.4);
  expect(changed.length / SEEDS).toBeLessThan(0.6);
  for (const [before, { faults, busyMs }] of changed) {
    expect(faults.length).toBeLessThanOrEqual(before.faults.length + 1);
    expect(faults.find((fault) => changesContract([fault]))?.at).toBeLessThan(busyMs);
  }
});
