import { connect, createServer, type Socket } from 'node:net';
import { createStore, type KnexStore } from '../../../../core/adapters/postgres/create-store.js';
import { openDatabase } from '../../../../core/adapters/postgres/open-database.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

let database: TestDatabase;
let store: KnexStore;
const log = createRecordedLog();

beforeAll(async () => {
  database = await createTestDatabase();
  store = createStore({ log, url: database.url });
  await store.db.raw('create table accounts (id bigint primary key, balance numeric(78, 0) not null)');
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

describe('the store', () => {
  it('answers a ping and knows the name of its database, which does not change', async () => {
    await store.ping();
    const name = await store.instanceId();
    expect(name).toMatch(/^[0-9a-f-]{36}$/);
    const other = createStore({ log, url: database.url });
    expect(await other.instanceId()).toBe(name);
    await other.close();
  });

  it('rounds no number: 64-bit integers are bigint and numerics decimal strings, in both directions', async () => {
    const id = 2n ** 63n - 1n;
    const balance = (10n ** 77n + 1n).toString();
    await store.db('accounts').insert({ id, balance });
    expect(await store.db('accounts').where({ id }).first()).toEqual({ id, balance });
    const { rows } = await store.db.raw<{ rows: unknown[] }>(
      `select '{9223372036854775807,NULL}'::bigint[] as some, '{}'::bigint[] as none`,
    );
    expect(rows).toEqual([{ some: [id, null], none: [] }]);
  });

  it('leaves the types of other pools in this process alone', async () => {
    const { default: pg } = await import('pg');
    const client = new pg.Client(database.url);
    await client.connect();
    expect((await client.query('select 1::bigint as one')).rows).toEqual([{ one: '1' }]);
    await client.end();
  });

  it('bounds statements, lock waits and idle transactions, and says who it is', async () => {
    const { rows } = await store.db.raw<{ rows: unknown[] }>(
      `select name, setting from pg_settings where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'application_name') order by name`,
    );
    expect(rows).toEqual([
      { name: 'application_name', setting: 'diamond-gateway' },
      { name: 'idle_in_transaction_session_timeout', setting: '5000' },
      { name: 'lock_timeout', setting: '5000' },
      { name: 'statement_timeout', setting: '10000' },
    ]);
  });

  it('keeps values out of error messages', async () => {
    const failure = await store.db('accounts').insert({ id: 'a-secret-value', balance: '1' }).catch(String);
    expect(failure).toContain('insert into "accounts"');
    expect(failure).not.toContain("values ('a-secret-value");
  });
});

describe('a transaction', () => {
  it('is all or nothing', async () => {
    const failing = store.transaction(async (trx) => {
      await trx('accounts').insert({ id: 1n, balance: '1' });
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await store.db('accounts').where({ id: 1n })).toEqual([]);
  });

  it('that loses against a concurrent one is run again, so that no update is lost', async () => {
    await store.db('accounts').insert({ id: 2n, balance: '0' });
    const addOne = (): Promise<void> =>
      store.transaction(async (trx) => {
        await trx.raw('set transaction isolation level repeatable read');
        const account = await trx<{ id: bigint; balance: string }>('accounts').where({ id: 2n }).first('balance');
        await trx('accounts')
          .where({ id: 2n })
          .update({ balance: (BigInt(account?.balance ?? 0) + 1n).toString() });
      });
    await Promise.all([addOne(), addOne(), addOne()]);
    expect(await store.db('accounts').where({ id: 2n }).first('balance')).toEqual({ balance: '3' });
  });

  it('that breaks a rule is a bug and not run again', async () => {
    let runs = 0;
    const breaking = store.transaction(async (trx) => {
      runs += 1;
      await trx('accounts').insert([
        { id: 3n, balance: '1' },
        { id: 3n, balance: '1' },
      ]);
    });
    await expect(breaking).rejects.toMatchObject({ code: '23505' });
    expect(runs).toBe(1);
  });
});

/** A TCP proxy before the database that can be closed, opened and silenced. */
async function createTcpProxy(
  target: string,
): Promise<{ url: string; close: () => Promise<void>; open: () => Promise<void>; silence: () => void }> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let silent = false;
  const server = createServer((inside) => {
    const outside = connect(Number(port), hostname);
    for (const [from, to] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => silent || to.write(bytes));
      from.on('close', () => to.destroy());
      from.on('error', () => to.destroy());
    }
  });
  const listen = (at: number): Promise<void> => new Promise((resolve) => server.listen(at, '127.0.0.1', resolve));
  await listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(target);
  url.port = String(address.port);
  return {
    url: url.href,
    open: () => listen(address.port),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        sockets.forEach((socket) => socket.destroy());
      }),
    silence: () => (silent = true),
  };
}

describe('a database that is gone', () => {
  it('is NOT_READY to every caller until it is back, and then works without a restart', async () => {
    const proxy = await createTcpProxy(database.url);
    const behind = createStore({ log, url: proxy.url });
    await behind.ping();
    await proxy.close();
    await expect(behind.ping()).rejects.toMatchObject({ code: 'NOT_READY', status: 503 });
    await expect(behind.transaction((trx) => trx.raw('select 1'))).rejects.toMatchObject({ code: 'NOT_READY' });
    await expect(behind.instanceId()).rejects.toMatchObject({ code: 'NOT_READY' });
    await proxy.open();
    await behind.ping();
    await behind.close();
    await proxy.close();
  });

  it('in the middle of a transaction is NOT_READY, and nothing of it stays', async () => {
    const proxy = await createTcpProxy(database.url);
    const behind = createStore({ log, url: proxy.url });
    const cut = behind.transaction(async (trx) => {
      await trx('accounts').insert({ id: 4n, balance: '1' });
      await proxy.close();
      await trx('accounts').insert({ id: 5n, balance: '1' });
    });
    await expect(cut).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(await store.db('accounts').whereIn('id', ['4', '5'])).toEqual([]);
    await behind.close();
  });

  it('that ends our connection is NOT_READY for that call alone', async () => {
    const victim = createStore({ log, url: database.url, applicationName: 'victim', poolSize: 1 });
    await victim.ping();
    const ending = victim.transaction(async (trx) => {
      await store.db.raw(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`);
      await trx.raw('select 1');
    });
    await expect(ending).rejects.toMatchObject({ code: 'NOT_READY' });
    await victim.ping();
    await victim.close();
  });

  it('that runs into its own limit is NOT_READY', async () => {
    const hasty = createStore({ log, url: database.url, limits: { statementMs: 50, lockMs: 50, idleTransactionMs: 1_000 } });
    await expect(hasty.transaction((trx) => trx.raw('select pg_sleep(5)'))).rejects.toMatchObject({ code: 'NOT_READY' });
    await hasty.close();
  });

  it('that falls silent is NOT_READY too, instead of holding its callers for ever', async () => {
    const proxy = await createTcpProxy(database.url);
    const behind = createStore({ log, url: proxy.url, limits: { statementMs: 2_000, lockMs: 2_000, idleTransactionMs: 2_000 } });
    await behind.ping();
    proxy.silence();
    await expect(behind.ping()).rejects.toMatchObject({ code: 'NOT_READY' });
    await Promise.all([proxy.close(), behind.close()]);
  });

  it('does not hide an error in the statement', async () => {
    await expect(store.transaction((trx) => trx.raw('select * from nowhere'))).rejects.toMatchObject({ code: '42P01' });
  });
});

describe('opening', () => {
  it('refuses a wrong password in one sentence that does not hold it', async () => {
    const url = new URL(database.url);
    url.password = 'not-the-password';
    const opening = openDatabase({ kind: 'server', url: url.href, clock: systemClock, log });
    await expect(opening).rejects.toMatchObject({ name: 'StoreStartError', problem: 'unreachable' });
    await expect(opening).rejects.toThrow(
      /^The database postgres:\/\/127\.0\.0\.1:\d+\/… cannot be used: (?:.*password|SASL) authentication failed.*\.$/,
    );
    await expect(opening).rejects.not.toThrow(/not-the-password/);
  });

  it('waits for a server that comes up together with us', async () => {
    const proxy = await createTcpProxy(database.url);
    await proxy.close();
    const opening = openDatabase({ kind: 'server', url: proxy.url, clock: systemClock, log });
    while (!log.entries.some(({ event }) => event === 'store.waiting')) await systemClock.sleep(10);
    await proxy.open();
    const opened = await opening;
    await opened.ping();
    await opened.close();
    await proxy.close();
  });

  it('ends when it is interrupted', async () => {
    const stopping = new AbortController();
    const opening = openDatabase({ kind: 'server', url: 'postgres://a:b@127.0.0.1:1/c', clock: systemClock, log, signal: stopping.signal });
    stopping.abort();
    await expect(opening).rejects.toMatchObject({ problem: 'interrupted' });
  });
});
