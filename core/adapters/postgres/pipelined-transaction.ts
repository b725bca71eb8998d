import type { Knex } from 'knex';
import { tryAgain } from './faults.js';
import { borrowed, byName } from './pooled-query.js';
import { sendTogether, type Lent, type Manner } from './pipeline.js';
import { plain, type Question, type Statement, type Values } from './statement.js';

/** A transaction with one round trip per read: writes are sent with the next read or with the commit. */
export interface Steps {
  ask<Row>(asked: Statement, values: Values): Promise<Row[]>;
  /** Executed in call order. A failure is reported by the read or commit that it is sent with. */
  leave(...questions: readonly Question[]): void;
}

const [BEGIN, COMMIT, ROLLBACK] = [plain('begin'), plain('commit'), plain('rollback')];

/**
 * Atomic. Retries the work after a conflict with a concurrent transaction or a change of the tables by a new release, so the work must have
 * no side effects outside the database.
 */
export const inSteps = <Result>(db: Knex, work: (steps: Steps) => Promise<Result>): Promise<Result> =>
  tryAgain(() => borrowed(db, (connection) => byName(connection, (manner) => run(connection, manner, work))));

async function run<Result>(connection: Lent, manner: Manner, work: (steps: Steps) => Promise<Result>): Promise<Result> {
  let left: Question[] = [BEGIN];
  let failed: Error | null = null;
  const send = async (last: Question): Promise<unknown[][]> => {
    // A commit after a failure would succeed as a rollback, so it must not be sent.
    if (failed !== null) throw failed;
    const questions = [...left, last];
    left = [];
    try {
      return await sendTogether(connection, questions, manner);
    } catch (error) {
      failed = error instanceof Error ? error : new Error('the database failed without a message');
      throw error;
    }
  };
  try {
    const result = await work({
      ask: async <Row>(asked: Statement, values: Values) => ((await send({ asked, values })).at(-1) ?? []) as Row[],
      leave: (...questions) => void left.push(...questions),
    });
    await send(COMMIT);
    return result;
  } catch (error) {
    await undo(connection);
    throw error;
  }
}

/** Releases locks immediately instead of when the broken connection is noticed. */
async function undo(connection: Lent): Promise<void> {
  try {
    await sendTogether(connection, [ROLLBACK], 'in-full');
  } catch (error) {
    connection.__knex__disposed = error;
  }
}
