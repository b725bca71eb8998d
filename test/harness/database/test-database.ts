import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** Longer than in production: a slow machine is not a fault of the database. */
const PATIENCE_S = '15';

export interface TestDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

/** A migrated database of one's own on the server of this run, copied from the run's template: `beforeAll(create)`, `afterAll(drop)`. */
export const createTestDatabase = (): Promise<TestDatabase> => createDatabase(`template ${required('TEST_DATABASE_TEMPLATE')}`);

/** A database without a table, for tests of migrations and of the start. */
export const createEmptyTestDatabase = (options = ''): Promise<TestDatabase> => createDatabase(options);

/** A copy of this moment of another test database, which loses its connections for it, as when a server is replaced. */
export async function copyTestDatabase({ url }: Pick<TestDatabase, 'url'>): Promise<TestDatabase> {
  const source = new URL(url).pathname.slice(1);
  await asAdministrator(`alter database ${source} allow_connections false`);
  try {
    await asAdministrator(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${source}'`);
    return await createDatabase(`template ${source}`);
  } finally {
    await asAdministrator(`alter database ${source} allow_connections true`);
  }
}

/** As when its server restarts, or another one takes over. */
export const cutConnections = ({ url }: Pick<TestDatabase, 'url'>): Promise<void> =>
  asAdministrator(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${new URL(url).pathname.slice(1)}'`);

/** The copy takes the place of the other, as when a standby takes over that has only what was committed before the copy was made. */
export async function goBackTo({ url: copy }: Pick<TestDatabase, 'url'>, { url }: Pick<TestDatabase, 'url'>): Promise<void> {
  const [name, former] = [url, copy].map((each) => new URL(each).pathname.slice(1));
  await asAdministrator(`alter database ${name} allow_connections false`);
  await asAdministrator(`drop database ${name} with (force)`);
  await asAdministrator(`alter database ${former} rename to ${name}`);
}

async function createDatabase(options: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdministrator(`create database ${name} strategy file_copy ${options}`);
  const url = new URL(required('TEST_DATABASE_URL'));
  url.pathname = `/${name}`;
  url.searchParams.set('connect_timeout', PATIENCE_S);
  return {
    url: url.href,
    drop: () => asAdministrator(`drop database if exists ${name} with (force)`),
  };
}

function required(variable: string): string {
  const value = process.env[variable];
  if (value === undefined) throw new Error(`${variable} is not set: the global setup of jest starts the database server and sets it.`);
  return value;
}

async function asAdministrator(statement: string): Promise<void> {
  const client = new pg.Client(required('TEST_DATABASE_URL'));
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
