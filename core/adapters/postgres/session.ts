import type { Knex } from 'knex';
import type pg from 'pg';
import type { DatabaseLimits } from '../../config/database.js';

/**
 * Servers, databases and roles come with defaults of their own. What our statements rely on is said by every connection: a statement sees
 * what was committed before it began, tables are those of one schema, and a connection that only waits is not ended for it. Said after the
 * start of the connection, not with it: poolers refuse what they do not know there.
 */
const FIXED = {
  default_transaction_isolation: 'read committed',
  search_path: 'public',
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  array_nulls: 'on',
  bytea_output: 'hex',
  idle_session_timeout: '0',
  // A machine that is gone without a word is noticed by the server too, and what it locked is free again.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
} as const;

const NO_LIMITS: DatabaseLimits = { statementMs: 0, lockMs: 0, idleTransactionMs: 60_000 };

/** A server that takes no writes, such as one that has become a standby, in PostgreSQL's own words for it. */
export const READ_ONLY = '25006';

const limitSettings = ({ statementMs, lockMs, idleTransactionMs }: DatabaseLimits) => ({
  statement_timeout: String(statementMs),
  lock_timeout: String(lockMs),
  idle_in_transaction_session_timeout: String(idleTransactionMs),
});

/** One round trip. Fails on a server that would refuse every write: the next try may be led to the one that does not. */
export async function beginSession(connection: Pick<pg.Client, 'query'>, limits: DatabaseLimits | null): Promise<void> {
  const settings = Object.entries({ ...FIXED, ...limitSettings(limits ?? NO_LIMITS) });
  const said = settings.map(([name, value]) => `set_config('${name}', '${value}', false)`);
  const { rows } = await connection.query<Answer>(`select ${said.join(', ')}, ${IS_READ_ONLY}`);
  refuseReader(rows);
}

/** Whether the database answers, and would store something. */
export async function expectWrites(db: Knex): Promise<void> {
  const { rows } = await db.raw<{ rows: Answer[] }>(`select ${IS_READ_ONLY}`);
  refuseReader(rows);
}

interface Answer {
  readonly is_read_only: boolean;
}

const IS_READ_ONLY = `pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only`;

function refuseReader([answer]: readonly Answer[]): void {
  if (answer?.is_read_only !== false) throw Object.assign(new Error('the database takes no writes at present'), { code: READ_ONLY });
}
