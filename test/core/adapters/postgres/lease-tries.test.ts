import pg from 'pg';
import { BEAT_MS } from '../../../../core/adapters/postgres/lease-heartbeat.js';
import { createLeaseKeeper, lockName, type LeaseKeeper } from '../../../../core/adapters/postgres/lease-keeper.js';
import { createRecordedLog, type RecordedLog } from '../../../harness/checks/recorded-log.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { openDatabaseLine, type DatabaseProxy } from '../../../harness/process/database-proxy.js';
import { eventually } from '../../../harness/time/eventually.js';
import { createManualClock, type ManualClock } from '../../../harness/time/manual-clock.js';

/** A replica whose time stands still asks for leases that another session holds: heartbeats come only where a test moves the clock. */

type Query = (text: string, values?: unknown[]) => Promise<pg.QueryResult>;

let database: TestDatabase;
let proxy: DatabaseProxy;
/** Another replica's session, without its machinery. */
let other: pg.Client;
let clock: ManualClock;
let log: RecordedLog;
let keeper: LeaseKeeper;
let stopping: AbortController;
/** What the keeper has asked. */
let sent: string[];
/** What its connection does with a statement. */
let onQuery: (ask: () => Promise<pg.QueryResult>, ...statement: Parameters<Query>) => Promise<pg.QueryResult>;

const createClient = (): pg.Client => {
  const client = new pg.Client({ connectionString: proxy.url });
  const query = client.query.bind(client) as Query;
  return Object.assign(client, {
    query(text: string, values?: unknown[]) {
      sent.push(text);
      return onQuery(() => query(text, values), text, values);
    },
  });
};

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await openDatabaseLine(database.url);
});
beforeEach(async () => {
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
  [clock, log, stopping] = [createManualClock(), createRecordedLog(), new AbortController()];
  [sent, onQuery] = [[], (query) => query()];
  keeper = createLeaseKeeper({ createClient, clock, log });
});
afterEach(async () => {
  await Promise.all([keeper.close(), other.end()]);
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

const lock = async (call: string, name: string): Promise<boolean> => {
  const { rows } = await other.query<{ done: boolean }>(`select ${call}(hashtextextended($1, 0)) as done`, [lockName(name)]);
  return rows[0]?.done === true;
};
/** Of the other replica. */
const takes = (name: string): Promise<boolean> => lock('pg_try_advisory_lock', name);
const frees = (name: string): Promise<boolean> => lock('pg_advisory_unlock', name);

const ask = (name: string) => keeper.lease(name, stopping.signal);
/** Asked again for leases that the other replica had at the first try; they wait for the next heartbeat. */
async function askAgain<Names extends readonly string[]>(...names: Names) {
  for (const name of names) {
    expect(await takes(name)).toBe(true);
    expect(await ask(name)).toBeNull();
  }
  sent = [];
  const asked = names.map(ask);
  await settled();
  expect(sent).toEqual([]);
  return asked as { [At in keyof Names]: ReturnType<typeof ask> };
}
/** What was asked for has reached the session. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a try for a lease', () => {
  it('is made at once when it is the first, or after the replica had the lease itself', async () => {
    const lease = await ask('first');
    expect(lease?.isHeld()).toBe(true);
    await lease?.release();
    expect((await ask('first'))?.isHeld()).toBe(true);
  });

  it('is made at once by a caller that does not come back', async () => {
    await takes('asked once');
    expect(await keeper.lease('asked once')).toBeNull();
    await frees('asked once');
    expect((await keeper.lease('asked once'))?.isHeld()).toBe(true);
  });

  it('that is repeated goes with the next heartbeat, together with all others', async () => {
    const waiting = await askAgain('one', 'two');
    await Promise.all([frees('one'), frees('two')]);
    clock.advance(BEAT_MS);
    expect((await Promise.all(waiting)).map((lease) => lease?.isHeld())).toEqual([true, true]);
    expect(sent).toHaveLength(1);
  });

  it('succeeds with the first heartbeat after the lease is free, and those beside it do not', async () => {
    const [free, held] = await askAgain('free', 'held');
    await frees('free');
    clock.advance(BEAT_MS);
    expect((await free)?.isHeld()).toBe(true);
    expect(await held).toBeNull();
    expect([await takes('free'), await takes('held')]).toEqual([false, true]);
  });

  it('takes those along that wait for a heartbeat', async () => {
    const [asked] = await askAgain('waits');
    expect((await ask('new'))?.isHeld()).toBe(true);
    expect(await asked).toBeNull();
  });

  it('is made once by a process, and its lease is given back as a whole', async () => {
    const [asked] = await askAgain('twice');
    expect(await ask('twice')).toBeNull();
    await frees('twice');
    clock.advance(BEAT_MS);
    await (await asked)?.release();
    expect(await takes('twice')).toBe(true);
  });
});

describe('a caller that stops', () => {
  it('while it waits for a heartbeat is answered at once, and the lease is not asked for', async () => {
    const [asked] = await askAgain('not sent');
    await frees('not sent');
    stopping.abort();
    expect(await asked).toBeNull();
    clock.advance(BEAT_MS);
    // Its answer comes after that of the heartbeat.
    expect((await keeper.lease('behind it'))?.isHeld()).toBe(true);
    expect(await takes('not sent')).toBe(true);
    expect(await ask('not sent')).toBeNull();
  });

  it('while it is being answered holds nothing: the lease is given back', async () => {
    const [asked] = await askAgain('sent');
    await frees('sent');
    proxy.freeze();
    clock.advance(BEAT_MS);
    await settled();
    stopping.abort();
    proxy.heal();
    expect(await asked).toBeNull();
    expect(await takes('sent')).toBe(true);
    expect(log.entries).toEqual([]);
  });
});

describe('a connection that is being opened and gets no answers', () => {
  let asked: ReturnType<typeof ask>;

  beforeEach(async () => {
    proxy.freeze();
    asked = ask('opening');
    await settled();
  });
  afterEach(() => proxy.heal());

  it('does not keep a caller that stops', async () => {
    stopping.abort();
    expect(await asked).toBeNull();
  });

  it('does not keep a process that ends', async () => {
    const failed = expect(asked).rejects.toThrow('Connection terminated');
    await Promise.all([keeper.close(), failed]);
  });
});

describe('a connection that ends', () => {
  it('fails those that wait for a heartbeat, and the next one is asked at once', async () => {
    const [asked] = await askAgain('cut');
    await frees('cut');
    proxy.reset();
    await expect(asked).rejects.toThrow('Connection terminated');
    expect((await ask('cut'))?.isHeld()).toBe(true);
  });

  it('because the process ends fails them too', async () => {
    const [asked] = await askAgain('closed');
    const failed = expect(asked).rejects.toThrow('Connection terminated');
    await keeper.close();
    await failed;
  });

  it('because the answer to a try was lost leaves no lock behind', async () => {
    const [asked] = await askAgain('lost answer');
    await frees('lost answer');
    onQuery = async (answer) => {
      await answer();
      throw new Error('timeout');
    };
    clock.advance(BEAT_MS);
    await expect(asked).rejects.toThrow('timeout');
    await eventually(
      () => takes('lost answer'),
      (isTaken) => isTaken,
    );
    expect(log.entries).toMatchObject([{ event: 'leases.lost' }]);
  });

  it('because it is shared with others grants nothing, not even what its last answer granted', async () => {
    const kept = await ask('kept');
    const [asked] = await askAgain('of another session');
    await frees('of another session');
    onQuery = async (answer) => {
      const { rows, ...rest } = await answer();
      return { ...rest, rows: rows.map((row: object) => ({ ...row, pid: 0 })) };
    };
    clock.advance(BEAT_MS);
    await expect(asked).rejects.toThrow('Connection terminated');
    expect(kept?.isHeld()).toBe(false);
    await eventually(
      () => takes('of another session'),
      (isTaken) => isTaken,
    );
    expect(log.entries).toMatchObject([{ event: 'leases.lost', fields: { reason: 'the connection is shared with others' } }]);
  });

  it('takes no lock in the session of another client of its pooler, which would keep it', async () => {
    const pooled = new pg.Client({ connectionString: database.url });
    await pooled.connect();
    const [asked] = await askAgain('in a pooled session');
    await frees('in a pooled session');
    onQuery = (_ask, text, values) => pooled.query(text, values);
    clock.advance(BEAT_MS);
    await expect(asked).rejects.toThrow('Connection terminated');
    expect(await takes('in a pooled session')).toBe(true);
    await pooled.end();
  });
});
