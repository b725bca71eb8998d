import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { ROLE } from '../../../../core/adapters/postgres/embedded/cluster.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { makeTemporaryFolder } from '../../../harness/database/temporary-folder.js';
import type { StoreStartError } from '../../../../core/adapters/postgres/faults.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import type { Clock } from '../../../../core/ports/clock.js';
import { eventually, until } from '../../../harness/time/eventually.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { untilNoProcessOn, processesOn, startOwner, type Owner } from './owner.js';

let scratch: string;
beforeAll(async () => (scratch = await makeTemporaryFolder('diamond-gateway-kill')));
afterAll(async () => {
  expect(processesOn(scratch)).toEqual([]);
  await rm(scratch, { recursive: true, force: true });
});

const start = (folder: string): Promise<EmbeddedPostgres> =>
  startEmbeddedPostgres({ folder, log: createRecordedLog(), clock: systemClock });

async function urlOf(owner: Owner): Promise<string> {
  const { dataFolder, port } = await owner.printed('up');
  const password = await readFile(path.join(String(dataFolder), '../password'), 'utf8');
  return `postgres://${ROLE}:${password}@127.0.0.1:${String(port)}/postgres`;
}

interface Writer {
  readonly acknowledged: number[];
  readonly stopped: Promise<void>;
}

/** Writes rows one after the other until it is stopped or its connection breaks, and remembers which were acknowledged. */
async function write(url: string, from: number): Promise<Writer> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  await client.query('create table if not exists rows (number integer primary key)');
  const acknowledged: number[] = [];
  const loop = async (): Promise<void> => {
    for (let number = from; ; number += 1) {
      await client.query('insert into rows values ($1)', [number]);
      acknowledged.push(number);
    }
  };
  return { acknowledged, stopped: loop().catch(() => undefined) };
}

async function rowsOf(url: string): Promise<number[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ number: number }>('select number from rows order by number');
  await client.end();
  return rows.map(({ number }) => number);
}

async function missingFrom(url: string, acknowledged: readonly number[]): Promise<number[]> {
  const rows = new Set(await rowsOf(url));
  return acknowledged.filter((number) => !rows.has(number));
}

/** The next start works, holds every acknowledged row, and ends cleanly. */
async function expectRecovery(folder: string, acknowledged: readonly number[]): Promise<void> {
  const server = await start(folder);
  if (acknowledged.length > 0) expect(await missingFrom(server.url, acknowledged)).toEqual([]);
  expect(await readdir(folder)).toEqual(['cluster']);
  await server.stop();
  expect(processesOn(folder)).toEqual([]);
}

describe('kill -9 of the process that owns the server', () => {
  it('while the data is made leaves no process, and the next start makes it afresh', async () => {
    const folder = path.join(scratch, 'making');
    const owner = startOwner({ folder });
    await eventually(
      async () => {
        const [fresh] = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith('cluster.new-'));
        return fresh === undefined ? [] : readdir(path.join(folder, fresh, 'data')).catch(() => []);
      },
      (entries) => entries.length > 3,
    );
    expect(processesOn(path.join(folder, 'cluster.new-')).length).toBeGreaterThan(0);
    owner.kill('SIGKILL');
    await owner.ended;
    await untilNoProcessOn(folder);
    expect((await readdir(folder)).some((name) => name === 'cluster')).toBe(false);
    await expectRecovery(folder, []);
  });

  it('at any moment of the start leaves no process, and the next start works', async () => {
    const folder = path.join(scratch, 'starting');
    for (const word of ['starting PostgreSQL', 'listening on', 'database system is ready']) {
      const owner = startOwner({ folder });
      await until(() => owner.lines.some(({ text }) => String(text).startsWith(word)));
      owner.kill('SIGKILL');
      await owner.ended;
      await untilNoProcessOn(folder);
    }
    await expectRecovery(folder, []);
  });

  it('under load leaves no process and loses no acknowledged row, also when the next start does not wait', async () => {
    const folder = path.join(scratch, 'running');
    const acknowledged: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const owner = startOwner({ folder });
      const writer = await write(await urlOf(owner), round * 1_000_000);
      await until(() => writer.acknowledged.length > 100);
      owner.kill('SIGKILL');
      await Promise.all([owner.ended, writer.stopped]);
      acknowledged.push(...writer.acknowledged);
      if (round === 0) await untilNoProcessOn(folder);
    }
    await expectRecovery(folder, acknowledged);
  });

  it('in the middle of a stop leaves no process and loses nothing', async () => {
    const folder = path.join(scratch, 'stopping');
    const owner = startOwner({ folder });
    const writer = await write(await urlOf(owner), 0);
    await until(() => writer.acknowledged.length > 10);
    owner.askToStop();
    await owner.printed('stopping');
    owner.kill('SIGKILL');
    await Promise.all([owner.ended, writer.stopped]);
    await untilNoProcessOn(folder);
    await expectRecovery(folder, writer.acknowledged);
  });

  it('together with the outer guard still leaves no process', async () => {
    const folder = path.join(scratch, 'guard');
    const owner = startOwner({ folder });
    const { pid } = await owner.printed('up');
    const guard = parentOf(Number(pid));
    process.kill(owner.pid, 'SIGSTOP'); // so that it cannot notice
    process.kill(guard, 'SIGKILL');
    owner.kill('SIGKILL');
    await owner.ended;
    await untilNoProcessOn(folder);
    await expectRecovery(folder, []);
  });

  it('together with every guard leaves a server that the next start ends', async () => {
    const folder = path.join(scratch, 'orphan');
    const owner = startOwner({ folder });
    const writer = await write(await urlOf(owner), 0);
    const { pid } = await owner.printed('up');
    await until(() => writer.acknowledged.length > 10);
    process.kill(owner.pid, 'SIGSTOP');
    for (const guard of processesOn(folder).filter((one) => nameOf(one) === 'bash')) process.kill(guard, 'SIGKILL');
    owner.kill('SIGKILL');
    await owner.ended;
    expect(processesOn(folder)).toContain(Number(pid));
    await expectRecovery(folder, writer.acknowledged);
    await writer.stopped;
  });

  it('and of every process but one that does not notice still lets the next start work', async () => {
    const folder = path.join(scratch, 'straggler');
    const owner = startOwner({ folder });
    const { pid } = await owner.printed('up');
    const straggler = await aChildOf(Number(pid), folder);
    process.kill(straggler, 'SIGSTOP');
    process.kill(owner.pid, 'SIGSTOP');
    for (const guard of processesOn(folder).filter((one) => nameOf(one) === 'bash')) process.kill(guard, 'SIGKILL');
    process.kill(Number(pid), 'SIGKILL');
    owner.kill('SIGKILL');
    await owner.exited; // its output stays open as long as the straggler holds it
    expect(processesOn(folder)).toContain(straggler);
    await expectRecovery(folder, []);
  });
});

const statusOf = (pid: number): string => readFileSync(`/proc/${pid}/status`, 'utf8');
const parentOf = (pid: number): number => Number(/^PPid:\s+(\d+)/m.exec(statusOf(pid))?.[1]);
const nameOf = (pid: number): string => /^Name:\s+(\S+)/.exec(statusOf(pid))?.[1] ?? '';

/** A process that the server started for itself, such as its checkpointer. */
async function aChildOf(server: number, folder: string): Promise<number> {
  const children = await eventually(
    () => processesOn(folder).filter((pid) => isThere(pid) && parentOf(pid) === server),
    (found) => found.length > 0,
  );
  return Number(children[0]);
}

function pidOf(server: EmbeddedPostgres): number {
  const pid = server.pid();
  if (pid === null) throw new Error('there is no server to kill');
  return pid;
}

const isThere = (pid: number): boolean => existsSync(`/proc/${pid}/status`);

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  if (isThere(pid)) process.kill(pid, signal);
}

/** Time that stands still while the gate is closed. */
function createGate(): { readonly passed: Promise<void>; open: () => void; close: () => void } {
  let passed = Promise.resolve();
  let release = (): void => undefined;
  return {
    get passed() {
      return passed;
    },
    open: () => release(),
    close: () => {
      passed = new Promise((resolve) => (release = resolve));
    },
  };
}

describe('while its owner lives', () => {
  let folder: string;
  let server: EmbeddedPostgres;
  const log = createRecordedLog();
  beforeAll(async () => {
    folder = path.join(scratch, 'supervised');
    server = await startEmbeddedPostgres({ folder, log, clock: systemClock });
  });
  afterAll(() => server.stop());

  const backAfter = async (before: number | null): Promise<void> => {
    await until(() => server.state() === 'running' && server.pid() !== null && server.pid() !== before);
  };

  it('a server killed under load is brought back on its port with every acknowledged row', async () => {
    const pid = pidOf(server);
    const writers: Writer[] = [];
    for (const lane of [1, 2, 3]) writers.push(await write(server.url, lane * 1_000_000));
    await until(() => writers.every(({ acknowledged }) => acknowledged.length > 100));
    process.kill(pid, 'SIGKILL');
    await Promise.all(writers.map(({ stopped }) => stopped));
    await backAfter(pid);
    const acknowledged = writers.flatMap((writer) => writer.acknowledged);
    expect(await missingFrom(server.url, acknowledged)).toEqual([]);
    expect(log.entries.filter(({ event }) => event === 'postgres.died' || event === 'postgres.restarted')).toHaveLength(2);
  });

  it('a guard that is killed ends the server, and both are restarted', async () => {
    const pid = pidOf(server);
    const before = await rowsOf(server.url);
    process.kill(parentOf(pid), 'SIGKILL');
    await backAfter(pid);
    expect(await rowsOf(server.url)).toEqual(before);
    expect(processesOn(folder)).not.toContain(pid);
  });

  it('a backend that is killed leaves the server process running', async () => {
    const pid = pidOf(server);
    const client = new pg.Client(server.url);
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const gone = new Promise<void>((resolve) => client.on('end', resolve));
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
    await gone;
    await eventually(
      () => rowsOf(server.url).catch(() => null),
      (found) => found !== null,
    );
    expect(server.pid()).toBe(pid);
  });

  it('a server whose port was taken while it was down waits for the port', async () => {
    const gate = createGate();
    const said = createRecordedLog();
    const clock: Clock = { ...systemClock, sleep: (ms, signal) => gate.passed.then(() => systemClock.sleep(ms, signal)) };
    gate.open();
    const other = await startEmbeddedPostgres({ folder: path.join(scratch, 'port'), log: said, clock });
    gate.close();
    process.kill(pidOf(other), 'SIGKILL');
    await until(() => other.state() === 'restarting');
    const thief = createServer().listen(other.port, '127.0.0.1');
    await once(thief, 'listening');
    gate.open();
    await until(() => said.entries.some(({ event }) => event === 'postgres.start-again'));
    thief.close();
    await until(() => other.state() === 'running');
    expect(said.entries.find(({ event }) => event === 'postgres.restarted')?.fields).toMatchObject({ port: other.port });
    await other.stop();
  });

  it('a server whose data is gone is given up in one sentence', async () => {
    let haste = 1; // only once it runs: a first start in a hurry would give up on a busy machine
    const hurried: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / haste, signal) };
    const lost = path.join(scratch, 'lost');
    let give: (error: StoreStartError) => void = () => undefined;
    const given = new Promise<StoreStartError>((resolve) => (give = resolve));
    const other = await startEmbeddedPostgres({ folder: lost, log: createRecordedLog(), clock: hurried, onFailure: give });
    haste = 20;
    const pid = pidOf(other);
    await rm(path.join(other.dataFolder, 'global'), { recursive: true });
    signalIfThere(pid, 'SIGKILL'); // it may have noticed by itself
    expect(await given).toMatchObject({ name: 'StoreStartError', problem: 'server-failed' });
    expect(processesOn(lost)).toEqual([]);
  });

  it('a process that does not leave with its server is ended, and the server comes back', async () => {
    const stuck = path.join(scratch, 'stuck');
    const said = createRecordedLog();
    const other = await startEmbeddedPostgres({ folder: stuck, log: said, clock: systemClock });
    const pid = pidOf(other);
    const straggler = await aChildOf(pid, stuck);
    process.kill(straggler, 'SIGSTOP');
    process.kill(pid, 'SIGKILL');
    await until(() => other.state() === 'running' && other.pid() !== pid);
    expect(processesOn(stuck)).not.toContain(straggler);
    expect(said.entries.find(({ event }) => event === 'postgres.straggler')?.fields).toMatchObject({ pid: straggler });
    await other.stop();
    expect(processesOn(stuck)).toEqual([]);
  });

  it('a stop in the middle of a restart ends everything', async () => {
    const other = await start(path.join(scratch, 'restarting'));
    process.kill(pidOf(other), 'SIGKILL');
    await until(() => other.state() === 'restarting');
    await other.stop();
    expect(processesOn(path.join(scratch, 'restarting'))).toEqual([]);
  });
});

describe('two starters', () => {
  it.each(['without data', 'on the same data'])(
    'that race %s: one wins, the other is refused with the process that has the folder',
    async () => {
      const folder = path.join(scratch, 'race');
      const owners = [startOwner({ folder, manner: 'careless' }), startOwner({ folder, manner: 'careless' })];
      await until(() => owners.every(({ lines }) => lines.some(({ event }) => event === 'up' || event === 'failed')));
      const winner = owners.find(({ lines }) => lines.some(({ event }) => event === 'up'));
      const loser = owners.find((owner) => owner !== winner);
      expect(loser?.lines.at(-1)).toEqual({
        event: 'failed',
        problem: 'folder-in-use',
        message: `The database folder ${folder} is in use by process ${winner?.pid}.`,
      });
      expect(await loser?.ended).toBe(1);
      expect(await readdir(folder)).toEqual(['cluster']);
      winner?.askToStop();
      expect(await winner?.ended).toBe(0);
      expect(processesOn(folder)).toEqual([]);
    },
  );
});

describe('Ctrl-C', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('(%s to the whole process group) leaves the server to its owner', async (signal) => {
    const folder = path.join(scratch, 'group');
    const owner = startOwner({ folder, inOwnGroup: true });
    const { pid } = await owner.printed('up');
    const url = await urlOf(owner);
    process.kill(-owner.pid, signal);
    await owner.printed(signal);
    const client = new pg.Client(url);
    await client.connect();
    await client.query('select pg_sleep(0.1)');
    await client.end();
    expect(processesOn(folder)).toContain(Number(pid));
    expect(sessionOf(Number(pid))).toBe(sessionOf(owner.pid));
    owner.askToStop();
    expect(await owner.ended).toBe(0);
    expect(processesOn(folder)).toEqual([]);
  });
});

function sessionOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3];
}
