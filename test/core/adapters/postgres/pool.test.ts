import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { asFault, isUnavailable } from '../../../../core/adapters/postgres/faults.js';
import { ask, statement } from '../../../../core/adapters/postgres/statement.js';
import { openDatabase } from '../../../../core/adapters/postgres/open-database.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { CHAIN_SLUGS, chainVariable } from '../../../../core/chains/chains.js';
import { readConfig } from '../../../../core/config/config.js';
import type { Lease } from '../../../../core/ports/stores/tracking.js';
import { openDatabaseLine } from '../../../harness/process/database-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

let server: TestDatabase;
beforeAll(async () => (server = await createTestDatabase()));
afterAll(() => server.drop());

const SHARED = 3;

it('leaves requests their connections while every chain is followed and every wallet sends', async () => {
  const each = (name: string, value: (n: number) => string) =>
    Object.fromEntries(CHAIN_SLUGS.map((slug, n) => [chainVariable(name, slug), value(n + 1)]));
  const { database, chains } = readConfig({
    DATABASE_URL: server.url,
    DATABASE_POOL: String(SHARED),
    ...each('RPC_URL', () => 'https://rpc.example'),
    ...each('RELAYER_KEY', (n) => `0x${String(n).repeat(64)}`),
  });
  const store = await openDatabase({ ...database, clock: systemClock, log: createRecordedLog() });
  const leases: (Lease | null)[] = [];
  for (const { chain } of chains) {
    leases.push(await store.tracking.lease(chain.slug));
    leases.push(await store.relay.lease(chain.slug, `0x${'ab'.repeat(20)}`));
  }
  expect(leases).toHaveLength(2 * CHAIN_SLUGS.length);
  expect(leases.every((lease) => lease?.isHeld())).toBe(true);

  // All of them at the same time: none waits for a connection that another has.
  let arrived = 0;
  let begin: () => void = () => undefined;
  const allStarted = new Promise<void>((resolve) => (begin = resolve));
  const request = (): Promise<void> =>
    store.transaction(async (trx) => {
      arrived += 1;
      if (arrived === SHARED) begin();
      await allStarted;
      await trx.raw('select 1');
    });
  try {
    await Promise.all(Array.from({ length: SHARED }, request));
  } finally {
    await Promise.all(leases.map(async (lease) => lease?.release()));
    await store.close();
  }
});

it('lends no connection on which the server has fallen silent', async () => {
  const proxy = await openDatabaseLine(server.url);
  const limits = { statementMs: 2_000, lockMs: 2_000, idleTransactionMs: 2_000 };
  const db = connectDatabase({ url: proxy.url, log: createRecordedLog(), poolSize: 1, limits });
  const look = statement('select 1 as one');
  try {
    await ask(db, look, {});
    proxy.abandon();
    const failure: unknown = await ask(db, look, {}).catch((error: unknown) => error);
    expect(isUnavailable(failure)).toBe(true);
    expect(await ask(db, look, {})).toEqual([{ one: 1 }]);
    proxy.abandon();
    await expect(Promise.all([db.raw('select 1'), db.raw('select 1')])).rejects.toThrow('Connection terminated');
    await db.raw('select 1');
  } finally {
    await proxy.close();
    await db.destroy();
  }
});

it('gives a new connection as many seconds as the URL says', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const limits = { connectMs: 600_000, statementMs: 600_000, lockMs: 600_000, idleTransactionMs: 600_000 };
  const url = `postgres://a:b@127.0.0.1:${port}/c?connect_timeout=1`;
  const db = connectDatabase({ url, log: createRecordedLog(), poolSize: 1, limits });
  try {
    const failure: unknown = await ask(db, statement('select 1'), {}).catch((error: unknown) => error);
    expect(isUnavailable(failure)).toBe(true);
  } finally {
    await db.destroy();
    silent.close();
  }
});

it('connects however long the URL would wait', async () => {
  const url = new URL(server.url);
  url.searchParams.set('connect_timeout', '9999999999');
  const db = connectDatabase({ url: url.href, log: createRecordedLog(), poolSize: 1 });
  try {
    expect(await ask(db, statement('select 1 as one'), {})).toEqual([{ one: 1 }]);
  } finally {
    await db.destroy();
  }
});

it('names the limit that a request reached: a server that is busy is not one that is away', async () => {
  const limits = { connectMs: 100, statementMs: 200, lockMs: 50, idleTransactionMs: 5_000 };
  const [db, other] = [
    connectDatabase({ url: server.url, log: createRecordedLog(), limits, poolSize: 1 }),
    connectDatabase({ url: server.url, log: createRecordedLog() }),
  ];
  const failure = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => asFault(error));
  const reason = (text: string) => ({ code: 'NOT_READY', details: { reason: text } });
  expect(await failure(db.raw('select pg_sleep(5)'))).toMatchObject(reason('the database took too long for a statement'));
  await other.transaction(async (trx) => {
    await trx.raw('lock table orders');
    expect(await failure(db.raw('select from orders'))).toMatchObject(reason('a row of the database was locked for too long'));
  });
  const full = new Error('Knex: Timeout acquiring a connection. The pool is probably full.');
  expect(asFault(full)).toMatchObject(reason('no connection to the database was free in time'));
  await Promise.all([db.destroy(), other.destroy()]);
});
