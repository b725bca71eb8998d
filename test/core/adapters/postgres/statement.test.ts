import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { isUnavailable } from '../../../../core/adapters/postgres/faults.js';
import { ask, askAll, statement, type Question } from '../../../../core/adapters/postgres/statement.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { eventually } from '../../../harness/time/eventually.js';
import { failureOf } from '../../../harness/checks/failure-of.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { onSingleConnection } from '../../../harness/database/single-connection.js';

let server: TestDatabase;
/** Two replicas, each with one connection, so that a broken connection would be used again; a third client observes. */
let replicas: readonly [Knex, Knex];
let observer: Knex;

const connect = (poolSize: number): Knex => connectDatabase({ url: server.url, log: createRecordedLog(), poolSize });

beforeAll(async () => {
  server = await createTestDatabase();
  // Some servers have this default: a transaction then sees nothing that was committed while it waited.
  const [owner, name] = [connect(1), new URL(server.url).pathname.slice(1)];
  await owner.raw(`alter database ${name} set default_transaction_isolation = 'repeatable read'`);
  await owner.destroy();
  replicas = [connect(1), connect(1)];
  observer = connect(4);
  await observer.raw('create table kept (word text not null)');
});
beforeEach(() => observer.raw('delete from kept'));
afterAll(async () => {
  await Promise.all([...replicas, observer].map((db) => db.destroy()));
  await server.drop();
});

const LOCK: Question = {
  asked: statement('select 1 where pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0)) is null'),
  values: { name: 'the lock' },
};
const KEEP = statement('insert into kept (word) values (cast(:word as text)) returning word');
/** A second replica would insert too if it did not see the row of the first. */
const KEEP_FIRST = statement('insert into kept (word) select cast(:word as text) where not exists (select from kept) returning word');
const words = async (): Promise<string[]> =>
  (await observer<{ word: string }>('kept').select('word').orderBy('word')).map(({ word }) => word);

async function waitersForLocks(): Promise<number> {
  const { rows } = await observer.raw<{ rows: [{ count: number }] }>(
    "select count(*)::int as count from pg_locks where locktype = 'advisory' and not granted",
  );
  return rows[0].count;
}

const untilWaiting = (count: number): Promise<number> => eventually(waitersForLocks, (waiting) => waiting === count);

/** Holds the lock until its work is done. */
const holding = (work: (trx: Knex.Transaction) => Promise<void>): Promise<void> =>
  observer.transaction(async (trx) => {
    await trx.raw("select pg_advisory_xact_lock(hashtextextended('the lock', 0))");
    await work(trx);
  });

describe('two statements in one round trip', () => {
  const insert: Question = { asked: statement('insert into kept (word) values (:word)'), values: { word: 'first' } };

  it('both run, and the rows of the second are returned', async () => {
    expect(await askAll(replicas[0], [insert, { asked: KEEP, values: { word: 'second' } }])).toEqual([{ word: 'second' }]);
    expect(await words()).toEqual(['first', 'second']);
  });

  it.each([
    ['the second', insert, statement('select 1 / cast(:nothing as integer)'), { nothing: 0 }, '22012'],
    ['the second, for what it was given', insert, KEEP, { word: 'no \0 word' }, '22021'],
    ['the second, for how it is written', insert, statement('selec :word'), { word: '' }, '42601'],
    ['the first, and the second was given nothing', { ...insert, values: {} }, statement('select 1'), {}, '23502'],
    ['the first', { ...insert, values: {} }, KEEP, { word: 'second' }, '23502'],
    [
      'the first, for how it is written',
      { asked: statement('insert into nowhere values (:word)'), values: { word: 'x' } },
      KEEP,
      { word: 'second' },
      '42P01',
    ],
  ])('leave nothing when %s fails, and the connection as it was', async (_which, before: Question, asked, values, code) => {
    expect(await failureOf(askAll(replicas[0], [before, { asked: asked, values: values }]))).toMatchObject({ code });
    expect(await words()).toEqual([]);
    expect(await ask(replicas[0], statement('select count(*)::int as count from kept'), {})).toEqual([{ count: 0 }]);
    expect(await askAll(replicas[0], [LOCK, { asked: KEEP, values: { word: 'after' } }])).toEqual([{ word: 'after' }]);
    expect(await words()).toEqual(['after']);
  });

  it('give the lock back when they fail', async () => {
    await failureOf(askAll(replicas[0], [LOCK, { asked: statement('select 1 / cast(:nothing as integer)'), values: { nothing: 0 } }]));
    await expect(askAll(replicas[1], [LOCK, { asked: KEEP, values: { word: 'other' } }])).resolves.toHaveLength(1);
  });

  it('see what was committed while they waited: of two replicas at one lock one inserts', async () => {
    let outcome: Promise<unknown[][]> = Promise.resolve([]);
    await holding(async () => {
      const both = replicas.map((db, at) => askAll(db, [LOCK, { asked: KEEP_FIRST, values: { word: `replica ${at}` } }]));
      await untilWaiting(2);
      outcome = Promise.all(both);
    });
    expect((await outcome).map((rows) => rows.length).sort()).toEqual([0, 1]);
    expect(await words()).toHaveLength(1);
  });

  it('see what the previous holder of the lock committed', async () => {
    let waiting: Promise<unknown[]> = Promise.resolve([]);
    await holding(async (trx) => {
      waiting = askAll(replicas[0], [LOCK, { asked: KEEP_FIRST, values: { word: 'late' } }]);
      await untilWaiting(1);
      await trx.raw("insert into kept values ('early')");
    });
    expect(await waiting).toEqual([]);
    expect(await words()).toEqual(['early']);
  });

  it('both roll back when the connection is lost in between, and the database counts as unavailable', async () => {
    let lost: Promise<unknown> = Promise.resolve(null);
    await holding(async (trx) => {
      lost = failureOf(askAll(replicas[0], [LOCK, { asked: KEEP, values: { word: 'lost' } }]));
      await untilWaiting(1);
      await trx.raw("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted");
      await lost;
    });
    expect(isUnavailable(await lost)).toBe(true);
    expect(await words()).toEqual([]);
    expect(await askAll(replicas[0], [LOCK, { asked: KEEP, values: { word: 'again' } }])).toEqual([{ word: 'again' }]);
  });

  it('are both left undone where a value of one cannot be sent', async () => {
    const [db] = replicas;
    const unsendable = { asked: KEEP, values: { word: { count: 1n } } };
    const [first, last] = [
      { asked: KEEP, values: { word: 'first' } },
      { asked: KEEP, values: { word: 'last' } },
    ];
    await expect(askAll(db, [first, unsendable, last])).rejects.toThrow('serialize');
    expect(await words()).toEqual([]);
    await askAll(db, [first, last]);
    expect(await words()).toEqual(['first', 'last']);
  });

  it('run once on a server that has dropped the names of both', async () => {
    const [db] = replicas;
    const both = ['one', 'two'].map((word) => ({ asked: KEEP, values: { word } }));
    await askAll(db, both);
    await db.raw('deallocate all');
    await askAll(db, both);
    expect(await words()).toEqual(['one', 'one', 'two', 'two']);
  });

  it('do not wait for a lock for ever', async () => {
    const limits = { statementMs: 5_000, lockMs: 200, idleTransactionMs: 5_000 };
    await onSingleConnection({ url: server.url, limits }, async (impatient) => {
      await holding(async () => {
        expect(isUnavailable(await failureOf(askAll(impatient, [LOCK, { asked: KEEP, values: { word: 'hasty' } }])))).toBe(true);
      });
      expect(await askAll(impatient, [LOCK, { asked: KEEP, values: { word: 'calm' } }])).toHaveLength(1);
    });
  });
});

describe('a prepared statement of a connection', () => {
  const everything = statement('select * from kept');
  const changed = (to: string) => observer.raw(`alter table kept alter column remark type ${to} using null`);
  beforeAll(() => observer.raw('alter table kept add column remark text'));

  it('is prepared again after a replica of another release has changed the tables', async () => {
    await ask(replicas[0], everything, {});
    await changed('integer');
    expect(await ask(replicas[0], everything, {})).toEqual([]);
    expect(await ask(replicas[0], everything, {})).toEqual([]);
  });

  it('is prepared again behind another, and both run once', async () => {
    const insert: Question = { asked: statement('insert into kept (word) values (:word)'), values: { word: 'first' } };
    const look = statement('select *, 1 as one from kept');
    await askAll(replicas[0], [LOCK, { asked: look, values: {} }]);
    await changed('bigint');
    expect(await askAll(replicas[0], [insert, { asked: look, values: {} }])).toMatchObject([{ word: 'first', one: 1 }]);
    expect(await words()).toEqual(['first']);
  });

  it('is prepared again on a server that has dropped it', async () => {
    await ask(replicas[0], everything, {});
    await replicas[0].raw('deallocate all');
    expect(await ask(replicas[0], everything, {})).toEqual([]);
  });
});

describe('a statement', () => {
  it('numbers its names, one number for each, and leaves casts alone', () => {
    expect(statement("select :b::text, cast(:a as text), :b, 'x'::text")).toMatchObject({
      text: "select $1::text, cast($2 as text), $1, 'x'::text",
      names: ['b', 'a'],
    });
  });

  it('that fails leaves its connection to the next one, once its name is known', async () => {
    const [db] = replicas;
    const session = async (): Promise<unknown> => (await ask(db, statement('select pg_backend_pid() as id'), {}))[0];
    await ask(db, KEEP, { word: 'kept' });
    const before = await session();
    await expect(ask(db, KEEP, {})).rejects.toMatchObject({ code: '23502' });
    expect(await session()).toEqual(before);
    expect(await words()).toEqual(['kept']);
  });

  it('takes what it is not given for null', async () => {
    expect(
      await ask(replicas[0], statement('select cast(:given as bigint) as a, cast(:other as text) as b'), { given: 2n ** 53n + 1n }),
    ).toEqual([{ a: 2n ** 53n + 1n, b: null }]);
  });
});

describe('after a deadlock with another transaction', () => {
  beforeAll(() =>
    observer.raw(`
      create sequence tries;
      create function succeed_at_third() returns boolean language plpgsql as $$ begin
        if nextval('tries') % 3 <> 0 then raise exception using errcode = '40P01'; end if; return true; end $$`),
  );

  const KEEP_AT_THIRD = statement('insert into kept (word) select cast(:word as text) where succeed_at_third() returning word');

  it('a statement is repeated', async () => {
    expect(await ask(replicas[0], KEEP_AT_THIRD, { word: 'one' })).toEqual([{ word: 'one' }]);
    expect(await words()).toEqual(['one']);
  });

  it('several of one trip are repeated together', async () => {
    await askAll(replicas[0], [
      { asked: KEEP, values: { word: 'first' } },
      { asked: KEEP_AT_THIRD, values: { word: 'second' } },
    ]);
    expect(await words()).toEqual(['first', 'second']);
  });
});
