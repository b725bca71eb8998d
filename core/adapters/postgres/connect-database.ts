import type { Socket } from 'node:net';
import knex, { type Knex } from 'knex';
import pg from 'pg';
import { DEFAULT_LIMITS, sslModeOf, type DatabaseLimits } from '../../config/database.js';
import type { Logger } from '../../ports/log.js';
import { redactText } from '../../observability/redact.js';
import { beginSession, READ_ONLY } from './session.js';

export interface DatabaseOptions {
  readonly url: string;
  /** Certificates (PEM) that the server's own must come from. */
  readonly ca?: string;
  readonly log: Logger;
  /** Shown in the server's list of connections. */
  readonly applicationName?: string;
  readonly poolSize?: number;
  /** Null for work that may take its time, such as a migration. */
  readonly limits?: DatabaseLimits | null;
}

const CONNECT_MS = 3_000;
/** A request waits this long for a free connection; then the caller is told to come back. */
const ACQUIRE_MS = 5_000;
/** The server's own limit comes first; this one ends the wait for a server that does not speak any more. */
export const SILENCE_MS = 3_000;
/** The driver's own limit comes last: it ends the question and leaves the connection as it is, to be lent again. */
const DRIVER_MS = 500;
const silenceAfter = ({ statementMs, idleTransactionMs }: DatabaseLimits): number => Math.max(statementMs, idleTransactionMs) + SILENCE_MS;
/** A connection in which nothing happens is asked for a sign of life after this long, by the system. */
const KEEP_ALIVE_MS = 10_000;

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

type Reach = Pick<DatabaseOptions, 'url' | 'ca' | 'applicationName' | 'limits'>;

const connectionSettings = ({ url, ca, applicationName = 'diamond-gateway', limits = DEFAULT_LIMITS }: Reach) => ({
  ...transport(url, ca),
  application_name: applicationName,
  connectionTimeoutMillis: CONNECT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  types: exactTypes(),
  ...(limits === null ? {} : { query_timeout: silenceAfter(limits) + DRIVER_MS }),
});

const UNVERIFIED: ReadonlySet<string> = new Set(['disable', 'no-verify']);

/** What the URL says about TLS is stronger than what stands beside it, so where a certificate is given the URL no longer says it. */
function transport(url: string, ca: string | undefined) {
  const mode = sslModeOf(url);
  if (url.includes('uselibpqcompat=') || (mode !== null && UNVERIFIED.has(mode))) return { connectionString: url };
  if (ca !== undefined) return { connectionString: url.replace(/([?&])sslmode=[^&]*&?/, '$1'), ssl: { ca } };
  // The driver takes the weaker modes for this one, and warns that it does.
  return { connectionString: mode === null ? url : url.replace(`sslmode=${mode}`, 'sslmode=verify-full') };
}

export interface Reached {
  /** A pool; it connects when it is first asked something. */
  readonly db: Knex;
  /** A connection outside the pool, for whoever keeps it; not connected yet. */
  readonly createClient: (own: Pick<DatabaseOptions, 'applicationName' | 'limits'>) => pg.Client;
}

/** All connections of a process to one database. */
export function reachDatabase({ log, poolSize = 10, ...reach }: DatabaseOptions): Reached {
  const watch = createWatch(log);
  const db = knex({
    client: 'pg',
    connection: connectionSettings(reach),
    pool: { min: 0, max: poolSize, idleTimeoutMillis: 30_000, afterCreate: prepare },
    acquireConnectionTimeout: ACQUIRE_MS,
    log: driverLog(log),
    compileSqlOnError: false, // values would end up in error messages, and from there in logs
  });

  function prepare(pooled: Watched, done: (error: unknown, pooled: Watched) => void): void {
    const { limits = DEFAULT_LIMITS } = reach;
    watch(pooled);
    if (limits !== null) leaveWhenSilent(pooled, silenceAfter(limits));
    beginSession(pooled, limits).then(
      () => done(null, pooled),
      (error: unknown) => {
        hangUp(pooled); // the pool forgets what it could not prepare
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
        await beginSession(client, limits);
      },
    });
  }

  return { db, createClient };
}

export const connectDatabase = (options: DatabaseOptions): Knex => reachDatabase(options).db;

/** After these the server closes; the words come in its own language, so the usual codes are known too. */
const LAST_WORDS: ReadonlySet<string> = new Set(['FATAL', 'PANIC']);
const LAST_CODES = /^57P0|^25P0[34]$/;

type Watched = pg.Client & {
  /** The driver's wire, which its own types leave out. */
  readonly connection: NodeJS.EventEmitter & { readonly stream: Socket };
  /** The pool does not lend a connection that bears it. */
  __knex__disposed?: unknown;
};

/**
 * A server that ends a connection says so before the socket closes: in between the pool would lend it to the next who asks. One that takes no
 * writes any more has left its place to another: nobody stays with it, neither who only reads nor who only holds a lease.
 */
function createWatch(log: Logger): (client: pg.Client) => void {
  const all = new Set<Watched>();
  const leave = (said: unknown): void => {
    log.warn('store.read-only', { connections: all.size });
    for (const each of all) each.__knex__disposed = said;
    for (const each of all) hangUp(each);
    all.clear();
  };
  return (client) => {
    const watched = client as Watched;
    all.add(watched);
    client.once('end', () => all.delete(watched));
    watched.connection.on('errorMessage', (message: { readonly severity?: string; readonly code?: string }) => {
      if (LAST_WORDS.has(message.severity ?? '') || LAST_CODES.test(message.code ?? '')) watched.__knex__disposed = message;
      // Whoever asked hears the answer first.
      if (message.code === READ_ONLY && all.has(watched)) setImmediate(leave, message);
    });
  };
}

/**
 * Where the way to the server is gone without a word, the system keeps a connection for a quarter of an hour, and whoever is lent it waits in
 * vain. For longer than any statement or pause may take, nothing is said only there, or where nobody needed it.
 */
function leaveWhenSilent(pooled: Watched, ms: number): void {
  const { stream } = pooled.connection;
  stream.setTimeout(ms, () => {
    pooled.__knex__disposed = 'silent';
    stream.destroy();
  });
}

function hangUp(client: pg.Client): void {
  client.end().catch(() => undefined);
}

/** Left alone, the library writes to the console. What it says is said again by the error that reaches the caller. */
function driverLog(log: Logger): Knex.Logger {
  const say = (message: unknown): void => log.debug('store.driver', { text: redactText(String(message).split('\n')[0] ?? '') });
  return { warn: say, error: say, deprecate: say, debug: say };
}
