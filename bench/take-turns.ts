import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../core/adapters/system-clock.js';
import type { Job, Outcome } from './load.js';

/**
 * Rates are requests per second of the server's processor time, which is what one core gives however busy the rest of the machine is; each
 * figure is the median of rounds that take turns.
 */
export interface Turns {
  /** By name. A first round warms up and is thrown away. */
  take<Name extends string>(jobs: Readonly<Record<Name, Job>>): Promise<Record<Name, number>>;
  stop(): void;
}

const ROUNDS = 4;
const WIDE_MARGIN = 0.75;

/** The server under load runs in this process; its own doings are measured first and taken off. */
export async function createTurns(): Promise<Turns> {
  const load = fork(new URL('./load.ts', import.meta.url), { execArgv: ['--import', 'tsx'] });
  await once(load, 'message');
  const idleUsPerSecond = await timeIdleness();
  return {
    async take<Name extends string>(jobs: Readonly<Record<Name, Job>>) {
      const names = Object.keys(jobs) as Name[];
      const rates = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
      for (let round = 0; round <= ROUNDS; round += 1)
        for (const name of names) {
          const measured = await runJob(load, jobs[name], idleUsPerSecond);
          if (round > 0) rates[name].push(measured);
        }
      return Object.fromEntries(names.map((name) => [name, median(rates[name])])) as Record<Name, number>;
    },
    stop: () => load.disconnect(),
  };
}

async function runJob(child: ChildProcess, job: Job, idleUsPerSecond: number): Promise<number> {
  child.send(job);
  await once(child, 'message');
  const before = process.cpuUsage();
  const [outcome] = (await once(child, 'message')) as [Outcome];
  const used = microseconds(process.cpuUsage(before)) - outcome.seconds * idleUsPerSecond;
  const failures = Object.entries(outcome.failures);
  if (failures.length > 0) throw new Error(`${job.path} failed: ${JSON.stringify(failures.slice(0, 3))}`);
  return (job.count * 1e6) / used;
}

async function timeIdleness(): Promise<number> {
  const seconds = 3;
  const before = process.cpuUsage();
  await systemClock.sleep(seconds * 1000);
  return microseconds(process.cpuUsage(before)) / seconds;
}

export function microseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Prints name, ratio and target of each row; the exit code, which is not 0 only when asked to be strict and missed by far. */
export function report(rows: readonly (readonly [string, number, number])[]): number {
  for (const [name, ratio, target] of rows)
    console.log(`${name.padEnd(44)} ${ratio.toFixed(2).padStart(6)}  target ${target}  ${ratio >= target ? 'met' : 'MISSED'}`);
  const isWide = rows.some(([, ratio, target]) => ratio < target * WIDE_MARGIN);
  return process.argv.includes('--strict') && isWide ? 1 : 0;
}
