import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { isUnavailable } from '../../../../core/adapters/postgres/faults.js';
import { inSteps, type Steps } from '../../../../core/adapters/postgres/pipelined-transaction.js';
import { statement } from '../../../../core/adapters/postgres/statement.js';
import { openDatabaseLine, type DatabaseProxy } from '../../../harness/process/database-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { failureOf } from '../../../harness/checks/failure-of.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

let server: TestDatabase;
let line: DatabaseProxy;
/** With one connection, so that one left in the middle of a transaction would be met again. */
let db: Knex;
let onlooker: Knex;

beforeAll(async () => {
  server = await createTestDatabase();
  line = await openDatabaseLine(server.url);
  const connect = (url: string, poolSize: number): Knex => connectDatabase({ url, log: createRecordedLog(), poolSize });
  [db, onlooker] = [connect(line.url, 1), connect(server.url, 2)];
  await onlooker.raw('create table kept (word text primary key)');
});
beforeEach(() => onlooker.raw("truncate kept; insert into kept values ('there')"));
afterAll(async () => {
  await Promise.all([db, onlooker].map((each) => each.destroy()));
  await line.close();
  await server.drop();
});

const keeping = (word: string) => ({ asked: statement('insert into kept (word) values (:word)'), values: { word } });
const WORDS = statement('select word from kept order by word');
const LOCK_ALL = statement('select word from kept order by word for update');
const words = async (): Promise<string[]> =>
  (await onlooker('kept').select<{ word: string }[]>('word').orderBy('word')).map(({ word }) => word);
const run = <Result>(work: (steps: Steps) => Promise<Result>): Promise<Result> => inSteps(db, work);
/** What is locked here would stop it; it does not wait for long. */
const lockedByNobody = async (): Promise<void> => {
  await onlooker.raw('select word from kept for update nowait');
};

describe('a transaction in steps', () => {
  it('takes as many round trips as it has questions, and one for its end', async () => {
    await run((steps) => steps.ask(WORDS, {}));
    line.roundTrips();
    await run(async (steps) => {
      steps.leave(keeping('a'), keeping('b'));
      await steps.ask(WORDS, {});
      steps.leave(keeping('c'));
      steps.leave(keeping('d'));
    });
    expect(line.roundTrips()).toHaveLength(2);
    expect(await words()).toEqual(['a', 'b', 'c', 'd', 'there']);
  });

  it('sees what it has left to be done, and nobody else does before its end', async () => {
    const seen = await run(async (steps) => {
      steps.leave(keeping('a'));
      const own = await steps.ask<{ word: string }>(WORDS, {});
      return { own: own.map(({ word }) => word), others: await words() };
    });
    expect(seen).toEqual({ own: ['a', 'there'], others: ['there'] });
  });

  it('keeps nothing and holds nothing when something left to be done fails', async () => {
    const failure = await failureOf(
      run(async (steps) => {
        await steps.ask(LOCK_ALL, {});
        steps.leave(keeping('a'), keeping('there'), keeping('b'));
      }),
    );
    expect(failure).toMatchObject({ code: '23505' });
    await lockedByNobody();
    expect(await words()).toEqual(['there']);
    await run((steps) => Promise.resolve(steps.leave(keeping('after'))));
    expect(await words()).toEqual(['after', 'there']);
  });

  it('is not told to be done when its work goes on after a failure', async () => {
    const failure = await failureOf(
      run(async (steps) => {
        steps.leave(keeping('a'), keeping('there'));
        await failureOf(steps.ask(WORDS, {}));
      }),
    );
    expect(failure).toMatchObject({ code: '23505' });
    expect(await words()).toEqual(['there']);
  });

  it('keeps nothing and holds nothing when its own work fails', async () => {
    const failure = await failureOf(
      run(async (steps) => {
        steps.leave(keeping('a'));
        await steps.ask(LOCK_ALL, {});
        throw new RangeError('no');
      }),
    );
    expect(failure).toBeInstanceOf(RangeError);
    await lockedByNobody();
    expect(await words()).toEqual(['there']);
  });

  it('is done once more when it lost against another', async () => {
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

  it('is done once more, in full, when another release has changed the tables', async () => {
    const all = statement('select *, 2 as two from kept order by word');
    await run((steps) => steps.ask(all, {}));
    await onlooker.raw('alter table kept add column remark text');
    const rows = await run(async (steps) => {
      steps.leave(keeping('a'));
      return steps.ask(all, {});
    });
    expect(rows).toMatchObject([{ word: 'a', remark: null }, { word: 'there' }]);
    expect(await words()).toEqual(['a', 'there']);
    await onlooker.raw('alter table kept drop column remark');
  });

  it('keeps nothing when the connection is lost, which is the fault of the database', async () => {
    const failure = await failureOf(
      run(async (steps) => {
        steps.leave(keeping('a'));
        const [row] = await steps.ask<{ pid: number }>(statement('select pg_backend_pid() as pid'), {});
        await onlooker.raw('select pg_terminate_backend(?)', [row?.pid ?? 0]);
        await steps.ask(WORDS, {});
      }),
    );
    expect(isUnavailable(failure)).toBe(true);
    expect(await words()).toEqual(['there']);
    await run((steps) => Promise.resolve(steps.leave(keeping('after'))));
    expect(await words()).toEqual(['after', 'there']);
  });
});
