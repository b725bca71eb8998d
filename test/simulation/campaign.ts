import { readFileSync } from 'node:fs';
import { describeCoverage } from './coverage.js';
import type { SimulationServer } from './database-server.js';
import { drawPlan, type Plan } from './plan.js';
import type { RunRecord } from './records.js';
import { runPlan, type RunReport } from './run.js';
import { BROKEN_BUILDS } from './broken-builds.js';
import { asRow, shrink } from './shrink.js';

/** Many runs, and what they show together. */
export interface Campaign {
  run(plan: Plan): Promise<RunReport | null>;
  report(): void;
  hasFailed(): boolean;
}

export interface CampaignOptions {
  readonly server: SimulationServer;
  readonly write: (line: string) => void;
  readonly shrinks: boolean;
  /** A name of `BROKEN_BUILDS`. */
  readonly sabotage: string | null;
  /** Each plan runs so often, and its traces must be equal. Null: every twentieth runs twice. */
  readonly repeat: number | null;
  readonly onLine: ((line: string, isNew: boolean) => void) | null;
  /** Called after each plan. */
  readonly onRecord: (record: RunRecord, plan: Plan) => void;
}

const PROGRESS_MS = 15_000;
const TWICE_EVERY = 20;
const HANDLES_EVERY = 100;
/** What later runs may leave in memory, beside the caches that the first hundred fill. */
const MOST_GROWN = { heapMb: 40, handles: 5 } as const;
const realNow = performance.now.bind(performance);

export async function createCampaign(options: CampaignOptions): Promise<Campaign> {
  const { server, write } = options;
  const sabotage = options.sabotage === null ? undefined : BROKEN_BUILDS[options.sabotage]?.begin;
  if (options.sabotage !== null && sabotage === undefined) throw new Error(`--sabotage is one of ${Object.keys(BROKEN_BUILDS).join(', ')}`);
  const reached = new Map<string, number>();
  const answers = new Map<string, number>();
  let plans = 0;
  let runs = 0;
  let failed = 0;
  let steps = 0;
  let shownAt = realNow();
  let judgedNext = HANDLES_EVERY;
  let afterFirst: { readonly heapMb: number; readonly handles: number } | null = null;

  const once = (plan: Plan, onLine: CampaignOptions['onLine'] = null): Promise<RunReport> => {
    let isNew = true;
    return runPlan({
      server,
      plan,
      ...(sabotage && { sabotage }),
      ...(onLine && {
        onLine: (line: string) => {
          onLine(line, isNew);
          isNew = false;
        },
      }),
    });
  };

  const count = (map: Map<string, number>, keys: readonly string[]): void => {
    for (const key of keys) map.set(key, (map.get(key) ?? 0) + 1);
  };

  function rate(): string {
    const now = processorSeconds(server.processId);
    const seconds = (realNow() - startedAt) / 1_000;
    const perRun = (after: number, start: number): string => ((after - start) / Math.max(1, runs)).toFixed(2);
    const processor = `${perRun(now.own, before.own)} s of processor (and ${perRun(now.database, before.database)} s in the database)`;
    return `${((runs / seconds) * 60).toFixed(1)} runs/min, ${processor} and ${Math.round(steps / Math.max(1, runs))} events per run`;
  }

  const record = (plan: Plan, shown: Pick<RunRecord, 'runs' | 'failed' | 'reached'>): void =>
    options.onRecord({ seed: plan.seed, rules: plan.options.rules, ...shown }, plan);

  async function fail(report: RunReport): Promise<void> {
    failed += 1;
    const { seed } = report.plan;
    write(`seed ${seed}: ${report.violations.length} violations; faults: ${report.plan.faults.map(({ kind }) => kind).join(', ')}`);
    for (const { invariant, text } of report.violations) write(`  ${invariant}: ${text.slice(0, 2_000)}`);
    if (!options.shrinks) return;
    const cutting = await shrink(report.plan, report.violations, async (plan) => (await once(plan)).violations);
    write('  a row for test/simulation/found-plans.ts:');
    write(`  ${asRow(cutting, report.violations[0]?.invariant ?? '')}`);
  }

  /** What a run leaves behind adds up: compared with what was there after the first hundred. */
  function judgeMemory(): void {
    judgedNext += HANDLES_EVERY;
    globalThis.gc?.();
    const now = { heapMb: Math.round(process.memoryUsage().heapUsed / 2 ** 20), handles: process.getActiveResourcesInfo().length };
    write(`after ${runs} runs: heap ${now.heapMb} MB, ${now.handles} open handles`);
    afterFirst ??= now;
    if (now.heapMb <= afterFirst.heapMb + MOST_GROWN.heapMb && now.handles <= afterFirst.handles + MOST_GROWN.handles) return;
    failed += 1;
    write(
      `memory or handles have grown since the first ${HANDLES_EVERY} runs: heap ${afterFirst.heapMb} MB, ${afterFirst.handles} open handles`,
    );
  }

  // Modules are loaded and caches of the process filled before the first run that counts.
  await once({ ...drawPlan(0, { replicas: 1, areFaultsOff: true }), actions: [] });
  const [startedAt, before] = [realNow(), processorSeconds(server.processId)];

  return {
    async run(plan) {
      const repeat = options.repeat ?? (plans % TWICE_EVERY === 0 ? 2 : 1);
      plans += 1;
      const hashes = new Set<string>();
      const failedBefore = failed;
      const rows = new Map<string, number>();
      let report: RunReport | null = null;
      for (let turn = 0; turn < repeat; turn += 1) {
        try {
          report = await once(plan, options.onLine);
        } catch (error) {
          failed += 1;
          write(`seed ${plan.seed}: the run itself failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
          record(plan, { runs: turn, failed: 1, reached: {} });
          return null;
        }
        hashes.add(report.hash);
        runs += 1;
        steps += report.steps;
        count(reached, report.reached);
        count(rows, report.reached);
        count(
          answers,
          report.record.requests.flatMap((request) => request.answers.map(({ status }) => wordOf(request.api, status))),
        );
      }
      if (hashes.size > 1) {
        failed += 1;
        write(`seed ${plan.seed}: ${hashes.size} different traces in ${repeat} runs`);
      } else if (repeat > 2) write(`seed ${plan.seed}: ${repeat} runs, one trace ${[...hashes][0]?.slice(0, 16)}`);
      if (report !== null && report.violations.length > 0) await fail(report);
      record(plan, { runs: repeat, failed: failed - failedBefore, reached: Object.fromEntries(rows) });
      if (runs >= judgedNext) judgeMemory();
      if (realNow() - shownAt > PROGRESS_MS) {
        shownAt = realNow();
        write(`seed ${plan.seed}: ${runs} runs, ${failed} failed, ${rate()}`);
      }
      return report;
    },
    report() {
      write(`${runs} runs, ${failed} failed, ${rate()}`);
      write(
        `answers: ${byCount(answers)
          .map(([word, times]) => `${word} ${times}`)
          .join(', ')}`,
      );
      describeCoverage(reached).forEach(write);
    },
    hasFailed: () => failed > 0,
  };
}

/** Clock ticks of /proc in a second, on every Linux that Node supports. */
const TICKS = 100;

/** Used by this process, and by the database server with all sessions that have ended. */
function processorSeconds(server: number | null): { readonly own: number; readonly database: number } {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  try {
    const stat = readFileSync(`/proc/${server}/stat`, 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number);
    return { own, database: fields.reduce((sum, ticks) => sum + ticks, 0) / TICKS };
  } catch {
    return { own, database: 0 }; // there is no /proc
  }
}

/** Errors without their numbers and names. */
const wordOf = (api: string, status: string): string => `${api} ${status.replace(/[\d.]+|0x[0-9a-f]+/g, 'n').slice(0, 60)}`;

const byCount = (counts: ReadonlyMap<string, number>): [string, number][] => [...counts].sort((a, b) => b[1] - a[1]);

export interface ProofOptions extends Pick<CampaignOptions, 'server' | 'write'> {
  readonly seed: number;
  /** After so many runs a broken build counts as unnoticed. */
  readonly runs: number;
}

/** Breaks the build once for each row of the table; true if every one was noticed by the invariant that it breaks. */
export async function proveInvariants({ server, write, seed, runs }: ProofOptions): Promise<boolean> {
  let isProven = true;
  for (const [name, { breaks, begin, rules = 6 }] of Object.entries(BROKEN_BUILDS)) {
    let after = 0;
    let isNoticed = false;
    while (!isNoticed && after < runs) {
      const { violations } = await runPlan({ server, plan: drawPlan(seed + after, { rules }), sabotage: begin });
      after += 1;
      isNoticed = violations.some(({ invariant }) => invariant === breaks);
    }
    isProven &&= isNoticed;
    write(`${name.padEnd(32)} ${isNoticed ? `noticed after ${after}` : `NOT noticed in ${after}`} runs: ${breaks}`);
  }
  return isProven;
}
