import pg from 'pg';
import { retire } from './connection-pool.js';

/**
 * Sends several statements as one write, one transaction and one answer. It is a query object of its own, which the driver documents for
 * libraries (`submit`, as cursors and streams have it); docs/architecture.md says why the driver's option `pipeline` does not serve.
 */

export interface Message {
  /** Of the prepared statement, which the server parses once per connection; empty for an unnamed one. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What the driver calls on the object that it was given, with what the server answers. */
interface PipelinedQuery extends pg.Submittable {
  callback: (error: unknown) => void;
  handleRowDescription(message: { readonly fields: readonly Field[] }): void;
  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void;
  handleCommandComplete(): void;
  handleEmptyQuery(): void;
  handleError(error: unknown): void;
  handleReadyForQuery(): void;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

type Row = Record<string, unknown>;

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/**
 * The rows of each. Each statement sees what was committed before it started, so one after a lock sees the previous holder's writes. The
 * server treats everything up to the sync as one transaction and skips the rest after a failure, that of a `begin` included.
 */
export const sendPipeline = (connection: pg.Client, messages: readonly Message[]): Promise<Row[][]> =>
  new Promise((resolve, reject) => {
    // Encoded before anything is sent: a failure halfway would leave a partial pipeline without an answer.
    const encoded = messages.map((message) => ({ ...message, values: message.values.map(textOf) }));
    const answers: Row[][] = [];
    let columns: readonly Column[] = [];
    let rows: Row[] = [];
    let hasNewNames = false;
    let unreadable: unknown = null;

    const endStatement = (): void => {
      answers.push(rows);
      rows = [];
    };

    const query: PipelinedQuery = {
      submit(wire) {
        wire.stream.cork();
        try {
          const names = namesOf(wire);
          hasNewNames = encoded.some(({ name }) => name !== '' && !names.has(name));
          for (const message of encoded) write(wire, names, message);
          wire.sync();
        } finally {
          wire.stream.uncork();
        }
      },
      // The driver wraps it to stop its timer.
      callback(error) {
        if (error === null) return resolve(answers);
        // It is unknown which of the new names the server has parsed, so they must not be used again.
        if (hasNewNames || !(error instanceof pg.DatabaseError)) retire(connection);
        reject(error instanceof Error ? error : new Error('the database failed without a message'));
      },
      handleRowDescription({ fields }) {
        columns = fields.map(({ name, dataTypeID }) => ({ name, parse: connection.getTypeParser(dataTypeID) as Column['parse'] }));
      },
      handleDataRow({ fields }) {
        try {
          rows.push(rowOf(columns, fields));
        } catch (error) {
          unreadable ??= error;
        }
      },
      handleCommandComplete: endStatement,
      handleEmptyQuery: endStatement,
      handleError: (error) => query.callback(error),
      handleReadyForQuery: () => query.callback(unreadable),
    };
    connection.query(query);
  });

function rowOf(columns: readonly Column[], fields: readonly (string | null)[]): Row {
  const row: Row = {};
  for (const [at, { name, parse }] of columns.entries()) {
    const text = fields[at] ?? null;
    row[name] = text === null ? null : parse(text);
  }
  return row;
}

/** Names of the statements that a connection has sent to be parsed. */
const parsed = new WeakMap<pg.Connection, Set<string>>();

function namesOf(wire: pg.Connection): Set<string> {
  const names = parsed.get(wire) ?? new Set<string>();
  parsed.set(wire, names);
  return names;
}

type EncodedMessage = Omit<Message, 'values'> & { readonly values: (string | null)[] };

/** Without a sync: the one after the last statement ends the pipeline. */
function write(wire: pg.Connection, names: Set<string>, { name, text, values }: EncodedMessage): void {
  if (name === '' || !names.has(name)) wire.parse({ name, text, types: [] }, true);
  if (name !== '') names.add(name);
  wire.bind({ statement: name, values }, true);
  wire.describe({ type: 'P', name: '' }, true);
  wire.execute({}, true);
}

/** A value as the server reads it: objects as JSON, lists as arrays. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`;
  if (typeof value === 'object') return JSON.stringify(value);
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? value.toString() : null;
}

function elementOf(value: unknown): string {
  const text = textOf(value);
  if (text === null) return 'NULL';
  return Array.isArray(value) ? text : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
