import { existsSync, readFileSync } from 'node:fs';
import { describeCoverage } from './coverage.js';
import { drawPlan, type Rules } from './plan.js';

/** One line of a record file: what the runs of one seed showed. */
export interface RunRecord {
  readonly seed: number;
  /** The rules that its plan was drawn by. */
  readonly rules: Rules;
  readonly runs: number;
  readonly failed: number;
  /** How often each row of the coverage table was reached. */
  readonly reached: Readonly<Record<string, number>>;
}

/** Each line was written at once, so an interrupted campaign leaves whole lines. */
export function readRecords(file: string): RunRecord[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as RunRecord);
}

export function describeRecords(records: readonly RunRecord[]): string[] {
  const reached = new Map<string, number>();
  for (const record of records)
    for (const [row, times] of Object.entries(record.reached)) reached.set(row, (reached.get(row) ?? 0) + times);
  const sum = (field: 'runs' | 'failed'): number => records.reduce((total, record) => total + record[field], 0);
  const seeds = new Set(records.map(({ seed }) => seed));
  return [`${seeds.size} seeds, ${sum('runs')} runs, ${sum('failed')} failed`, ...describeAims(records), ...describeCoverage(reached)];
}

/** How many of the aimed faults met the state that they were aimed at, and which did not. Draws the plans of all seeds again. */
function describeAims(records: readonly RunRecord[]): string[] {
  const missed = new Map<string, number[]>();
  let aimed = 0;
  for (const { seed, rules, runs, reached } of records) {
    if (runs === 0) continue;
    for (const { kind, when, isAimed } of drawPlan(seed, { rules }).faults) {
      if (isAimed !== true || when === null) continue;
      aimed += 1;
      const row = `fault ${kind} ${when}`;
      if (reached[row] === undefined) missed.set(row, [...(missed.get(row) ?? []), seed]);
    }
  }
  if (aimed === 0) return [];
  const misses = [...missed.values()].flat().length;
  return [
    `${aimed - misses} of ${aimed} aimed faults met their state`,
    ...[...missed].sort().map(([row, seeds]) => `  missed: ${row.padEnd(40)} by seeds ${seeds.join(', ')}`),
  ];
}
