import type { Knex } from 'knex';
import { tryAgain } from './faults.js';
import { borrowed, byName } from './in-one-go.js';
import { sendTogether, type Lent, type Manner } from './send-together.js';
import { plain, type Question, type Statement, type Values } from './statement.js';

/** A transaction in as few round trips as it has questions: what only writes travels with the next question, or with the end. */
export interface Steps {
  ask<Row>(asked: Statement, values: Values): Promise<Row[]>;
  /** Done in the order told. What fails is told by whatever it travels with. */
  leave(...questions: readonly Question[]): void;
}

const [BEGIN, COMMIT, ROLLBACK] = [plain('begin'), plain('commit'), plain('rollback')];

/**
 * All or nothing. Runs the work again when it lost against a concurrent transaction, or another release has changed the tables under it, so
 * the work touches nothing but the database.
 */
export const inSteps = <Result>(db: Knex, work: (steps: Steps) => Promise<Result>): Promise<Result> =>
  tryAgain(() => borrowed(db, (connection) => byName(connection, (manner) => run(connection, manner, work))));

async function run<Result>(connection: Lent, manner: Manner, work: (steps: Steps) => Promise<Result>): Promise<Result> {
  let left: Question[] = [BEGIN];
  let failed: Error | null = null;
  const send = async (last: Question): Promise<unknown[][]> => {
    // The end of what has failed would be answered like any other, and nothing be kept.
    if (failed !== null) throw failed;
    const questions = [...left, last];
    left = [];
    try {
      return await sendTogether(connection, questions, manner);
    } catch (error) {
      failed = error instanceof Error ? error : new Error('the database failed without a word');
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

/** What it has locked must not stay locked until somebody notices that the connection is of no use. */
async function undo(connection: Lent): Promise<void> {
  try {
    await sendTogether(connection, [ROLLBACK], 'in-full');
  } catch (error) {
    connection.__knex__disposed = error;
  }
}
