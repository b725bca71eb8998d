import { chown, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { openDatabase } from '../../../../core/adapters/postgres/open-database.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { createAuthority, type Certified } from '../../../harness/process/certificate.js';
import { eventually } from '../../../harness/time/eventually.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { makeTemporaryFolder } from '../../../harness/database/temporary-folder.js';

const ours = createAuthority();
const others = createAuthority('Somebody else');

let folder: string;
let server: EmbeddedPostgres;
let withoutTls: Promise<unknown>;

beforeAll(async () => {
  folder = await makeTemporaryFolder('diamond-gateway-tls');
  server = await startEmbeddedPostgres({ folder, log: createRecordedLog(), clock: systemClock, durable: false });
  withoutTls = open({ sslmode: 'require' }).catch((error: unknown) => error);
  await withoutTls;
  await serveTls(ours.issue('127.0.0.1'));
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The server reads its key only if no other account can. */
async function serveTls({ key, cert }: Certified): Promise<void> {
  const { uid, gid } = await stat(server.dataFolder);
  for (const [name, text] of Object.entries({ 'own.key': key, 'own.crt': cert })) {
    const file = path.join(server.dataFolder, name);
    await writeFile(file, text, { mode: 0o600 });
    await chown(file, uid, gid);
  }
  const client = new pg.Client(server.url);
  await client.connect();
  for (const setting of ["ssl_key_file = 'own.key'", "ssl_cert_file = 'own.crt'", 'ssl = on'])
    await client.query(`alter system set ${setting}`);
  await client.query('select pg_reload_conf()');
  await eventually(
    async () => (await client.query<{ ssl: string }>('show ssl')).rows[0]?.ssl,
    (ssl) => ssl === 'on',
  );
  await client.end();
}

interface Wish {
  readonly sslmode?: string;
  readonly ca?: string;
  readonly host?: string;
}

function open({ sslmode, ca, host = '127.0.0.1' }: Wish) {
  const url = new URL(server.url);
  url.hostname = host;
  if (sslmode !== undefined) url.searchParams.set('sslmode', sslmode);
  return openDatabase({ kind: 'server', url: url.href, ...(ca === undefined ? {} : { ca }), clock: systemClock, log: createRecordedLog() });
}

const SEEN = `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name like 'diamond-gateway%'`;

/** Whether the server sees each connection of the store encrypted, those outside the pool included. */
async function encryption(wish: Wish): Promise<readonly boolean[]> {
  const store = await open(wish);
  try {
    const lease = await store.tracking.lease('base');
    await store.journal.listen(() => undefined);
    const seen = async (): Promise<boolean[]> => (await store.db.raw<{ rows: { ssl: boolean }[] }>(SEEN)).rows.map(({ ssl }) => ssl);
    const all = await eventually(seen, (found) => found.length >= 3);
    await lease?.release();
    return [...new Set(all)];
  } finally {
    await store.close();
  }
}

const refusal = (wish: Wish): Promise<Error> =>
  open(wish).then(
    async (store) => {
      await store.close();
      return new Error('it was opened');
    },
    (error: unknown) => error as Error,
  );

describe('a database server with a certificate', () => {
  it.each([
    ['by the authority that is named', { sslmode: 'verify-full', ca: ours.cert }, true],
    ['by the authority that is named, which asks for it by itself', { ca: ours.cert }, true],
    ['by one of several authorities that are named', { sslmode: 'require', ca: `${others.cert}\n${ours.cert}` }, true],
    ['by an unknown authority, where that is allowed', { sslmode: 'no-verify' }, true],
    ['that is not asked for', { sslmode: 'disable' }, false],
    ['where nothing is said', {}, false],
  ] as const)('%s: every connection is as it was asked for', async (_which, wish, isEncrypted) => {
    expect(await encryption(wish)).toEqual([isEncrypted]);
  });

  it.each([
    ['its authority is not named', { sslmode: 'require' }],
    ['another authority is named', { sslmode: 'verify-full', ca: others.cert }],
    ['it is for another name', { ca: ours.cert, host: 'localhost' }],
  ] as const)('is refused at once when %s, with what to do about it and no password', async (_why, wish) => {
    const { message } = await refusal(wish);
    expect(message).toMatch(/^The database postgres:\/\/(?:127\.0\.0\.1|localhost):\d+\/… cannot be used: .*DATABASE_CA_FILE/);
    expect(message).not.toContain(new URL(server.url).password);
  });
});

it('is refused without encryption where it was asked for', async () => {
  expect(await withoutTls).toMatchObject({
    problem: 'unreachable',
    message: expect.stringContaining('The server does not support SSL connections'),
  });
});
