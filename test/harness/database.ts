import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

/** An empty database of one's own on the server of this run: `beforeAll(create)`, `afterAll(drop)`. */
export async function createTestDatabase(options = ''): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdministrator(`create database ${name} strategy file_copy ${options}`);
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asAdministrator(`drop database if exists ${name} with (force)`) };
}

function serverUrl(): string {
  const url = process.env['TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('The test run has no database server: it is started by the global setup of jest.');
  return url;
}

async function asAdministrator(statement: string): Promise<void> {
  const client = new pg.Client(serverUrl());
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
