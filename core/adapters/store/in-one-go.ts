import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import pg from 'pg';

/** A statement written once with names for its values (`:chain`) and sent with numbers, as the server knows them. */
export interface Statement {
  /** As written, for whoever runs it as part of a transaction. */
  readonly named: string;
  readonly text: string;
  readonly names: readonly string[];
  /** By which a connection knows it again: the server reads and plans it once, and is told the name from then on. */
  readonly name: string;
}

/** A name that is used twice is one value, so each use says its type: `cast(:chain as text)`. */
export function statement(named: string): Statement {
  const names: string[] = [];
  const text = named.replace(/(?<!:):([a-zA-Z]\w*)/g, (_match, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { named, text, names, name: `dg_${createHash('sha256').update(text).digest('hex').slice(0, 24)}` };
}

export type Values = Readonly<Record<string, unknown>>;

/** The query builder of the pool spends more time on a statement than the driver does; what runs with every request goes past it. */
interface ConnectionPool {
  acquireConnection(): Promise<Lent>;
  releaseConnection(connection: Lent): Promise<void>;
}

interface Lent extends pg.Client {
  /** The pool does not lend a connection that bears it. */
  __knex__disposed?: unknown;
}

const valuesOf = ({ names }: Statement, values: Values): unknown[] => names.map((name) => values[name] ?? null);

/** One statement, one round trip. */
export const ask = <Row>(db: Knex, asked: Statement, values: Values): Promise<Row[]> =>
  borrowed(db, (connection) =>
    byName(connection, asked, async (called) => {
      const { rows } = await connection.query({ ...called, text: asked.text, values: valuesOf(asked, values) });
      return rows as Row[];
    }),
  );

export interface Before {
  /** Without rows in its answer. */
  readonly text: string;
  readonly values: readonly (string | null)[];
}

/**
 * Two statements in one round trip and one transaction, each seeing what was committed before it began: what the first waits for, the
 * second sees. The server treats everything between two syncs as one transaction and skips the rest after a failure.
 */
export const askAfter = <Row>(db: Knex, before: Before, asked: Statement, values: Values): Promise<Row[]> =>
  borrowed(db, (connection) => byName(connection, asked, (called) => sendBoth<Row>(connection, before, asked, { called, values })));

interface Sent {
  readonly called: Called;
  readonly values: Values;
}

const sendBoth = <Row>(connection: Lent, before: Before, asked: Statement, { called, values }: Sent): Promise<Row[]> =>
  new Promise<Row[]>((resolve, reject) => {
    // Without values the driver would send it the simple way, which a server that skips to the next sync never answers.
    const sent = { ...called, text: asked.text, values: valuesOf(asked, values), queryMode: 'extended' };
    const query = new pg.Query(sent, (error: unknown, answer: unknown) => {
      // The driver cannot tell which of the two was read when it failed, and would ask for a name that the server has not heard.
      if (error) connection.__knex__disposed = error;
      if (error) reject(error instanceof Error ? error : new Error('the database failed without a word'));
      else resolve(lastRows(answer) as Row[]);
    });
    const submit = query.submit.bind(query);
    query.submit = (wire) => {
      wire.stream.cork();
      try {
        sendAhead(wire, before);
        return submit(wire);
      } finally {
        wire.stream.uncork();
      }
    };
    connection.query(query);
  });

/** Unnamed, and not followed by a sync: that of the statement behind it ends both. */
function sendAhead(wire: pg.Connection, { text, values }: Before): void {
  wire.parse({ name: '', text, types: [] }, true);
  wire.bind({ values: [...values] }, true);
  wire.execute({}, true);
}

/** The driver counts an answer for each of them. */
function lastRows(answer: unknown): unknown[] {
  const last: unknown = Array.isArray(answer) ? answer.at(-1) : answer;
  if (typeof last !== 'object' || last === null || !('rows' in last) || !Array.isArray(last.rows))
    throw new TypeError('the driver answered without rows');
  return last.rows;
}

type Called = Partial<Pick<Statement, 'name'>>;

/** What it answers has another form than when the server read it, or the server knows no such name. Nothing of it was done. */
const OUTDATED: ReadonlySet<unknown> = new Set(['0A000', '26000']);

/** Another release may change the tables while we run: then it is asked without its name, and this connection is not lent again. */
async function byName<Result>(connection: Lent, { name }: Statement, send: (called: Called) => Promise<Result>): Promise<Result> {
  try {
    return await send({ name });
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !OUTDATED.has(error.code)) throw error;
    connection.__knex__disposed = error;
    return send({});
  }
}

async function borrowed<Result>(db: Knex, work: (connection: Lent) => Promise<Result>): Promise<Result> {
  const pool = db.client as ConnectionPool;
  const connection = await pool.acquireConnection();
  try {
    return await work(connection);
  } finally {
    await pool.releaseConnection(connection);
  }
}
