import type { Socket } from 'node:net';
import knex, { type Knex } from 'knex';
import pg from 'pg';
import { DEFAULT_LIMITS, sslModeOf, type DatabaseLimits } from '../../config/database.js';
import type { Logger } from '../../ports/log.js';
import type { PositionWatch } from './continuity/create-continuity.js';
import { suspected } from '../../access/after-loss.js';
import { redactText } from '../../observability/redact.js';
import { isLendable, retire, type ConnectionPool } from './connection-pool.js';

export interface DatabaseOptions {
  readonly url: string;
  /** CA certificates (PEM) that must have issued the server's certificate. */
  readonly ca?: string;
  readonly log: Logger;
  /** Shown in the server's list of connections. */
  readonly applicationName?: string;
  readonly poolSize?: number;
  /** Null for long-running work, such as a migration. */
  readonly limits?: DatabaseLimits | null;
  /** Compares where each session begins with what this process has seen. */
  readonly position?: PositionWatch;
}

/** In seconds, a parameter of PostgreSQL's own clients, which its driver for Node ignores. */
const CONNECT_TIMEOUT = /[?&]connect_timeout=(\d+)/;
/** As for the setting; a timer of more than 24 days would fire at once. */
const LONGEST_CONNECT_S = 600;
const connectMsOf = ({ url, limits }: Pick<DatabaseOptions, 'url' | 'limits'>): number => {
  const seconds = Number(CONNECT_TIMEOUT.exec(url)?.[1] ?? 0);
  return seconds > 0 ? Math.min(seconds, LONGEST_CONNECT_S) * 1_000 : (limits?.connectMs ?? DEFAULT_LIMITS.connectMs);
};
/** A request waits for a free connection a little longer than a new one may take; then it fails with a retryable error. */
const ACQUIRE_GRACE_MS = 2_000;
/** Grace after the server's own timeouts, before a silent server is given up. */
export const SILENCE_MS = 3_000;
/** The driver's timeout must fire last: it fails the query but leaves the connection in the pool. */
const DRIVER_MS = 500;
/** A new connection costs more than an idle one: its password is hashed thousands of times. */
const IDLE_MS = 300_000;
/** How often the pool looks for idle ones; its default is every second. */
const REAP_MS = 30_000;
const silenceAfter = ({ statementMs, idleTransactionMs }: DatabaseLimits): number => Math.max(statementMs, idleTransactionMs) + SILENCE_MS;
/** Idle time before TCP keep-alive probes are sent. */
const KEEP_ALIVE_MS = 10_000;

const INT8 = 20;
const INT8_ARRAY = 1016;

/** 64-bit integers become bigint in this pool only; `numeric` stays a decimal string, the driver's default. No number is rounded. */
function exactTypes() {
  const types = new pg.TypeOverrides();
  types.setTypeParser(INT8, BigInt);
  types.setTypeParser(INT8_ARRAY, parseIntegers);
  return { getTypeParser: (oid: number, format?: string) => types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text') };
}

const parseIntegers = (text: string): (bigint | null)[] =>
  text === '{}'
    ? []
    : text
        .slice(1, -1)
        .split(',')
        .map((item) => (item === 'NULL' ? null : BigInt(item)));

type Reach = Pick<DatabaseOptions, 'url' | 'ca' | 'applicationName' | 'limits'>;

const connectionSettings = ({ url, ca, applicationName = 'diamond-gateway', limits = DEFAULT_LIMITS }: Reach) => ({
  ...transport(url, ca),
  application_name: applicationName,
  connectionTimeoutMillis: connectMsOf({ url, limits }),
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  types: exactTypes(),
  ...(limits === null ? {} : { query_timeout: silenceAfter(limits) + DRIVER_MS }),
});

const UNVERIFIED: ReadonlySet<string> = new Set(['disable', 'no-verify']);

/** TLS options in the URL override separate ones, so `sslmode` is removed from the URL where a CA is given. */
function transport(url: string, ca: string | undefined) {
  const mode = sslModeOf(url);
  if (url.includes('uselibpqcompat=') || (mode !== null && UNVERIFIED.has(mode))) return { connectionString: url };
  if (ca !== undefined) return { connectionString: url.replace(/([?&])sslmode=[^&]*&?/, '$1'), ssl: { ca } };
  // The driver treats the weaker modes as verify-full and warns about it.
  return { connectionString: mode === null ? url : url.replace(`sslmode=${mode}`, 'sslmode=verify-full') };
}

export interface Reached {
  /** A pool; it connects on the first query. */
  readonly db: Knex;
  /** Creates a dedicated connection outside the pool; not connected yet. */
  readonly createClient: (own: Pick<DatabaseOptions, 'applicationName' | 'limits'>) => pg.Client;
}

/** All database connections of a process. */
export function reachDatabase({ log, poolSize = 10, position, ...reach }: DatabaseOptions): Reached {
  const watch = createWatch(log, position);
  const db = knex({
    client: 'pg',
    connection: connectionSettings(reach),
    pool: { min: 0, max: poolSize, idleTimeoutMillis: IDLE_MS, reapIntervalMillis: REAP_MS, afterCreate: prepare, validate: isLendable },
    acquireConnectionTimeout: connectMsOf(reach) + ACQUIRE_GRACE_MS,
    log: driverLog(log),
    compileSqlOnError: false, // values would end up in error messages and logs
  });

  if (position !== undefined) lendUnsuspected(db.client as ConnectionPool, position);

  function prepare(pooled: pg.Client, done: (error: unknown, pooled: pg.Client) => void): void {
    const { limits = DEFAULT_LIMITS } = reach;
    watch(pooled);
    if (limits !== null) closeWhenSilent(pooled, silenceAfter(limits));
    beginSession(pooled, limits, position).then(
      () => done(null, pooled),
      (error: unknown) => {
        closeQuietly(pooled); // the pool drops a connection that could not be prepared
        done(error, pooled);
      },
    );
  }

  function createClient(own: Pick<DatabaseOptions, 'applicationName' | 'limits'>): pg.Client {
    const { limits = DEFAULT_LIMITS, ...rest } = { ...reach, ...own };
    const client = new pg.Client(connectionSettings({ ...rest, limits }));
    const connect = client.connect.bind(client);
    return Object.assign(client, {
      async connect(): Promise<void> {
        await connect();
        watch(client);
        await beginSession(client, limits, position);
      },
    });
  }

  return { db, createClient };
}

/** A connection that is made for a write may be the first to reach another server: the write was judged before, and is refused. */
function lendUnsuspected(pool: ConnectionPool, { suspicions }: PositionWatch): void {
  const acquire = pool.acquireConnection.bind(pool);
  pool.acquireConnection = async () => {
    const before = suspicions();
    const connection = await acquire();
    if (suspicions() === before) return connection;
    await pool.releaseConnection(connection);
    throw suspected();
  };
}

export const connectDatabase = (options: DatabaseOptions): Knex => reachDatabase(options).db;

/** The server closes the connection after these. Severities are localised, so the usual codes are listed too. */
const CLOSING_SEVERITIES: ReadonlySet<string> = new Set(['FATAL', 'PANIC']);
const CLOSING_CODES = /^57P0|^25P0[34]$/;

/** Their end says nothing about the server. */
const closedHere = new WeakSet<pg.Client>();

/**
 * The server announces the end of a connection before the socket closes; in between the pool must not lend it. A server that rejects
 * writes is no longer the primary: all connections to it are closed, including those that only read or hold a lease.
 */
function createWatch(log: Logger, position?: PositionWatch): (client: pg.Client) => void {
  const all = new Set<pg.Client>();
  const closeAll = (): void => {
    log.warn('store.read-only', { connections: all.size });
    all.forEach(retire);
    for (const each of all) closeQuietly(each);
    all.clear();
  };
  return (client) => {
    all.add(client);
    client.once('end', () => all.delete(client));
    client.once('error', () => {
      if (!closedHere.has(client)) position?.cut();
    });
    client.connection.on('errorMessage', (message: { readonly severity?: string; readonly code?: string }) => {
      if (CLOSING_SEVERITIES.has(message.severity ?? '') || CLOSING_CODES.test(message.code ?? '')) {
        retire(client);
        position?.cut();
      }
      // The caller gets its error before the connection closes.
      if (message.code === READ_ONLY && all.has(client)) setImmediate(closeAll);
    });
  };
}

/**
 * A network failure without a reset leaves a connection open for about 15 minutes, and queries on it hang. Closes a pooled connection that
 * was silent for longer than any statement or idle transaction may take.
 */
function closeWhenSilent(pooled: pg.Client, ms: number): void {
  const stream = pooled.connection.stream as Socket;
  stream.setTimeout(ms, () => {
    retire(pooled);
    closedHere.add(pooled);
    stream.destroy();
  });
}

function closeQuietly(client: pg.Client): void {
  client.end().catch(() => undefined);
}

/** The library would log to the console; its messages are repeated in the errors that reach the caller. */
function driverLog(log: Logger): Knex.Logger {
  const write = (message: unknown): void => log.debug('store.driver', { text: redactText(String(message).split('\n')[0] ?? '') });
  return { warn: write, error: write, deprecate: write, debug: write };
}

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
const READ_ONLY = '25006';

const limitSettings = ({ statementMs, lockMs, idleTransactionMs }: DatabaseLimits) => ({
  statement_timeout: String(statementMs),
  lock_timeout: String(lockMs),
  idle_in_transaction_session_timeout: String(idleTransactionMs),
});

/** One round trip. Fails on a read-only server: the next attempt may reach the primary. */
async function beginSession(connection: Pick<pg.Client, 'query'>, limits: DatabaseLimits | null, position?: PositionWatch): Promise<void> {
  const settings = Object.entries({ ...FIXED, ...limitSettings(limits ?? NO_LIMITS) });
  const assignments = settings.map(([name, value]) => `set_config('${name}', '${value}', false)`);
  const columns = [...assignments, IS_READ_ONLY, ...(position === undefined ? [] : [position.column])];
  const compare = position?.asked();
  const { rows } = await connection.query<Answer>(`select ${columns.join(', ')}`);
  refuseReader(rows);
  compare?.(rows[0]?.position);
}

/** Checks that the database answers and accepts writes. */
export async function expectWrites(db: Knex): Promise<void> {
  const { rows } = await db.raw<{ rows: Answer[] }>(`select ${IS_READ_ONLY}`);
  refuseReader(rows);
}

interface Answer {
  readonly is_read_only: boolean;
  readonly position?: unknown;
}

const IS_READ_ONLY = `pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only`;

function refuseReader([answer]: readonly Answer[]): void {
  if (answer?.is_read_only !== false) throw Object.assign(new Error('the database takes no writes at present'), { code: READ_ONLY });
}
