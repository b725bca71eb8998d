import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { migrate } from '../../../core/adapters/postgres/migrate.js';
import { systemClock } from '../../../core/adapters/system/clock.js';
import type { Logger } from '../../../core/ports/log.js';
import { makeDataFolder } from './temporary-folder.js';

const say = (event: string, fields?: unknown): void => console.error(event, fields);
const nothing = (): void => undefined;
const log: Logger = { debug: nothing, info: nothing, warn: nothing, error: say, child: () => log };

/**
 * One server for the whole run, with a migrated database that each test database is copied from. The server ends with this process, however
 * that ends. `TEST_DATABASE_URL` names another one to use. Workers are started afterwards and inherit the environment.
 */
export async function startTestServer(environment: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  if (environment['TEST_DATABASE_TEMPLATE'] !== undefined) return () => Promise.resolve(); // a run within a run
  const template = `test_template_${randomBytes(8).toString('hex')}`;
  const given = environment['TEST_DATABASE_URL'];
  const server =
    given === undefined ? await startServer() : { url: given, stop: () => administer(given, `drop database if exists ${template}`) };
  await administer(server.url, `create database ${template}`);
  const url = new URL(server.url);
  url.pathname = `/${template}`;
  await migrate({ url: url.href, log });
  environment['TEST_DATABASE_URL'] = server.url;
  environment['TEST_DATABASE_TEMPLATE'] = template;
  return () => server.stop();
}

/** Every file has new connections to new tables of few rows: planning and tidying take longer than any plan or any dead row. */
const SETTINGS = ['plan_cache_mode = force_generic_plan', 'autovacuum = off', 'update_process_title = off'];

async function startServer(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = await makeDataFolder('diamond-gateway-test');
  const server = await startEmbeddedPostgres({ folder, log, clock: systemClock, durable: false });
  const { username, password } = new URL(server.url);
  for (const setting of SETTINGS) await administer(server.url, `alter system set ${setting}`);
  await administer(server.url, 'select pg_reload_conf()');
  // Thousands of connections are opened, and with the usual iterations the password of each costs both sides more than its statements.
  await administer(server.url, `set scram_iterations = 1; alter role ${username} password '${password}'`);
  return {
    url: server.url,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function administer(server: string, statement: string): Promise<void> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
