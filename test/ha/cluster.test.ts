import { setTimeout as sleep } from 'node:timers/promises';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { eventually } from '../harness/time/eventually.js';
import type { Bots } from './bots.js';
import { tableOf, type Figures } from './figures.js';
import { judge, purseOf, type Verdict } from './judge.js';
import { missing } from './programs.js';
import { SCENARIOS, type Event, type Scenario } from './scenarios.js';
import { startStage, watchSigning, type SigningWatch, type Stage } from './stage.js';

/**
 * Two gateways on a cluster of PostgreSQL servers that loses servers, commits or its memory while bots trade. Judged by the chain. `HA_REPEATS`
 * runs each scenario so often.
 */

const KEPT = path.resolve(import.meta.dirname, '../../artefacts/ha');
const REPEATS = Number(process.env['HA_REPEATS'] ?? 1);
const FIRST_ORDER_MS = 15_000;
const SIGNING_PAUSE_MS = 5_000;
/** Processes that want to run, for each processor. */
const BUSY = 2;
/** A loss of commits closes the facade for 60 s. */
const AGAIN_MS = 240_000;
const rows: Figures[] = [];

const live = missing.length === 0 ? describe : describe.skip;
if (missing.length > 0) it(`is skipped, because these packages are missing: ${missing.join(', ')}`, () => undefined);

/** What an order that nothing explains is looked up in. */
function keep(name: string, text: string): void {
  mkdirSync(KEPT, { recursive: true });
  writeFileSync(path.join(KEPT, name), text);
}

afterAll(() => {
  if (rows.length > 0) process.stdout.write(`\n${tableOf(rows)}\n`);
});

live.each(SCENARIOS)('$name', (scenario) => {
  let stage: Stage | undefined;
  beforeAll(async () => {
    stage = await startStage(scenario.settings);
  }, 240_000);
  afterAll(async () => {
    stage?.gateways.forEach(({ process: { output } }, at) => keep(`${scenario.name}, gateway ${at + 1}.log`, output()));
    for (const { name, folder } of stage?.cluster.nodes ?? [])
      keep(`${scenario.name}, ${name}.log`, readFileSync(path.join(folder, 'patroni.log'), 'utf8'));
    await stage?.stop();
  });

  it.each(Array.from({ length: REPEATS }, (_, at) => at + 1))(
    'run %i: no order is doubled, none is unexplained',
    async (run) => {
      if (stage === undefined) throw new Error('there is no stage');
      const before = await stage.gateways[0]?.alerts();
      const bots = await stage.newBots();
      const opened = new Set(before?.map(({ message }) => message));
      const { figures, verdict } = await runScenario(stage, { scenario, run, bots, known: opened });
      rows.push(figures);
      process.stdout.write(`${JSON.stringify({ run, ...figures })}\n`);
      const unexplained = scenario.loses ? [] : verdict.lost;
      expect({ doubled: verdict.doubled, unexplained, strange: verdict.strange }).toEqual({ doubled: [], unexplained: [], strange: 0 });
      expect(figures.alarm.includes('commits-lost')).toBe(scenario.loses);
      if (scenario.name === 'switchover') expect(figures.alarm).toBe('');
      // Where the processors have several times as much to do as they can, times are those of the machine.
      if (figures.load > BUSY) return;
      if (!scenario.loses) expect(figures.signs).toBeLessThan(FIRST_ORDER_MS);
      if (scenario.name === 'switchover') expect(figures.signs).toBeLessThan(SIGNING_PAUSE_MS);
    },
    600_000,
  );
});

interface Run {
  readonly scenario: Scenario;
  readonly run: number;
  readonly bots: Bots;
  /** Messages of alerts that were open before. */
  readonly known: ReadonlySet<string>;
}

async function runScenario(stage: Stage, { scenario, run, bots, known }: Run): Promise<{ figures: Figures; verdict: Verdict }> {
  const purse = await purseOf(stage);
  const signing = watchSigning(stage);
  const alarms = watchAlarms(stage, known);
  let event: Event | null = null;
  try {
    bots.start();
    await eventually(
      () => bots.sent.filter(({ outcome }) => outcome === 'resting').length,
      (count) => count > 20,
    );
    event = await scenario.act(stage.cluster);
    const again = await untilAnswered(bots, event);
    await untilSigned(signing, event);
    await scenario.afterwards?.(stage.cluster, event);
    await sleep(3_000);
    await bots.stop();
    await stage.cluster.untilWhole();
    const verdict = await judge(stage, bots, purse);
    return { verdict, figures: figuresOf({ scenario, event, again, verdict, times: signing.times, alarms: await alarms.stop() }) };
  } catch (error) {
    // The report comes after the last scenario.
    process.stdout.write(`${scenario.name}, run ${run}: ${String(error)}\n`);
    throw error;
  } finally {
    await Promise.all([bots.stop(), signing.stop(), alarms.stop()]);
    const moments = { at: event?.at, takesWritesAt: event?.takesWritesAt, signing: signing.times, sent: bots.sent };
    keep(`${scenario.name}, run ${run}.json`, JSON.stringify(moments, null, 1));
  }
}

async function untilSigned({ times }: SigningWatch, { takesWritesAt }: Event): Promise<void> {
  const end = Date.now() + AGAIN_MS;
  while (!times.some((time) => time >= takesWritesAt)) {
    if (Date.now() > end) throw new Error('the relayer signs nothing any more');
    await sleep(50);
  }
}

/** When an order that was sent after the event was answered as standing. */
async function untilAnswered(bots: Bots, { takesWritesAt }: Event): Promise<number> {
  const end = Date.now() + AGAIN_MS;
  while (Date.now() < end) {
    const [first] = bots.sent.filter(({ sentAt, outcome }) => sentAt >= takesWritesAt && outcome === 'resting').sort(byAnswer);
    if (first !== undefined) return first.answeredAt;
    await sleep(50);
  }
  throw new Error(
    `no order was answered as standing; the last answers: ${bots.sent
      .slice(-30)
      .map(({ answer }) => answer)
      .join('\n')}`,
  );
}

const byAnswer = (a: { readonly answeredAt: number }, b: { readonly answeredAt: number }): number => a.answeredAt - b.answeredAt;

interface AlarmWatch {
  stop(): Promise<readonly string[]>;
}

/** Kinds of alerts that were opened meanwhile. */
function watchAlarms({ gateways }: Stage, known: ReadonlySet<string>): AlarmWatch {
  const kinds = new Set<string>();
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      for (const gateway of gateways)
        for (const { kind, message } of await gateway.alerts().catch(() => [])) if (!known.has(message)) kinds.add(kind);
      await sleep(500);
    }
  })();
  return {
    async stop() {
      over.abort();
      await watching;
      return [...kinds].sort();
    },
  };
}

function figuresOf(found: {
  readonly scenario: Scenario;
  readonly event: Event;
  readonly again: number;
  readonly verdict: Verdict;
  readonly times: readonly number[];
  readonly alarms: readonly string[];
}): Figures {
  const { scenario, event, again, verdict, times, alarms } = found;
  const { at, takesWritesAt } = event;
  const signed = times.find((time) => time >= takesWritesAt) ?? Number.POSITIVE_INFINITY;
  const around = times.filter((time) => time <= signed);
  return {
    scenario: scenario.name,
    ...{ sent: verdict.sent, resting: verdict.resting, refused: verdict.refused, unknown: verdict.unknown },
    ...{ expired: verdict.expired, lost: verdict.lost.length, doubled: verdict.doubled.length, alarm: alarms.join(' ') },
    unexplained: (scenario.loses ? 0 : verdict.lost.length) + verdict.strange,
    contradicted: verdict.contradicted.length,
    writes: takesWritesAt - at,
    signs: signed - takesWritesAt,
    answers: again - takesWritesAt,
    total: signed - at,
    load: Math.round((os.loadavg()[0] ?? 0) / os.availableParallelism()),
    pause: Math.max(0, ...around.slice(1).map((time, index) => time - (around[index] ?? time))),
  };
}
