import { randomBytes } from 'node:crypto';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { privateKeyToAddress } from 'viem/accounts';
import { systemClock } from '../core/adapters/system/clock.js';
import type { BenchReplica, ClusterStage, ReplicaUsage } from './cluster-stage.js';
import type { Job, Outcome, Signer } from './load.js';
import { median } from './median.js';
import { CHAIN } from './relayer-stage.js';

/** Signed reads of one replica and of two, in turns: the same load from the same process, the same database. */

/** To each replica: what they are offered grows with them. */
const CONNECTIONS = 50;
const AGENTS = 10;
const IDLE_SECONDS = 3;

export interface ReadsOptions {
  readonly rounds: number;
  /** Of each replica. */
  readonly requests: number;
}

/** Of one turn; microseconds of processor time are those of all reads together, without what a gateway does by itself. */
interface Turn {
  readonly reads: number;
  readonly seconds: number;
  readonly load: number;
  readonly database: number | null;
  readonly gateways: readonly number[];
  readonly trips: number;
  readonly admissions: number;
}

export interface ReadsMeasured {
  readonly one: readonly Turn[];
  readonly two: readonly Turn[];
}

export async function measureReads(stage: ClusterStage, replicas: readonly BenchReplica[], options: ReadsOptions): Promise<ReadsMeasured> {
  const { rounds, requests } = options;
  const signers = await storeSigners(stage.databaseUrl);
  const load = fork(new URL('./load.ts', import.meta.url), { execArgv: ['--import', 'tsx'] });
  await once(load, 'message');
  const idle = await timeIdleness(replicas);
  const turns: Record<'one' | 'two', Turn[]> = { one: [], two: [] };
  try {
    for (let turn = 0; turn <= rounds; turn += 1)
      for (const [name, asked] of [
        ['one', replicas.slice(0, 1)],
        ['two', replicas],
      ] as const) {
        const measured = await takeTurn(load, { stage, asked, idle, job: jobOf(asked, signers, requests) });
        if (turn > 0) turns[name].push(measured);
      }
  } finally {
    load.disconnect();
  }
  return turns;
}

/** Microseconds of processor time that each uses in a second without requests. */
async function timeIdleness(replicas: readonly BenchReplica[]): Promise<number[]> {
  const before = await Promise.all(replicas.map((replica) => replica.usage()));
  await systemClock.sleep(IDLE_SECONDS * 1_000);
  const after = await Promise.all(replicas.map((replica) => replica.usage()));
  return after.map(({ cpu }, at) => (cpu - (before[at]?.cpu ?? 0)) / IDLE_SECONDS);
}

/** Each its own trader, so that no delegate has to be asked for. */
async function storeSigners(databaseUrl: string): Promise<Signer[]> {
  const signers = Array.from({ length: AGENTS }, () => {
    const privateKey = randomBytes(32).toString('hex');
    return { privateKey, address: privateKeyToAddress(`0x${privateKey}`).toLowerCase() };
  });
  const db = new pg.Client(databaseUrl);
  await db.connect();
  await db.query(
    `insert into agents (chain, agent, trader, name, mode, permissions, created_at)
     select $1, address, address, '', 'self', 'trade', 0 from unnest($2::text[]) address`,
    [CHAIN, signers.map(({ address }) => address)],
  );
  await db.end();
  return signers;
}

function jobOf([first, ...others]: readonly BenchReplica[], signers: readonly Signer[], each: number): Job {
  return {
    url: first?.url ?? '',
    others: others.map(({ url }) => url),
    path: `/v1/${CHAIN}/account/{signer}/events`,
    count: each * (1 + others.length),
    connections: CONNECTIONS * (1 + others.length),
    signed: { operationId: 'listEvents', serviceName: 'Diamond Gateway', signers },
  };
}

interface Asked {
  readonly stage: ClusterStage;
  readonly asked: readonly BenchReplica[];
  readonly idle: readonly number[];
  readonly job: Job;
}

async function takeTurn(load: ChildProcess, { stage, asked, idle, job }: Asked): Promise<Turn> {
  load.send(job);
  await once(load, 'message'); // signed
  const usages = (): Promise<ReplicaUsage[]> => Promise.all(asked.map((replica) => replica.usage()));
  const ended = once(load, 'message') as Promise<[Outcome]>;
  const [database, before] = [stage.databaseCpu(), await usages()];
  const [{ seconds, cpu, failures }] = await ended;
  const [databaseAfter, after] = [stage.databaseCpu(), await usages()];
  const failed = Object.entries(failures);
  if (failed.length > 0) throw new Error(`${job.path} failed: ${JSON.stringify(failed.slice(0, 3))}`);
  const grown = (key: 'cpu' | 'trips' | 'admissions'): number[] => after.map((usage, at) => usage[key] - (before[at]?.[key] ?? 0));
  return {
    reads: job.count,
    seconds,
    load: cpu,
    database: database === null || databaseAfter === null ? null : databaseAfter - database,
    gateways: grown('cpu').map((us, at) => us - seconds * (idle[at] ?? 0)),
    trips: sum(grown('trips')),
    admissions: sum(grown('admissions')),
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Microseconds of processor time per read. */
const COSTS = {
  gateways: ({ gateways, reads }: Turn) => sum(gateways) / reads,
  PostgreSQL: ({ database, reads }: Turn) => (database ?? Number.NaN) / reads,
  generator: ({ load, reads }: Turn) => load / reads,
} as const;

const rateOf = ({ reads, seconds }: Turn): number => reads / seconds;
const middle = (turns: readonly Turn[], of: (turn: Turn) => number): number => median(turns.map(of));

function showTurns(name: string, turns: readonly Turn[]): void {
  const rate = middle(turns, rateOf);
  console.log(`${name.padEnd(13)} ${rate.toFixed(0)} signed reads/s`);
  for (const [part, costOf] of Object.entries(COSTS)) {
    const us = middle(turns, costOf);
    console.log(
      `  ${part.padEnd(11)} ${us.toFixed(0).padStart(5)} us of processor time per read, ${((us * rate) / 1e4).toFixed(0)} % of a core`,
    );
  }
  const each = turns[0]?.gateways.map((_, at) => middle(turns, ({ gateways, seconds }) => (gateways[at] ?? 0) / 1e4 / seconds));
  console.log(`  each gateway ${each?.map((share) => `${share.toFixed(0)} %`).join(', ') ?? ''} of a core`);
}

/** Prints what was found; the rows for the report. */
export function showReads({ one, two }: ReadsMeasured): (readonly [string, number, number])[] {
  showTurns('one replica', one);
  showTurns('two replicas', two);
  const pairs = one.flatMap((alone, at) => {
    const both = two[at];
    return both ? [{ alone, both }] : [];
  });
  const all = [...one, ...two];
  const whole = (turn: Turn): number => COSTS.gateways(turn) + COSTS.generator(turn) + (turn.database ?? 0) / turn.reads;
  const allowed = median(pairs.map(({ alone, both }) => (2 * COSTS.gateways(alone)) / whole(both)));
  const admissions = middle(all, (turn) => turn.admissions / turn.reads);
  console.log(`two cores that generator and database share allow a ratio of ${allowed.toFixed(2)}`);
  console.log(`round trips to the database per read ${middle(all, (turn) => turn.trips / turn.reads).toFixed(2)}, with the read itself`);
  console.log(`round trips to be let in, per read ${admissions.toFixed(2)}, at most 1\n`);
  return [
    ['two replicas / one, in the time that passed', median(pairs.map(({ alone, both }) => rateOf(both) / rateOf(alone))), 1.6],
    [
      'two replicas / one, a core for each gateway',
      median(pairs.map(({ alone, both }) => (2 * COSTS.gateways(alone)) / COSTS.gateways(both))),
      1.6,
    ],
    ['reads per round trip to be let in', 1 / admissions, 1],
  ];
}
