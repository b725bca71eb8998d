import knex, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../../ports.js';
import { redactText } from '../../redact.js';

export interface DatabaseLimits {
  /** A statement that runs longer is ended by the server. */
  readonly statementMs: number;
  /** A wait for a row or table lock. */
  readonly lockMs: number;
  /** A transaction in which nothing happens: its locks would stop others. */
  readonly idleTransactionMs: number;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly log: Logger;
  /** Shown in the server's list of connections. */
  readonly applicationName?: string;
  readonly poolSize?: number;
  /** Null for work that may take its time, such as a migration. */
  readonly limits?: DatabaseLimits | null;
}

const LIMITS: DatabaseLimits = { statementMs: 10_000, lockMs: 5_000, idleTransactionMs: 15_000 };
const CONNECT_MS = 3_000;
/** A request waits this long for a free connection; then the caller is told to come back. */
const ACQUIRE_MS = 5_000;
/** The server's own limit comes first; this one ends the wait for a server that does not speak any more. */
const SILENCE_MS = 3_000;

const INT8 = 20;
const INT8_ARRAY = 1016;

/** 64-bit integers are bigint, in this pool only; `numeric` stays a decimal string, as the driver has it. No number is ever rounded. */
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

type Reach = Pick<DatabaseOptions, 'url' | 'applicationName' | 'limits'>;

const connectionSettings = ({ url, applicationName = 'diamond-gateway', limits = LIMITS }: Reach) => ({
  connectionString: url,
  application_name: applicationName,
  connectionTimeoutMillis: CONNECT_MS,
  keepAlive: true,
  types: exactTypes(),
  ...(limits === null ? {} : limitSettings(limits)),
});

/** A connection outside the pool, for whoever keeps it; not connected yet. */
export const createClient = (reach: Reach): pg.Client => new pg.Client(connectionSettings(reach));

/** A pool; it connects when it is first asked something. */
export function connectDatabase({ log, poolSize = 10, ...reach }: DatabaseOptions): Knex {
  return knex({
    client: 'pg',
    connection: connectionSettings(reach),
    pool: { min: 0, max: poolSize, idleTimeoutMillis: 30_000, afterCreate: discardWhenDoomed },
    acquireConnectionTimeout: ACQUIRE_MS,
    log: driverLog(log),
    compileSqlOnError: false, // values would end up in error messages, and from there in logs
  });
}

/** After these the server closes; the words come in its own language, so the usual codes are known too. */
const LAST_WORDS: ReadonlySet<string> = new Set(['FATAL', 'PANIC']);
const LAST_CODES = /^57P0|^25P03$/;

interface PooledConnection {
  /** The driver's wire, which its own types leave out. */
  readonly connection: NodeJS.EventEmitter;
  /** The pool does not lend a connection that bears it. */
  __knex__disposed?: unknown;
}

/** A server that ends a connection says so before the socket closes: in between the pool would lend it to the next who asks. */
function discardWhenDoomed(pooled: PooledConnection, done: (error: null, pooled: PooledConnection) => void): void {
  pooled.connection.on('errorMessage', (message: { readonly severity?: string; readonly code?: string }) => {
    if (LAST_WORDS.has(message.severity ?? '') || LAST_CODES.test(message.code ?? '')) pooled.__knex__disposed = message;
  });
  done(null, pooled);
}

const limitSettings = ({ statementMs, lockMs, idleTransactionMs }: DatabaseLimits) => ({
  statement_timeout: statementMs,
  query_timeout: statementMs + SILENCE_MS,
  lock_timeout: lockMs,
  idle_in_transaction_session_timeout: idleTransactionMs,
});

/** Left alone, the library writes to the console. What it says is said again by the error that reaches the caller. */
function driverLog(log: Logger): Knex.Logger {
  const say = (message: unknown): void => log.debug('store.driver', { text: redactText(String(message).split('\n')[0] ?? '') });
  return { warn: say, error: say, deprecate: say, debug: say };
}
