import type { Knex } from 'knex';
import pg from 'pg';
import { valuesOf, type Statement, type Values } from './statement.js';

export interface Question {
  readonly asked: Statement;
  readonly values: Values;
}

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
    const query = new pg.Query({ text: '' }, (error: unknown, answers: unknown) => {
      // The driver cannot tell which of them were read when one failed, and would ask for a name that the server has not heard.
      if (error) connection.__knex__disposed = error;
      if (error) reject(error instanceof Error ? error : new Error('the database failed without a word'));
      else resolve(rowsOf(answers, questions.length));
    });
    query.submit = (given) => {
      const wire = given as Wire;
      wire.stream.cork();
      try {
        for (const question of questions) write(wire, question, manner);
        wire.sync();
      } finally {
        wire.stream.uncork();
      }
    };
    connection.query(query);
  });

/** What the driver knows of its connection, and does not tell in its types. */
interface Wire extends pg.Connection {
  /** By name. */
  readonly parsedStatements: Record<string, string>;
}

/** Not followed by a sync: that behind the last one ends them all. */
function write(wire: Wire, { asked, values }: Question, manner: Manner): void {
  const name = (manner === 'by-name' ? asked.name : null) ?? '';
  if (name === '' || wire.parsedStatements[name] === undefined) wire.parse({ name, text: asked.text, types: [] }, true);
  if (name !== '') wire.parsedStatements[name] = asked.text;
  const bound = { statement: name, values: valuesOf(asked, values), valueMapper: toText };
  wire.bind(bound as pg.BindConfig, true);
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

/** As part of a transaction of the query builder. */
export async function runAll(trx: Knex.Transaction, questions: readonly Question[]): Promise<void> {
  for (const { asked, values } of questions) await trx.raw(asked.named, values as never);
}
