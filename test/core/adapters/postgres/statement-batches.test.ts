import { systemClock } from '../../../../core/adapters/system/clock.js';
import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { isUnavailable } from '../../../../core/adapters/postgres/faults.js';
import {
  createStatementBatcher,
  LOCKS_NOTHING,
  type Company,
  type StatementBatcher,
} from '../../../../core/adapters/postgres/statement-batcher.js';
import { statement } from '../../../../core/adapters/postgres/statement.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { eventually } from '../../../harness/time/eventually.js';
import { failureOf } from '../../../harness/checks/failure-of.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { onSingleConnection } from '../../../harness/database/single-connection.js';

let server: TestDatabase;
let replicas: readonly [Knex, Knex];
let observer: Knex;

beforeAll(async () => {
  server = await createTestDatabase();
  const connect = (): Knex => connectDatabase({ url: server.url, log: createRecordedLog(), poolSize: 4 });
  [replicas, observer] = [[connect(), connect()], connect()];
  await observer.raw('create table kept (word text primary key, transaction_id xid8 not null default pg_current_xact_id())');
});
beforeEach(() => observer.raw('delete from kept'));
afterAll(async () => {
  await Promise.all([...replicas, observer].map((db) => db.destroy()));
  await server.drop();
});

interface Kept {
  readonly word: string;
  readonly transaction: string;
}

const KEEP = statement('insert into kept (word) values (cast(:word as text)) returning word, transaction_id::text as transaction');
const LOCK = statement('select 1 where pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0)) is null');

const locking = (name: string, order = name): Company => ({ order, before: { asked: LOCK, values: { name } } });
const keep = (batcher: StatementBatcher, word: string, company: Company = LOCKS_NOTHING): Promise<Kept[]> =>
  batcher.ask<Kept>(KEEP, { word }, company);
const keepAll = (batcher: StatementBatcher, words: readonly string[]) => Promise.all(words.map((word) => keep(batcher, word)));
const transactionsOf = (answers: readonly Kept[][]) => new Set(answers.flat().map(({ transaction }) => transaction));
const words = async (): Promise<string[]> =>
  (await observer('kept').select<{ word: string }[]>('word').orderBy('word')).map(({ word }) => word);
/** Ends its own connection. */
const END = statement('select pg_terminate_backend(pg_backend_pid())');

/** Another connection has the lock until the work is done. */
const whileHeld = (name: string, work: () => Promise<void>): Promise<void> =>
  observer.transaction(async (trx) => {
    await trx.raw('select pg_advisory_xact_lock(hashtextextended(:name, 0))', { name });
    await work();
  });

describe('pending statements', () => {
  it('run in one transaction, and each gets its own rows', async () => {
    const answers = await keepAll(createStatementBatcher(replicas[0], systemClock), ['c', 'a', 'b']);
    expect(answers.map((rows) => rows.map(({ word }) => word))).toEqual([['c'], ['a'], ['b']]);
    expect(transactionsOf(answers).size).toBe(1);
  });

  it('run in several batches when they are many, and none is lost', async () => {
    const many = Array.from({ length: 100 }, (_, at) => `word ${String(at).padStart(3, '0')}`);
    const answers = await keepAll(createStatementBatcher(replicas[0], systemClock), many);
    expect(answers.map(([row]) => row?.word)).toEqual(many);
    expect(await words()).toEqual(many);
    expect(transactionsOf(answers).size).toBeLessThan(10);
  });

  it('wait for the batch that is in flight', async () => {
    const batcher = createStatementBatcher(replicas[0], systemClock);
    const first = keep(batcher, 'first');
    await new Promise((resolve) => setImmediate(resolve));
    const others = keepAll(batcher, ['second', 'third']);
    expect(transactionsOf([await first, ...(await others)]).size).toBe(2);
  });

  it('run in their order, and see the effects of those before them', async () => {
    const batcher = createStatementBatcher(replicas[0], systemClock);
    const count = statement('select count(*)::int as count from kept');
    const [counted] = await Promise.all([batcher.ask(count, {}, { order: '2' }), keep(batcher, 'a', { order: '1' })]);
    expect(counted).toEqual([{ count: 1 }]);
  });

  it('run again when another release has changed the tables, and take effect once', async () => {
    await onSingleConnection(server, async (only) => {
      const batcher = createStatementBatcher(only, systemClock);
      const all = statement('select * from kept order by word');
      const look = () => Promise.all([keep(batcher, 'a', { order: '1' }), batcher.ask(all, {}, { order: '2' })]);
      await look();
      await observer.raw('delete from kept');
      await observer.raw('alter table kept add column remark text');
      expect((await look())[1]).toMatchObject([{ word: 'a', remark: null }]);
    });
  });
});

describe('a statement that waits for a lock', () => {
  it('does not delay later statements', async () => {
    const batcher = createStatementBatcher(replicas[0], systemClock);
    let held: Promise<unknown> = Promise.resolve();
    await whileHeld('held', async () => {
      held = keep(batcher, 'held', locking('held'));
      await eventually(
        () => observer.raw<{ rows: unknown[] }>("select 1 from pg_locks where locktype = 'advisory' and not granted"),
        ({ rows }) => rows.length > 0,
      );
      await keepAll(batcher, ['a', 'b']);
      expect(await words()).toEqual(['a', 'b']);
    });
    await held;
    expect(await words()).toEqual(['a', 'b', 'held']);
  });
});

describe('of the statements in one batch', () => {
  it('one that fails fails alone, and the others run once', async () => {
    await observer.raw("insert into kept (word) values ('there')");
    const batcher = createStatementBatcher(replicas[0], systemClock);
    const outcomes = await Promise.allSettled(['a', 'there', 'b'].map((word) => keep(batcher, word)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: '23505' } });
    expect(await words()).toEqual(['a', 'b', 'there']);
    expect(await keepAll(batcher, ['c', 'd'])).toHaveLength(2);
  });

  it('one that waits for a lock delays no other', async () => {
    const batcher = createStatementBatcher(replicas[0], systemClock);
    let held: Promise<unknown> = Promise.resolve();
    await whileHeld('held', async () => {
      const free = ['a', 'z'].map((name) => keep(batcher, name, locking(name)));
      held = keep(batcher, 'held', locking('held'));
      await Promise.all(free);
      expect(await words()).toEqual(['a', 'z']);
    });
    await held;
    expect(await words()).toEqual(['a', 'held', 'z']);
  });

  it('a slow one runs alone, and all run once', async () => {
    const batcher = createStatementBatcher(replicas[0], systemClock);
    const slow = statement(
      "with slept as materialized (select pg_sleep(0.3)) insert into kept (word) select 'slow' from slept returning word",
    );
    const answers = await Promise.all([keep(batcher, 'a'), batcher.ask<Kept>(slow, {}, LOCKS_NOTHING), keep(batcher, 'b')]);
    expect(answers.map(([row]) => row?.word)).toEqual(['a', 'slow', 'b']);
    expect(await words()).toEqual(['a', 'b', 'slow']);
  });

  it('all run when two replicas take the same locks in opposite order', async () => {
    const [one, other] = replicas.map((db) => createStatementBatcher(db, systemClock)) as [StatementBatcher, StatementBatcher];
    for (let round = 0; round < 5; round += 1) {
      await observer.raw('delete from kept');
      await Promise.all([
        keep(one, 'one a', locking('a', '1')),
        keep(one, 'one b', locking('b', '2')),
        keep(other, 'other b', locking('b', '1')),
        keep(other, 'other a', locking('a', '2')),
      ]);
      expect(await words()).toEqual(['one a', 'one b', 'other a', 'other b']);
    }
  });

  it('one that cannot be serialised fails, and leaves the connection usable', async () => {
    await onSingleConnection(server, async (only) => {
      const batcher = createStatementBatcher(only, systemClock);
      const odd = failureOf(batcher.ask(KEEP, { word: { number: 1n } }, LOCKS_NOTHING));
      await Promise.all([failureOf(keep(batcher, 'a')), odd]);
      expect(await odd).toBeInstanceOf(TypeError);
      expect(await keepAll(batcher, ['c', 'd'])).toHaveLength(2);
    });
  });

  it('none takes effect when the connection is lost, and the database counts as unavailable', async () => {
    const batcher = createStatementBatcher(replicas[0], systemClock);
    const outcomes = [keep(batcher, 'a', { order: '1' }), batcher.ask(END, {}, { order: '2' }), keep(batcher, 'b', { order: '3' })].map(
      failureOf,
    );
    const lost = await Promise.all(outcomes);
    expect(lost.map(isUnavailable)).toEqual([true, true, true]);
    expect(await words()).toEqual([]);
    expect(await keepAll(batcher, ['c', 'd'])).toHaveLength(2);
  });

  it('the lock timeout of each connection is restored afterwards', async () => {
    const limits = { statementMs: 5_000, lockMs: 4_321, idleTransactionMs: 5_000 };
    await onSingleConnection({ url: server.url, limits }, async (only) => {
      await keepAll(createStatementBatcher(only, systemClock), ['a', 'b']);
      expect((await only.raw<{ rows: unknown[] }>('show lock_timeout')).rows).toEqual([{ lock_timeout: '4321ms' }]);
    });
  });
});
