import { accessSettings } from '../core/access/access-variables.js';
import type { Config, DatabaseConfig } from '../core/config/config.js';
import { poolSizeFor } from '../core/config/database-pool.js';
import { facadeSettings } from '../core/config/facade.js';
import type { Gateway } from '../core/gateway.js';
import { orderSettings } from '../core/trading/order-variables.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import { readiness } from '../core/observability/readiness.js';
import { traceSettings } from '../core/config/tracing.js';
import { startGateway, startStore } from '../app/compose/gateway.js';
import type { Lifecycle } from '../app/lifecycle.js';
import { listen } from '../http/listen.js';
import { authoriseDemo } from './authorise-demo.js';
import { createProgress } from './banner.js';
import type { SandboxControls } from './controls.js';
import { openDataFolder, type DataFolder } from './data-folder.js';
import { sandboxRouter } from './routes.js';
import { sandboxOperator } from './sandbox-operator.js';
import type { SandboxSettings } from './settings.js';
import { startVenue } from './venue.js';

export interface SandboxOptions {
  readonly settings: SandboxSettings;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly log: Logger;
  /** Prints progress. */
  readonly write: (line: string) => void;
}

export interface Sandbox {
  readonly url: string;
  readonly gateway: Gateway;
  readonly controls: SandboxControls;
  /** The configuration of its gateway, to start another one beside it. */
  readonly config: Config;
  /** The operator token, if the sandbox generated it. */
  readonly publicToken: string | null;
}

const READY_POLL_MS = 50;

/** Each chain of the sandbox has one relayer. */
function databaseOf({ DATABASE_URL, DATABASE_POOL, SANDBOX_CHAINS, SANDBOX_DATA }: SandboxSettings, folder: DataFolder): DatabaseConfig {
  const poolSize = poolSizeFor(DATABASE_POOL, { chains: SANDBOX_CHAINS.length, wallets: SANDBOX_CHAINS.length });
  if (DATABASE_URL !== undefined) return { ...DATABASE_URL, poolSize };
  return { kind: 'embedded', folder: folder.postgres, durable: SANDBOX_DATA !== undefined, poolSize };
}

/** Starts the venue and, in front of it, the gateway as in production. Resolves when `/ready` answers 200. */
export async function startSandbox({ settings, lifecycle, clock, log, write }: SandboxOptions): Promise<Sandbox> {
  const progress = createProgress(() => clock.now(), write);
  const http = await lifecycle.start(
    'http',
    () => {
      const { connections, trustedProxies } = accessSettings(settings);
      const onFault = (error: unknown): void => log.error('http.listener-failed', { error });
      return listen(settings.HOST, settings.PORT, { connections, trustedProxies, onFault });
    },
    (made) => made.close(),
  );
  const folder = await lifecycle.start(
    'data folder',
    () => openDataFolder(settings.SANDBOX_DATA),
    (made) => made.remove(),
  );
  const database = databaseOf(settings, folder);
  const [store, venue] = await bothOrNeither(
    startStore({ lifecycle, clock, log }, database),
    startVenue(lifecycle, { settings, folder, clock, log, progress }),
  );
  const { operator, publicToken } = sandboxOperator(settings);
  const config: Config = {
    mode: 'sandbox',
    host: settings.HOST,
    port: settings.PORT,
    logLevel: settings.LOG_LEVEL,
    database,
    chains: venue.chainConfigs,
    serviceName: settings.SERVICE_NAME,
    commit: settings.COMMIT,
    shutdownDelayMs: 0,
    notificationsUrl: null,
    access: accessSettings(settings),
    orders: orderSettings(settings),
    facade: facadeSettings(settings, { isSandbox: true }),
    operator,
    pages: settings.PAGES,
    traces: traceSettings(settings),
  };
  progress.step('starting the gateway');
  const gateway = await startGateway({
    config,
    store,
    lifecycle,
    clock,
    log,
    http,
    extraRoutes: [sandboxRouter(venue.controls, publicToken)],
  });
  await lifecycle.start(
    'demo agents',
    () => authoriseDemo(gateway, venue.controls.accounts),
    () => undefined,
  );
  await lifecycle.start(
    'readiness',
    () => untilReady(gateway, lifecycle.stopping),
    () => undefined,
  );
  return { url: http.url, gateway, controls: venue.controls, config, publicToken };
}

/** Waits for both even if one fails: what the other starts must be registered before everything is stopped. */
async function bothOrNeither<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]);
}

async function untilReady(gateway: Gateway, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted && !(await readiness(gateway)).ready) await gateway.clock.sleep(READY_POLL_MS, stopping);
}
