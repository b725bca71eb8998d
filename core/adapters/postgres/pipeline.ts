import pg from 'pg';
import { valuesOf, type Question } from './statement.js';

/** A pooled connection. */
export interface Lent extends pg.Client {
  /** The pool does not reuse a connection with this mark. */
  __knex__disposed?: unknown;
}

/** By name the server reuses the parsed statement; in full where it has changed under its name. */
export type Manner = 'by-name' | 'in-full';

/**
 * Pipelines several statements: one write, one transaction, one answer. Each statement sees what was committed before it started, so one
 * after a lock sees the previous holder's writes. The server treats everything between two syncs as one transaction and skips the rest
 * after a failure.
 */
export const sendTogether = (connection: Lent, questions: readonly Question[], manner: Manner): Promise<unknown[][]> =>
  new Promise<unknown[][]>((resolve, reject) => {
    // All messages are encoded first: a failure halfway would leave a partial pipeline without an answer.
    const messages = questions.map((question) => messageOf(question, manner));
    const fail = (fault: unknown): void => {
      // After a failure it is unknown which statements the server has parsed, so their names must not be reused.
      connection.__knex__disposed = fault;
      reject(fault instanceof Error ? fault : new Error('the database failed without a message'));
    };
    const query = new pg.Query({ text: '' }, (error: unknown, answers: unknown) => {
      if (error) return fail(error);
      try {
        resolve(rowsOf(answers, questions.length));
      } catch (fault) {
        fail(fault);
      }
    });
    query.submit = (given) => {
      const wire = given as Wire;
      wire.stream.cork();
      try {
        for (const message of messages) write(wire, message);
        wire.sync();
      } finally {
        wire.stream.uncork();
      }
    };
    connection.query(query);
  });

interface Message {
  /** Empty for an unnamed statement. */
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

const messageOf = ({ asked, values }: Question, manner: Manner): Message => ({
  name: (manner === 'by-name' ? asked.name : null) ?? '',
  text: asked.text,
  values: valuesOf(asked, values).map(toText),
});

/** Members of the driver's connection that its types omit. */
interface Wire extends pg.Connection {
  /** By name. */
  readonly parsedStatements: Record<string, string>;
}

/** Without a sync: the one after the last statement ends the pipeline. */
function write(wire: Wire, { name, text, values }: Message): void {
  if (name === '' || wire.parsedStatements[name] === undefined) wire.parse({ name, text, types: [] }, true);
  if (name !== '') wire.parsedStatements[name] = text;
  wire.bind({ statement: name, values } as pg.BindConfig, true);
  wire.describe({ type: 'P', name: '' }, true);
  wire.execute({}, true);
}

const { prepareValue: toText } = (pg as unknown as { readonly utils: { readonly prepareValue: (value: unknown) => unknown } }).utils;

/** The driver returns one result per statement, and a single one without a list. */
function rowsOf(answers: unknown, count: number): unknown[][] {
  const all: unknown[] = Array.isArray(answers) ? answers : [answers];
  if (all.length !== count) throw new TypeError('the driver answered another number of statements');
  return all.map((answer) => {
    if (typeof answer !== 'object' || answer === null || !('rows' in answer) || !Array.isArray(answer.rows))
      throw new TypeError('the driver answered without rows');
    return answer.rows as unknown[];
  });
}
