import type { DatabaseConfig } from '../../config.js';
import type { Clock, Logger } from '../../ports.js';
import { redactUrl } from '../../redact.js';
import { createStore, type KnexStore } from './create-store.js';
import { startEmbeddedPostgres } from './embedded/start-embedded-postgres.js';
import { isUnavailable } from './faults.js';
import { migrate } from './migrate.js';
import { StoreStartError } from './store-start-error.js';

export type OpenDatabaseOptions = DatabaseConfig & {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal?: AbortSignal;
  /** An embedded server that is gone and cannot be brought back. */
  readonly onFailure?: (error: StoreStartError) => void;
  /** False for an embedded server whose data nobody will miss after a power cut. */
  readonly durable?: boolean;
};

interface Server {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** The store on a migrated database, whoever runs the server. Closing it ends what was started for it. */
export async function openDatabase(options: OpenDatabaseOptions): Promise<KnexStore> {
  const server = await serverOf(options);
  try {
    await migrateWhenReachable(server.url, options);
    const { poolSize } = options;
    const store = createStore({ url: server.url, log: options.log, ...(poolSize === undefined ? {} : { poolSize }) });
    options.log.info('store.ready', { kind: options.kind, instance: await store.instanceId() });
    const close = async (): Promise<void> => {
      await store.close().finally(server.stop);
    };
    return { ...store, close };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function serverOf(options: OpenDatabaseOptions): Promise<Server> {
  if (options.kind === 'server') return { url: options.url, stop: () => Promise.resolve() };
  return startEmbeddedPostgres(options);
}

/** A server that is started together with us, as compose files do, gets this long to come up. */
const PATIENCE_MS = 20_000;
const RETRY_MS = 250;

async function migrateWhenReachable(url: string, { clock, log, signal }: OpenDatabaseOptions): Promise<void> {
  const since = clock.now();
  for (let isFirst = true; ; isFirst = false) {
    try {
      await migrate({ url, log });
      return;
    } catch (error) {
      if (error instanceof StoreStartError) throw error;
      if (signal?.aborted === true) throw new StoreStartError('interrupted', 'The start of the database was interrupted.');
      if (!isUnavailable(error) || clock.now() - since > PATIENCE_MS) throw unreachable(url, error);
      if (isFirst) log.warn('store.waiting', { server: redactUrl(url) });
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

function unreachable(url: string, error: unknown): StoreStartError {
  const said = error instanceof Error ? error.message || error.name : String(error);
  return new StoreStartError('unreachable', `The database ${redactUrl(url)} cannot be used: ${said.replace(/\.$/, '')}.`, { cause: error });
}
