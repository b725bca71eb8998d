import { BESIDE_THE_POOL, type DatabaseConfig, type DatabaseLimits } from '../../config/database.js';
import type { Logger } from '../../ports/log.js';
import type { Clock, RandomBytes } from '../../ports/clock.js';
import { systemRandom } from '../system/clock.js';
import { GatewayError } from '../../errors.js';
import { redactText, redactUrl } from '../../observability/redact.js';
import { createStore, type KnexStore, type StoreOptions } from './create-store.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded/start-embedded-postgres.js';
import { isDistrusted, isLostRace, isShutOut, isUnavailable, StoreStartError } from './faults.js';
import { migrate } from './migrate.js';

export type OpenDatabaseOptions = DatabaseConfig & {
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent: the operating system's generator. */
  readonly randomBytes?: RandomBytes;
  readonly serverIdentity?: StoreOptions['serverIdentity'];
  readonly signal?: AbortSignal;
  /** Called when the embedded server is gone and cannot be restarted. */
  readonly onFailure?: (error: StoreStartError) => void;
  /** False for an embedded server whose data may be lost in a power cut. */
  readonly durable?: boolean;
  /** An embedded server that is being started, and will be stopped, by the caller; without it one is started here. */
  readonly server?: Promise<Pick<EmbeddedPostgres, 'url'>>;
};

interface Server {
  readonly url: string;
  readonly ca?: string;
}

/** The store on a migrated database, embedded or external. Closing it stops an embedded server. */
export async function openDatabase(options: OpenDatabaseOptions): Promise<KnexStore> {
  const { stop, ...server } = await serverOf(options);
  try {
    await migrateWhenReachable(server, options);
    const { clock, log, randomBytes = systemRandom, serverIdentity } = options;
    const store = createStore({ ...server, clock, log, randomBytes, serverIdentity, ...poolOf(options) });
    options.log.info('store.ready', { kind: options.kind, instance: await whenLent(() => store.instanceId(), options) });
    if (options.kind === 'server') await whenLent(() => warnWhenCrowded(store, options), options);
    const close = async (): Promise<void> => {
      try {
        await store.close();
      } finally {
        await stop();
      }
    };
    return { ...store, close };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A new session may find another server than the one before it had: then its first statement is refused. */
async function whenLent<Result>(work: () => Promise<Result>, { clock, signal }: OpenDatabaseOptions): Promise<Result> {
  const since = clock.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isTemporary = error instanceof GatewayError && error.code === 'NOT_READY' && clock.now() - since <= MAX_WAIT_MS;
      if (!isTemporary || signal?.aborted === true) throw error;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

/** The server to connect to; an embedded one is started, and fails while a gateway runs on its folder. */
export async function serverOf(options: OpenDatabaseOptions): Promise<Server & { readonly stop: () => Promise<void> }> {
  const none = (): Promise<void> => Promise.resolve();
  if (options.kind === 'embedded')
    return options.server === undefined ? startEmbeddedPostgres(options) : { url: (await options.server).url, stop: none };
  return { url: options.url, ...(options.ca === undefined ? {} : { ca: options.ca }), stop: none };
}

const poolOf = ({ poolSize, limits }: OpenDatabaseOptions): { poolSize?: number; limits?: DatabaseLimits } => ({
  ...(poolSize === undefined ? {} : { poolSize }),
  ...(limits === undefined ? {} : { limits }),
});

/** The smallest connection limit of server, database and role, and the connections of others; -1 means unlimited. */
const CONNECTION_LIMITS = `
  select least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0),
    (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
    (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user)) as allowed,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend' and application_name not like 'diamond-gateway%') as others`;

/** Too few connections would otherwise show only under load, as NOT_READY errors. */
async function warnWhenCrowded({ db }: KnexStore, { poolSize = 0, log }: OpenDatabaseOptions): Promise<void> {
  const { rows } = await db.raw<{ rows: { allowed: number; others: number }[] }>(CONNECTION_LIMITS);
  const { allowed, others } = rows[0] ?? { allowed: 0, others: 0 };
  const needed = poolSize + BESIDE_THE_POOL;
  if (needed > allowed - others) log.warn('store.too-few-connections', { needed, allowed, others, perReplica: true });
}

/** How long a server that is started together with the gateway, as by compose, gets to come up. */
const MAX_WAIT_MS = 20_000;
const RETRY_MS = 250;

async function migrateWhenReachable(
  server: Server,
  { clock, log, signal, randomBytes = systemRandom }: OpenDatabaseOptions,
): Promise<void> {
  const since = clock.now();
  for (let isFirst = true; ; isFirst = false) {
    try {
      await migrate({ ...server, log, randomBytes });
      return;
    } catch (error) {
      if (error instanceof StoreStartError) throw error;
      if (signal?.aborted === true) throw new StoreStartError('interrupted', 'The start of the database was interrupted.');
      const isTemporary = isUnavailable(error) || isLostRace(error);
      if (isShutOut(error) || !isTemporary || clock.now() - since > MAX_WAIT_MS) throw unreachable(server.url, error);
      if (isFirst) log.warn('store.waiting', { server: redactUrl(server.url), because: sentence(error) });
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

const TRUST = ' Name the certificates it comes from in DATABASE_CA_FILE, or add sslmode=no-verify to DATABASE_URL to trust any server.';

export function unreachable(url: string, error: unknown): StoreStartError {
  const sentences = `The database ${redactUrl(url)} cannot be used: ${sentence(error)}.${isDistrusted(error) ? TRUST : ''}`;
  return new StoreStartError('unreachable', sentences, { cause: error });
}

/** Server messages may name users and databases, but never contain passwords. */
const sentence = (error: unknown): string =>
  redactText(error instanceof Error ? error.message || error.name : String(error)).replace(/\.$/, '');
