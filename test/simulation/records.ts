import { existsSync, readFileSync } from 'node:fs';
import { describeCoverage } from './coverage.js';
import type { Rules } from './plan.js';

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
  return [`${seeds.size} seeds, ${sum('runs')} runs, ${sum('failed')} failed`, ...describeCoverage(reached)];
}
