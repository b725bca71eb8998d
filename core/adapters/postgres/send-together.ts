import pg from 'pg';
import { valuesOf, type Question } from './statement.js';

/** A connection of the pool. */
export interface Lent extends pg.Client {
  /** The pool does not lend a connection that bears it. */
  __knex__disposed?: unknown;
}

/** By name the server need not read and plan a statement again; in full where it has changed under its name. */
export type Manner = 'by-name' | 'in-full';

/**
 * Several statements in one write, one transaction and one answer, each seeing what was committed before it began: what one waits for,
 * the next sees. The server treats everything between two syncs as one transaction and skips the rest after a failure.
 */
export const sendTogether = (connection: Lent, questions: readonly Question[], manner: Manner): Promise<unknown[][]> =>
  new Promise<unknown[][]>((resolve, reject) => {
    // What cannot be written is found out before anything is: half of it on the wire would never be answered.
    const messages = questions.map((question) => messageOf(question, manner));
    const fail = (fault: unknown): void => {
      // The driver cannot tell which of them were read when one failed, and would ask for a name that the server has not heard.
      connection.__knex__disposed = fault;
      reject(fault instanceof Error ? fault : new Error('the database failed without a word'));
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
  /** Empty where the server is told all of it. */
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

const messageOf = ({ asked, values }: Question, manner: Manner): Message => ({
  name: (manner === 'by-name' ? asked.name : null) ?? '',
  text: asked.text,
  values: valuesOf(asked, values).map(toText),
});

/** What the driver knows of its connection, and does not tell in its types. */
interface Wire extends pg.Connection {
  /** By name. */
  readonly parsedStatements: Record<string, string>;
}

/** Not followed by a sync: that behind the last one ends them all. */
function write(wire: Wire, { name, text, values }: Message): void {
  if (name === '' || wire.parsedStatements[name] === undefined) wire.parse({ name, text, types: [] }, true);
  if (name !== '') wire.parsedStatements[name] = text;
  wire.bind({ statement: name, values } as pg.BindConfig, true);
  wire.describe({ type: 'P', name: '' }, true);
  wire.execute({}, true);
}

const { prepareValue: toText } = (pg as unknown as { readonly utils: { readonly prepareValue: (value: unknown) => unknown } }).utils;

/** The driver counts an answer for each of them, and gives an only one without a list. */
function rowsOf(answers: unknown, count: number): unknown[][] {
  const all: unknown[] = Array.isArray(answers) ? answers : [answers];
  if (all.length !== count) throw new TypeError('the driver answered another number of statements');
  return all.map((answer) => {
    if (typeof answer !== 'object' || answer === null || !('rows' in answer) || !Array.isArray(answer.rows))
      throw new TypeError('the driver answered without rows');
    return answer.rows as unknown[];
  });
}
