import type { Knex } from 'knex';
import type pg from 'pg';
import type { DatabaseLimits } from '../../config/database.js';

/**
 * Session settings our statements rely on, because servers, databases and roles have their own defaults: read committed, one schema, and no
 * idle timeout. They are set after connecting and not as startup parameters, because poolers refuse unknown ones there.
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
  // Lets the server notice a dead client, so that its locks are released.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
} as const;

const NO_LIMITS: DatabaseLimits = { statementMs: 0, lockMs: 0, idleTransactionMs: 60_000 };

/** SQLSTATE of a write on a read-only server, such as a standby. */
export const READ_ONLY = '25006';

const limitSettings = ({ statementMs, lockMs, idleTransactionMs }: DatabaseLimits) => ({
  statement_timeout: String(statementMs),
  lock_timeout: String(lockMs),
  idle_in_transaction_session_timeout: String(idleTransactionMs),
});

/** One round trip. Fails on a read-only server: the next attempt may reach the primary. */
export async function beginSession(connection: Pick<pg.Client, 'query'>, limits: DatabaseLimits | null): Promise<void> {
  const settings = Object.entries({ ...FIXED, ...limitSettings(limits ?? NO_LIMITS) });
  const assignments = settings.map(([name, value]) => `set_config('${name}', '${value}', false)`);
  const { rows } = await connection.query<Answer>(`select ${assignments.join(', ')}, ${IS_READ_ONLY}`);
  refuseReader(rows);
}

/** Checks that the database answers and accepts writes. */
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
