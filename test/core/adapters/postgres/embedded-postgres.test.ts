import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, chown, lstat, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { packagedBinaries } from '../../../../core/adapters/postgres/embedded/binaries.js';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from '../../../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { makeTemporaryFolder } from '../../../harness/database/temporary-folder.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { eventually } from '../../../harness/time/eventually.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { processesOn, startOwner } from './owner.js';

const isRoot = process.getuid?.() === 0;
const whenRoot = isRoot ? it : it.skip;
const log = createRecordedLog();
let scratch: string;
/** A cluster that was stopped properly; tests that need data to begin with take a copy. */
let seed: string;
/** Kept by the start of the seed. */
let patterns: string;

const start = (folder: string, options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> =>
  startEmbeddedPostgres({ folder, log, clock: systemClock, durable: false, ...options });

async function seeded(name: string): Promise<string> {
  const folder = path.join(scratch, name);
  await copy(seed, folder);
  return folder;
}

/** A folder with owners, times and links as they are. Node's own copy takes three times the processor time for a thousand small files. */
async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}

async function ask<Row extends pg.QueryResultRow>(url: string, query: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  return client.query<Row>(query).then(
    async ({ rows }) => client.end().then(() => rows),
    async (error: unknown) => {
      await client.end();
      throw error;
    },
  );
}

/** Initialising needs an account with a name. */
function aNormalUser(): number {
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n');
  return accounts.map((line) => Number(line.split(':')[2])).find((uid) => uid > 0 && uid < 65_534) ?? 1;
}

/** A copy of the package as it is before its install script ran. */
async function withoutLinks(name: string): Promise<string> {
  const native = path.join(scratch, name, 'native');
  await mkdir(path.dirname(native));
  await copy(packagedBinaries(), native);
  for (const file of await readdir(path.join(native, 'lib')))
    if ((await lstat(path.join(native, 'lib', file))).isSymbolicLink()) await unlink(path.join(native, 'lib', file));
  return native;
}

/** As the server itself would have left it. */
async function leaveLock(folder: string, content: string): Promise<void> {
  const data = path.join(folder, 'cluster/data');
  const lock = path.join(data, 'postmaster.pid');
  await writeFile(lock, content, { mode: 0o600 });
  const { uid, gid } = await stat(data);
  if (isRoot) await chown(lock, uid, gid);
}

beforeAll(async () => {
  scratch = await makeTemporaryFolder('diamond-gateway-embedded');
  [seed, patterns] = ['seed', 'patterns'].map((name) => path.join(scratch, name)) as [string, string];
  const server = await start(seed, { patterns });
  await ask(server.url, 'create table kept (word text)');
  await ask(server.url, `insert into kept values ('before')`);
  await server.stop();
});

afterAll(async () => {
  expect(processesOn(scratch)).toEqual([]);
  await rm(scratch, { recursive: true, force: true });
});

describe('a pattern of a cluster', () => {
  it('is kept by the first start and copied by the next ones, also two at once', async () => {
    const kept = [expect.stringMatching(/^cluster-[0-9a-f]{12}$/)];
    expect(await readdir(patterns)).toEqual(kept);
    const others = await Promise.all(['second', 'third'].map((name) => start(path.join(scratch, name), { patterns })));
    for (const other of others) {
      expect(other.isNew).toBe(true);
      await expect(ask(other.url, 'select word from kept')).rejects.toMatchObject({ code: '42P01' });
    }
    await Promise.all(others.map((server) => server.remove()));
    expect(await readdir(patterns)).toEqual(kept);
  });

  it('that others could have changed is not used, and one that cannot be kept is no fault', async () => {
    const shared = path.join(scratch, 'shared-patterns');
    await copy(patterns, shared);
    const [name = ''] = await readdir(shared);
    await chmod(path.join(shared, name), 0o777);
    await rm(path.join(shared, name, 'data/PG_VERSION'));
    await (await start(path.join(scratch, 'careful'), { patterns: shared })).remove();
    const file = path.join(scratch, 'a-file');
    await writeFile(file, '');
    await (await start(path.join(scratch, 'without'), { patterns: path.join(file, 'patterns') })).remove();
  });

  it('is not used for data that has to survive: each such cluster has its own password', async () => {
    const unused = path.join(scratch, 'no-patterns');
    await (await start(path.join(scratch, 'durable'), { patterns: unused, durable: true })).remove();
    await expect(readdir(unused)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('the embedded server', () => {
  let server: EmbeddedPostgres;
  let folder: string;
  let neighbour: ChildProcess;
  beforeAll(async () => {
    folder = await seeded('running');
    await mkdir(path.join(folder, 'cluster.new-999999999-1-abcd/data'), { recursive: true });
    await writeFile(path.join(folder, 'notes.txt'), 'mine');
    neighbour = spawn('sleep', ['600'], isRoot ? { uid: 65_534 } : {});
    await leaveLock(folder, `${neighbour.pid}\n/elsewhere\n0\n1\n\n127.0.0.1\n\nready\n`);
    server = await start(folder, { binaries: await withoutLinks('package') });
  });
  afterAll(async () => {
    await server.stop();
    neighbour.kill();
  });

  it('takes over from a lock whose process number belongs to another program by now, and leaves that program alone', () =>
    expect(neighbour.exitCode ?? neighbour.signalCode).toBeNull());

  it('removes what a starter that is gone left half-made, and nothing else', async () =>
    expect((await readdir(folder)).sort()).toEqual(['cluster', 'notes.txt']));

  it('needs no install script: it makes the links of its libraries itself', async () =>
    expect((await readdir(path.join(scratch, 'package/native/lib'))).sort()).toEqual(
      (await readdir(path.join(packagedBinaries(), 'lib'))).sort(),
    ));

  it('has what was written before it was stopped', async () => {
    expect(server.isNew).toBe(false);
    expect(await ask(server.url, 'select word from kept')).toEqual([{ word: 'before' }]);
  });

  it('refuses a wrong password, no password, and another role', async () => {
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(ask(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    const none = new URL(server.url);
    none.password = '';
    await expect(ask(none.href, 'select 1')).rejects.toThrow(/password/i);
    const other = new URL(server.url);
    other.username = 'postgres';
    await expect(ask(other.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  it('trusts no address and stores only a scram verifier', async () => {
    const rules = await ask<{ auth_method: string }>(server.url, 'select distinct auth_method from pg_hba_file_rules');
    expect(rules).toEqual([{ auth_method: 'scram-sha-256' }]);
    const [role] = await ask<{ rolpassword: string }>(server.url, 'select rolpassword from pg_authid where rolcanlogin');
    expect(role?.rolpassword).toMatch(/^SCRAM-SHA-256\$/);
  });

  it('shows its password in no command line, no environment, no log and no file that others can read', async () => {
    const password = new URL(server.url).password;
    expect(password.length).toBeGreaterThanOrEqual(32);
    const processes = processesOn(folder);
    expect(processes.length).toBeGreaterThan(4);
    for (const pid of processes)
      for (const file of ['cmdline', 'environ']) expect(readFileSync(`/proc/${pid}/${file}`, 'utf8')).not.toContain(password);
    expect(JSON.stringify(log.entries)).not.toContain(password);
    const file = await stat(path.join(folder, 'cluster/password'));
    expect(file.mode & 0o777).toBe(0o600);
    expect(file.uid).toBe(process.getuid?.());
  });

  it('knows nothing of our environment', () => {
    for (const pid of processesOn(folder)) expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('TEST_DATABASE_URL');
  });

  it('keeps its data in a folder that is private to its account, and root runs it as another account', async () => {
    const data = await stat(server.dataFolder);
    expect(data.mode & 0o777).toBe(0o700);
    const status = readFileSync(`/proc/${server.pid()}/status`, 'utf8');
    const [, uid] = /^Uid:\s+(\d+)/m.exec(status) ?? [];
    expect(Number(uid)).toBe(data.uid);
    expect(Number(uid)).not.toBe(0);
  });

  it('listens on loopback only and on no socket file', async () => {
    const [settings] = await ask<{ sockets: string; addresses: string }>(
      server.url,
      `select current_setting('unix_socket_directories') as sockets, current_setting('listen_addresses') as addresses`,
    );
    expect(settings).toEqual({ sockets: '', addresses: '127.0.0.1' });
    const outside = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal);
    if (outside === undefined) return;
    const url = new URL(server.url);
    url.hostname = outside.address;
    await expect(ask(url.href, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('refuses a second server on its folder and names the process that has it', async () => {
    await expect(start(folder)).rejects.toMatchObject({
      problem: 'folder-in-use',
      message: `The database folder ${folder} is in use by process ${process.pid}.`,
    });
    expect(await ask(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('a stop', () => {
  it('ends every process, also with a client in the middle of a transaction, and may be asked for twice', async () => {
    const folder = await seeded('stopped');
    const link = path.join(scratch, 'link');
    await symlink(folder, link); // a folder may be reached through a link
    const server = await start(link);
    await expect(start(folder)).rejects.toMatchObject({ problem: 'folder-in-use' });
    const client = new pg.Client(server.url);
    const dropped = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await client.query(`begin; insert into kept values ('never acknowledged')`);
    await Promise.all([server.stop(), server.stop()]);
    expect([...processesOn(folder), ...processesOn(link)]).toEqual([]);
    expect(server.state()).toBe('stopped');
    await dropped;
    await leaveLock(folder, ''); // one that was made and never written
    const again = await start(folder);
    expect(await ask(again.url, 'select word from kept')).toEqual([{ word: 'before' }]);
    await again.remove();
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a start', () => {
  it('that is interrupted while the data is made leaves nothing behind', async () => {
    const folder = path.join(scratch, 'interrupted');
    const interruption = new AbortController();
    const starting = start(folder, { signal: interruption.signal });
    const outcome = expect(starting).rejects.toMatchObject({ problem: 'interrupted' });
    await eventually(
      () => readdir(folder).catch(() => []),
      (entries) => entries.some((name) => name.startsWith('cluster.new-')),
    );
    interruption.abort();
    await outcome;
    expect(await readdir(folder)).toEqual([]);
    expect(processesOn(folder)).toEqual([]);
  });
});

describe('a start that cannot be is one clear sentence:', () => {
  it('a folder that is a file', async () => {
    const folder = path.join(scratch, 'file');
    await writeFile(folder, '');
    await expect(start(folder)).rejects.toMatchObject({
      problem: 'folder-unusable',
      message: `The database folder ${folder} cannot be used: it is a file, not a folder.`,
    });
  });

  it('data of another major version, without its password, or with holes', async () => {
    const folder = await seeded('unusable');
    const [version, password] = [path.join(folder, 'cluster/data/PG_VERSION'), path.join(folder, 'cluster/password')];
    const right = await readFile(version);
    await writeFile(version, '17\n');
    await expect(start(folder)).rejects.toMatchObject({
      message: `The database folder ${folder} cannot be used: it was made by PostgreSQL 17 and this is PostgreSQL 18.`,
    });
    await writeFile(version, right);
    await rename(password, `${password}.away`);
    await expect(start(folder)).rejects.toMatchObject({ problem: 'folder-damaged' });
    await rename(`${password}.away`, password);
    await rm(path.join(folder, 'cluster/data/global'), { recursive: true });
    await expect(start(folder)).rejects.toThrow(/^PostgreSQL could not start on the folder .*: .*\.$/);
    expect(processesOn(folder)).toEqual([]);
  });

  it('a package without its binary', async () => {
    const binaries = path.join(scratch, 'nothing');
    await mkdir(binaries);
    await expect(start(path.join(scratch, 'unborn'), { binaries })).rejects.toMatchObject({
      problem: 'package-missing',
      message: `There is no PostgreSQL in ${binaries}: install its package again, or set DATABASE_URL.`,
    });
  });

  it('a binary that does not run here', async () => {
    const binaries = path.join(scratch, 'foreign');
    await mkdir(path.join(binaries, 'bin'), { recursive: true });
    for (const part of ['lib', 'share']) await mkdir(path.join(binaries, part));
    await writeFile(path.join(binaries, 'pg-symlinks.json'), '[]');
    await writeFile(path.join(binaries, 'bin/postgres'), '#!/no/such/loader\n', { mode: 0o755 });
    await expect(start(path.join(scratch, 'unborn-too'), { binaries })).rejects.toMatchObject({ problem: 'unsupported' });
  });
});

describe('root and others', () => {
  const normalUid = aNormalUser();

  whenRoot('a normal user runs the server as itself, from a private copy where its package is incomplete and read-only', async () => {
    const native = path.join(scratch, 'roots-package/native');
    await mkdir(path.dirname(native));
    await copy(packagedBinaries(), native);
    await unlink(path.join(native, 'lib/libicuuc.so.60'));
    const folder = path.join(scratch, 'users/own');
    await mkdir(folder, { recursive: true });
    await chown(path.dirname(folder), normalUid, normalUid);
    await chown(folder, normalUid, normalUid);
    const owner = startOwner({ folder, manner: 'careless', uid: normalUid, binaries: native });
    const { dataFolder } = await owner.printed('up');
    expect((await stat(String(dataFolder))).uid).toBe(normalUid);
    expect((await stat(path.join(folder, 'cluster'))).mode & 0o777).toBe(0o700);
    owner.askToStop();
    expect(await owner.ended).toBe(0);
    expect(processesOn(folder)).toEqual([]);
    expect(await readdir(folder)).toEqual(expect.arrayContaining([expect.stringMatching(/^native-[0-9a-f]{12}$/)]));
    await rm(path.dirname(native), { recursive: true });
    const asRoot = await start(folder);
    expect(await ask(asRoot.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await asRoot.stop();
  });

  whenRoot('a normal user who may not write the folder is refused with that reason', async () => {
    const folder = path.join(scratch, 'roots-own');
    await mkdir(folder);
    await chmod(folder, 0o755);
    const owner = startOwner({ folder, uid: normalUid });
    expect(await owner.ended).toBe(1);
    expect(owner.lines.at(-1)).toEqual({
      event: 'failed',
      problem: 'folder-unusable',
      message: `The database folder ${folder} cannot be used: this user may not write there.`,
    });
  });

  whenRoot('root starts it from inside a folder that only root can enter', async () => {
    const closed = await mkdtemp(path.join(tmpdir(), 'diamond-gateway-closed-')); // 0700, as /root is
    const native = path.join(closed, 'native');
    await copy(packagedBinaries(), native);
    const server = await start(path.join(closed, 'data'), { binaries: native, patterns });
    expect(server.dataFolder.startsWith('/var/lib/diamond-gateway/')).toBe(true);
    expect(await ask(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.stop();
    const again = await start(path.join(closed, 'data'), { binaries: native });
    expect(again.isNew).toBe(false);
    await again.remove();
    await expect(readFile(path.join(server.dataFolder, 'PG_VERSION'))).rejects.toMatchObject({ code: 'ENOENT' });
    await rm(closed, { recursive: true });
  });
});
