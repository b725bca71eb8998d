import { randomBytes } from 'node:crypto';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { privateKeyToAddress } from 'viem/accounts';
import type { BenchReplica, ClusterStage, ReplicaUsage } from './cluster-stage.js';
import type { Job, Outcome, Signer } from './load.js';
import { median } from './median.js';
import { CHAIN } from './relayer-stage.js';

/** Signed reads of one replica and of two, in turns: the same load from the same process, the same database. */

const CONNECTIONS = 50;
const AGENTS = 10;

export interface ReadsOptions {
  readonly rounds: number;
  readonly requests: number;
}

/** Of one turn; microseconds of processor time are those of all requests together. */
interface Turn {
  readonly seconds: number;
  readonly load: number;
  readonly database: number | null;
  readonly gateways: readonly number[];
  readonly statements: number;
  readonly admissions: number;
}

export interface ReadsMeasured {
  readonly requests: number;
  readonly one: readonly Turn[];
  readonly two: readonly Turn[];
}

export async function measureReads(stage: ClusterStage, replicas: readonly BenchReplica[], options: ReadsOptions): Promise<ReadsMeasured> {
  const { rounds, requests } = options;
  const signers = await storeSigners(stage.databaseUrl);
  const load = fork(new URL('./load.ts', import.meta.url), { execArgv: ['--import', 'tsx'] });
  await once(load, 'message');
  const turns: Record<'one' | 'two', Turn[]> = { one: [], two: [] };
  try {
    for (let turn = 0; turn <= rounds; turn += 1)
      for (const [name, asked] of [
        ['one', replicas.slice(0, 1)],
        ['two', replicas],
      ] as const) {
        const measured = await takeTurn(load, stage, asked, jobOf(asked, signers, requests));
        if (turn > 0) turns[name].push(measured);
      }
  } finally {
    load.disconnect();
  }
  return { requests, ...turns };
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

function jobOf([first, ...others]: readonly BenchReplica[], signers: readonly Signer[], count: number): Job {
  return {
    url: first?.url ?? '',
    others: others.map(({ url }) => url),
    path: `/v1/${CHAIN}/account/{signer}/positions`,
    count,
    connections: CONNECTIONS,
    signed: { operationId: 'listPositions', serviceName: 'Diamond Gateway', signers },
  };
}

async function takeTurn(load: ChildProcess, stage: ClusterStage, asked: readonly BenchReplica[], job: Job): Promise<Turn> {
  load.send(job);
  await once(load, 'message'); // signed
  const usages = (): Promise<ReplicaUsage[]> => Promise.all(asked.map((replica) => replica.usage()));
  const ended = once(load, 'message') as Promise<[Outcome]>;
  const [database, before] = [stage.databaseCpu(), await usages()];
  const [{ seconds, cpu, failures }] = await ended;
  const [databaseAfter, after] = [stage.databaseCpu(), await usages()];
  const failed = Object.entries(failures);
  if (failed.length > 0) throw new Error(`${job.path} failed: ${JSON.stringify(failed.slice(0, 3))}`);
  const grown = (key: 'cpu' | 'statements' | 'admissions'): number[] => after.map((usage, at) => usage[key] - (before[at]?.[key] ?? 0));
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    seconds,
    load: cpu,
    database: database === null || databaseAfter === null ? null : databaseAfter - database,
    gateways: grown('cpu'),
    statements: sum(grown('statements')),
    admissions: sum(grown('admissions')),
  };
}

/** Prints what was found; the rows for the report. */
export function showReads({ requests, one, two }: ReadsMeasured): (readonly [string, number, number])[] {
  const middle = (turns: readonly Turn[], of: (turn: Turn) => number): number => median(turns.map(of));
  const gatewayUs = ({ gateways }: Turn): number => gateways.reduce((total, value) => total + value, 0) / requests;
  const share = (turn: Turn, us: number): string => `${((us / 1e6 / turn.seconds) * 100).toFixed(0)} %`;
  for (const [name, turns] of Object.entries({ one, two })) {
    const rate = middle(turns, ({ seconds }) => requests / seconds);
    const parts = {
      gateways: middle(turns, gatewayUs),
      PostgreSQL: middle(turns, ({ database }) => (database ?? Number.NaN) / requests),
      generator: middle(turns, ({ load }) => load / requests),
    };
    console.log(`${name === 'one' ? 'one replica ' : 'two replicas'}  ${rate.toFixed(0)} signed reads/s`);
    for (const [part, us] of Object.entries(parts))
      console.log(
        `  ${part.padEnd(11)} ${us.toFixed(0).padStart(4)} us of processor time per read, ${((us * rate) / 1e4).toFixed(0)} % of a core`,
      );
    const middleTurn = turns[Math.floor(turns.length / 2)];
    if (middleTurn) console.log(`  each gateway: ${middleTurn.gateways.map((us) => share(middleTurn, us)).join(', ')} of a core`);
  }
  const perSecond = one.map((turn, at) => turn.seconds / (two[at]?.seconds ?? Number.NaN));
  const perCpu = one.map((turn, at) => (2 * gatewayUs(turn)) / gatewayUs(two[at] ?? turn));
  const everything = (turn: Turn): number => gatewayUs(turn) + ((turn.database ?? 0) + turn.load) / requests;
  const limits = one.map((turn, at) => (2 * gatewayUs(turn)) / everything(two[at] ?? turn));
  const all = [...one, ...two];
  console.log(`two cores shared with generator and database allow a ratio of ${median(limits).toFixed(2)} at most`);
  console.log(`statements per read ${middle(all, ({ statements }) => statements / requests).toFixed(2)}, with the read itself`);
  console.log(`round trips to be let in, per read ${middle(all, ({ admissions }) => admissions / requests).toFixed(2)}, at most 1\n`);
  return [
    ['two replicas / one, in the time that passed', median(perSecond), 1.6],
    ['two replicas / one, a core for each gateway', median(perCpu), 1.6],
    ['reads per round trip to be let in', 1 / middle(all, ({ admissions }) => admissions / requests), 1],
  ];
}
