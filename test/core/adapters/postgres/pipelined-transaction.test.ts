import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { isUnavailable } from '../../../../core/adapters/postgres/faults.js';
import { inSteps, statement, type Steps } from '../../../../core/adapters/postgres/statement.js';
import { openDatabaseLine, type DatabaseProxy } from '../../../harness/process/database-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { failureOf } from '../../../harness/checks/failure-of.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

let server: TestDatabase;
let proxy: DatabaseProxy;
/** With one connection, so that one left in the middle of a transaction would be used again. */
let db: Knex;
let observer: Knex;

beforeAll(async () => {
  server = await createTestDatabase();
  proxy = await openDatabaseLine(server.url);
  const connect = (url: string, poolSize: number): Knex => connectDatabase({ url, log: createRecordedLog(), poolSize });
  [db, observer] = [connect(proxy.url, 1), connect(server.url, 2)];
  await observer.raw('create table kept (word text primary key)');
});
beforeEach(() => observer.raw("truncate kept; insert into kept values ('there')"));
afterAll(async () => {
  await Promise.all([db, observer].map((each) => each.destroy()));
  await proxy.close();
  await server.drop();
});

const keeping = (word: string) => ({ asked: statement('insert into kept (word) values (:word)'), values: { word } });
const WORDS = statement('select word from kept order by word');
const LOCK_ALL = statement('select word from kept order by word for update');
const words = async (): Promise<string[]> =>
  (await observer('kept').select<{ word: string }[]>('word').orderBy('word')).map(({ word }) => word);
const run = <Result>(work: (steps: Steps) => Promise<Result>): Promise<Result> => inSteps(db, work);
/** Fails at once where a row is still locked. */
const expectNothingLocked = async (): Promise<void> => {
  await observer.raw('select word from kept for update nowait');
};

describe('a pipelined transaction', () => {
  it('takes one round trip for each query, and one for the commit', async () => {
    await run((steps) => steps.ask(WORDS, {}));
    proxy.roundTrips();
    await run(async (steps) => {
      steps.leave(keeping('a'), keeping('b'));
      await steps.ask(WORDS, {});
      steps.leave(keeping('c'));
      steps.leave(keeping('d'));
    });
    expect(proxy.roundTrips()).toHaveLength(2);
    expect(await words()).toEqual(['a', 'b', 'c', 'd', 'there']);
  });

  it('sees its own deferred statements, which other connections do not see before the commit', async () => {
    const seen = await run(async (steps) => {
      steps.leave(keeping('a'));
      const own = await steps.ask<{ word: string }>(WORDS, {});
      return { own: own.map(({ word }) => word), others: await words() };
    });
    expect(seen).toEqual({ own: ['a', 'there'], others: ['there'] });
  });

  it('rolls back and releases its locks when a deferred statement fails', async () => {
    const failure = await failureOf(
      run(async (steps) => {
        await steps.ask(LOCK_ALL, {});
        steps.leave(keeping('a'), keeping('there'), keeping('b'));
      }),
    );
    expect(failure).toMatchObject({ code: '23505' });
    await expectNothingLocked();
    expect(await words()).toEqual(['there']);
    await run((steps) => Promise.resolve(steps.leave(keeping('after'))));
    expect(await words()).toEqual(['after', 'there']);
  });

  it('fails when its work goes on after a failed statement', async () => {
    const failure = await failureOf(
      run(async (steps) => {
        steps.leave(keeping('a'), keeping('there'));
        await failureOf(steps.ask(WORDS, {}));
      }),
    );
    expect(failure).toMatchObject({ code: '23505' });
    expect(await words()).toEqual(['there']);
  });

  it('rolls back and releases its locks when its own work fails', async () => {
    const failure = await failureOf(
      run(async (steps) => {
        steps.leave(keeping('a'));
        await steps.ask(LOCK_ALL, {});
        throw new RangeError('no');
      }),
    );
    expect(failure).toBeInstanceOf(RangeError);
    await expectNothingLocked();
    expect(await words()).toEqual(['there']);
  });

  it('runs again after a deadlock', async () => {
    let tries = 0;
    await run(async (steps) => {
      tries += 1;
      steps.leave(keeping('a'));
      if (tries === 1) steps.leave({ asked: statement("do $$ begin raise exception using errcode = '40P01'; end $$"), values: {} });
      await steps.ask(WORDS, {});
    });
    expect(tries).toBe(2);
    expect(await words()).toEqual(['a', 'there']);
  });

  it('runs again, in full, when another release has changed the tables', async () => {
    const all = statement('select *, 2 as two from kept order by word');
    await run((steps) => steps.ask(all, {}));
    await observer.raw('alter table kept add column remark text');
    const rows = await run(async (steps) => {
      steps.leave(keeping('a'));
      return steps.ask(all, {});
    });
    expect(rows).toMatchObject([{ word: 'a', remark: null }, { word: 'there' }]);
    expect(await words()).toEqual(['a', 'there']);
    await observer.raw('alter table kept drop column remark');
  });

  it('rolls back when the connection is lost, and the database counts as unavailable', async () => {
    const failure = await failureOf(
      run(async (steps) => {
        steps.leave(keeping('a'));
        const [row] = await steps.ask<{ pid: number }>(statement('select pg_backend_pid() as pid'), {});
        await observer.raw('select pg_terminate_backend(?)', [row?.pid ?? 0]);
        await steps.ask(WORDS, {});
      }),
    );
    expect(isUnavailable(failure)).toBe(true);
    expect(await words()).toEqual(['there']);
    await run((steps) => Promise.resolve(steps.leave(keeping('after'))));
    expect(await words()).toEqual(['after', 'there']);
  });
});
