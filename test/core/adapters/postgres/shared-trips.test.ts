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
let onlooker: Knex;

beforeAll(async () => {
  server = await createTestDatabase();
  const connect = (): Knex => connectDatabase({ url: server.url, log: createRecordedLog(), poolSize: 4 });
  [replicas, onlooker] = [[connect(), connect()], connect()];
  await onlooker.raw('create table kept (word text primary key, transaction_id xid8 not null default pg_current_xact_id())');
});
beforeEach(() => onlooker.raw('delete from kept'));
afterAll(async () => {
  await Promise.all([...replicas, onlooker].map((db) => db.destroy()));
  await server.drop();
});

interface Kept {
  readonly word: string;
  readonly transaction: string;
}

const KEEP = statement('insert into kept (word) values (cast(:word as text)) returning word, transaction_id::text as transaction');
const LOCK = statement('select 1 where pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0)) is null');

const locking = (name: string, order = name): Company => ({ order, before: { asked: LOCK, values: { name } } });
const keep = (trips: StatementBatcher, word: string, company: Company = LOCKS_NOTHING): Promise<Kept[]> =>
  trips.ask<Kept>(KEEP, { word }, company);
const keepAll = (trips: StatementBatcher, words: readonly string[]) => Promise.all(words.map((word) => keep(trips, word)));
const transactionsOf = (answers: readonly Kept[][]) => new Set(answers.flat().map(({ transaction }) => transaction));
const words = async (): Promise<string[]> =>
  (await onlooker('kept').select<{ word: string }[]>('word').orderBy('word')).map(({ word }) => word);
const SLEEP = statement('select pg_sleep(30)');
const END_SLEEPERS = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and state = 'active' and query = 'select pg_sleep(30)'`;

/** Somebody else has the lock until the work is done. */
const whileHeld = (name: string, work: () => Promise<void>): Promise<void> =>
  onlooker.transaction(async (trx) => {
    await trx.raw('select pg_advisory_xact_lock(hashtextextended(:name, 0))', { name });
    await work();
  });

describe('statements that are asked at the same time', () => {
  it('travel in one transaction, and each gets its own answer', async () => {
    const answers = await keepAll(createStatementBatcher(replicas[0]), ['c', 'a', 'b']);
    expect(answers.map((rows) => rows.map(({ word }) => word))).toEqual([['c'], ['a'], ['b']]);
    expect(transactionsOf(answers).size).toBe(1);
  });

  it('travel in several when they are many, and none is forgotten', async () => {
    const many = Array.from({ length: 100 }, (_, at) => `word ${String(at).padStart(3, '0')}`);
    const answers = await keepAll(createStatementBatcher(replicas[0]), many);
    expect(answers.map(([row]) => row?.word)).toEqual(many);
    expect(await words()).toEqual(many);
    expect(transactionsOf(answers).size).toBeLessThan(10);
  });

  it('wait for the trip that is under way', async () => {
    const trips = createStatementBatcher(replicas[0]);
    const first = keep(trips, 'first');
    await new Promise((resolve) => setImmediate(resolve));
    const others = keepAll(trips, ['second', 'third']);
    expect(transactionsOf([await first, ...(await others)]).size).toBe(2);
  });

  it('are done in their order, and see what was done before them', async () => {
    const trips = createStatementBatcher(replicas[0]);
    const count = statement('select count(*)::int as count from kept');
    const [counted] = await Promise.all([trips.ask(count, {}, { order: '2' }), keep(trips, 'a', { order: '1' })]);
    expect(counted).toEqual([{ count: 1 }]);
  });

  it('are asked anew when another release has changed the tables, and done once', async () => {
    await onSingleConnection(server, async (only) => {
      const trips = createStatementBatcher(only);
      const all = statement('select * from kept order by word');
      const look = () => Promise.all([keep(trips, 'a', { order: '1' }), trips.ask(all, {}, { order: '2' })]);
      await look();
      await onlooker.raw('delete from kept');
      await onlooker.raw('alter table kept add column remark text');
      expect((await look())[1]).toMatchObject([{ word: 'a', remark: null }]);
    });
  });
});

describe('one that waits for somebody', () => {
  it('does not keep those waiting that come after it', async () => {
    const trips = createStatementBatcher(replicas[0]);
    let held: Promise<unknown> = Promise.resolve();
    await whileHeld('held', async () => {
      held = keep(trips, 'held', locking('held'));
      await eventually(
        () => onlooker.raw<{ rows: unknown[] }>("select 1 from pg_locks where locktype = 'advisory' and not granted"),
        ({ rows }) => rows.length > 0,
      );
      await keepAll(trips, ['a', 'b']);
      expect(await words()).toEqual(['a', 'b']);
    });
    await held;
    expect(await words()).toEqual(['a', 'b', 'held']);
  });
});

describe('of those that travel together', () => {
  it('one that fails fails alone, and the others are done once', async () => {
    await onlooker.raw("insert into kept (word) values ('there')");
    const trips = createStatementBatcher(replicas[0]);
    const outcomes = await Promise.allSettled(['a', 'there', 'b'].map((word) => keep(trips, word)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: '23505' } });
    expect(await words()).toEqual(['a', 'b', 'there']);
    expect(await keepAll(trips, ['c', 'd'])).toHaveLength(2);
  });

  it('one that somebody holds up holds up nobody', async () => {
    const trips = createStatementBatcher(replicas[0]);
    let held: Promise<unknown> = Promise.resolve();
    await whileHeld('held', async () => {
      const free = ['a', 'z'].map((name) => keep(trips, name, locking(name)));
      held = keep(trips, 'held', locking('held'));
      await Promise.all(free);
      expect(await words()).toEqual(['a', 'z']);
    });
    await held;
    expect(await words()).toEqual(['a', 'held', 'z']);
  });

  it('one that takes its time goes alone, and all are done once', async () => {
    const trips = createStatementBatcher(replicas[0]);
    const slow = statement(
      "with slept as materialized (select pg_sleep(0.3)) insert into kept (word) select 'slow' from slept returning word",
    );
    const answers = await Promise.all([keep(trips, 'a'), trips.ask<Kept>(slow, {}, LOCKS_NOTHING), keep(trips, 'b')]);
    expect(answers.map(([row]) => row?.word)).toEqual(['a', 'slow', 'b']);
    expect(await words()).toEqual(['a', 'b', 'slow']);
  });

  it('all are done when two replicas lock the same in opposite order', async () => {
    const [one, other] = replicas.map(createStatementBatcher) as [StatementBatcher, StatementBatcher];
    for (let round = 0; round < 5; round += 1) {
      await onlooker.raw('delete from kept');
      await Promise.all([
        keep(one, 'one a', locking('a', '1')),
        keep(one, 'one b', locking('b', '2')),
        keep(other, 'other b', locking('b', '1')),
        keep(other, 'other a', locking('a', '2')),
      ]);
      expect(await words()).toEqual(['one a', 'one b', 'other a', 'other b']);
    }
  });

  it('one that cannot even be written fails, and nobody meets what it left behind', async () => {
    await onSingleConnection(server, async (only) => {
      const trips = createStatementBatcher(only);
      const odd = failureOf(trips.ask(KEEP, { word: { number: 1n } }, LOCKS_NOTHING));
      await Promise.all([failureOf(keep(trips, 'a')), odd]);
      expect(await odd).toBeInstanceOf(TypeError);
      expect(await keepAll(trips, ['c', 'd'])).toHaveLength(2);
    });
  });

  it('none is done when the connection is lost, which is the fault of the database', async () => {
    const trips = createStatementBatcher(replicas[0]);
    const outcomes = [keep(trips, 'a', { order: '1' }), trips.ask(SLEEP, {}, { order: '2' }), keep(trips, 'b', { order: '3' })].map(
      failureOf,
    );
    await eventually(
      () => onlooker.raw<{ rows: unknown[] }>(END_SLEEPERS),
      ({ rows }) => rows.length > 0,
    );
    const lost = await Promise.all(outcomes);
    expect(lost.map(isUnavailable)).toEqual([true, true, true]);
    expect(await words()).toEqual([]);
    expect(await keepAll(trips, ['c', 'd'])).toHaveLength(2);
  });

  it('the patience of each connection is afterwards what it was', async () => {
    const limits = { statementMs: 5_000, lockMs: 4_321, idleTransactionMs: 5_000 };
    await onSingleConnection({ url: server.url, limits }, async (only) => {
      await keepAll(createStatementBatcher(only), ['a', 'b']);
      expect((await only.raw<{ rows: unknown[] }>('show lock_timeout')).rows).toEqual([{ lock_timeout: '4321ms' }]);
    });
  });
});
