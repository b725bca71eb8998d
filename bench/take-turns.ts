import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../core/adapters/system/clock.js';
import type { Job, Outcome } from './load.js';
import { median } from './median.js';

/**
 * Rates are requests per second of the server's processor time, which is what one core gives however busy the rest of the machine is; each
 * figure is the median of rounds that take turns.
 */
export interface Turns {
  /** By name. A first round warms up and is thrown away. */
  take<Name extends string>(jobs: Readonly<Record<Name, Job>>): Promise<Record<Name, number>>;
  /** One turn each, nothing thrown away: for ratios whose parts have to be of the same moment. */
  round<Name extends string>(jobs: Readonly<Record<Name, Job>>): Promise<Record<Name, number>>;
  stop(): void;
}

const ROUNDS = 4;
const WIDE_MARGIN = 0.75;

/** The server under load runs in this process; its own doings are measured first and taken off. */
export async function createTurns(): Promise<Turns> {
  const load = fork(new URL('./load.ts', import.meta.url), { execArgv: ['--import', 'tsx'] });
  await once(load, 'message');
  const idleUsPerSecond = await timeIdleness();
  const round = async <Name extends string>(jobs: Readonly<Record<Name, Job>>): Promise<Record<Name, number>> => {
    const rates: [string, number][] = [];
    for (const [name, job] of Object.entries<Job>(jobs)) rates.push([name, await runJob(load, job, idleUsPerSecond)]);
    return Object.fromEntries(rates) as Record<Name, number>;
  };
  return {
    round,
    async take<Name extends string>(jobs: Readonly<Record<Name, Job>>) {
      const names = Object.keys(jobs) as Name[];
      const rates = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
      for (let turn = 0; turn <= ROUNDS; turn += 1)
        for (const name of names) {
          const measured = await runJob(load, jobs[name], idleUsPerSecond);
          if (turn > 0) rates[name].push(measured);
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

/** Prints name, ratio and target of each row; the exit code, which is not 0 only when asked to be strict and missed by far. */
export function report(rows: readonly (readonly [string, number, number])[]): number {
  for (const [name, ratio, target] of rows)
    console.log(`${name.padEnd(44)} ${ratio.toFixed(2).padStart(6)}  target ${target}  ${ratio >= target ? 'met' : 'MISSED'}`);
  const isWide = rows.some(([, ratio, target]) => ratio < target * WIDE_MARGIN);
  return process.argv.includes('--strict') && isWide ? 1 : 0;
}
