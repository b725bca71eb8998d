/**
 * Simulates the whole gateway with seeded faults and checks invariants:
 * `npm run simulate -- [--seed 1] [--runs 100] [--minutes 10] [--from 0]`. Run n has the seed `--seed` + n, or the nth of several
 * (`--seed 3,5,8`); `--from` goes on after an interruption. `--record file` adds a line for each run to a file, and skips runs that it
 * has; `--sum file` (any number) prints what such files show together. `--found` first runs the plans that showed a defect once, `--calm`
 * leaves the faults out, `--replicas` and `--seconds` (of simulated time) set what is drawn otherwise, `--rules` draws plans by earlier
 * rules, `--repeat 20` makes each run so often and compares the traces (otherwise every twentieth is made twice), `--trace file` writes
 * the events of the last run.
 * `--sabotage all` breaks the build on purpose, once for each invariant, and counts the runs until it is noticed. Exit code 1: a violation was found.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createCampaign, proveInvariants } from '../test/simulation/campaign.js';
import { describeRecords, readRecords } from '../test/simulation/records.js';
import { startSimulationServer } from '../test/simulation/database-server.js';
import { FOUND_PLANS } from '../test/simulation/found-plans.js';
import { cutPlan, drawPlan, RULES, type Plan, type Rules } from '../test/simulation/plan.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string' },
    minutes: { type: 'string' },
    from: { type: 'string', default: '0' },
    repeat: { type: 'string' },
    replicas: { type: 'string' },
    seconds: { type: 'string' },
    rules: { type: 'string' },
    sabotage: { type: 'string' },
    trace: { type: 'string' },
    record: { type: 'string' },
    sum: { type: 'string', multiple: true },
    found: { type: 'boolean', default: false },
    calm: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
});

function whole(name: string, text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}

function rulesOf(text: string): Rules {
  const found = RULES.find((rules) => String(rules) === text);
  if (found === undefined) throw new Error(`--rules must be one of ${RULES.join(', ')}`);
  return found;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const seeds = values.seed.split(',').map((text) => whole('seed', text));
const [seed = 0] = seeds;
const from = whole('from', values.from);
const endless = values.minutes === undefined ? 1 : Number.MAX_SAFE_INTEGER;
const runs = values.runs === undefined ? endless : whole('runs', values.runs);
const minutes = values.minutes === undefined ? Infinity : whole('minutes', values.minutes);
const options = {
  areFaultsOff: values.calm,
  ...(values.replicas === undefined ? {} : { replicas: whole('replicas', values.replicas) }),
  ...(values.rules === undefined ? {} : { rules: rulesOf(values.rules) }),
  ...(values.seconds === undefined ? {} : { runMs: whole('seconds', values.seconds) * 1_000 }),
};

const keyOf = (made: { readonly seed: number; readonly rules: Rules }): string => `${made.seed} by rules ${made.rules}`;
const recorded = new Set(values.record === undefined ? [] : readRecords(values.record).map(keyOf));
const found: readonly Plan[] = values.found ? FOUND_PLANS.map(cutPlan) : [];

function* seedsInTurn(): Generator<number> {
  for (let run = from; run < from + runs; run += 1) yield seed + run;
}

function* plans(): Generator<Plan> {
  yield* found;
  for (const each of seeds.length > 1 ? seeds : seedsInTurn()) {
    const plan = drawPlan(each, options);
    if (!recorded.has(keyOf({ seed: plan.seed, rules: plan.options.rules }))) yield plan;
  }
}

const MOST_BROKEN_RUNS = 1_000;

if (values.sum !== undefined) {
  describeRecords(values.sum.flatMap(readRecords)).forEach(write);
  process.exit();
}

const server = await startSimulationServer();

/** True if everything held. */
async function main(): Promise<boolean> {
  if (values.sabotage === 'all')
    return proveInvariants({ server, write, seed: seed + from, runs: values.runs === undefined ? MOST_BROKEN_RUNS : runs });
  const lines: string[] = [];
  const keepLine = (line: string, isNew: boolean): void => {
    if (isNew) lines.length = 0;
    lines.push(line);
  };
  const campaign = await createCampaign({
    server,
    write,
    shrinks: !values['no-shrink'],
    sabotage: values.sabotage ?? null,
    repeat: values.repeat === undefined ? null : whole('repeat', values.repeat),
    onLine: values.trace === undefined ? null : keepLine,
    onRecord: (record, plan) => {
      if (values.record !== undefined && !found.includes(plan)) appendFileSync(values.record, `${JSON.stringify(record)}\n`);
    },
  });
  const end = performance.now() + minutes * 60_000;
  for (const plan of plans()) {
    if (performance.now() > end) break;
    await campaign.run(plan);
  }
  campaign.report();
  if (values.trace !== undefined) writeFileSync(values.trace, `${lines.join('\n')}\n`);
  return !campaign.hasFailed();
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} finally {
  await server.stop();
}
// Connections of killed replicas are left behind on purpose.
process.exit();
