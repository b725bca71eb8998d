import { accessSettings } from '../core/access/request-access.js';
import type { Config } from '../core/config/config.js';
import { facadeSettings } from '../core/config/facade.js';
import type { Gateway } from '../core/gateway.js';
import { orderSettings } from '../core/trading/order-variables.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import { readiness } from '../core/observability/readiness.js';
import { traceSettings } from '../core/config/tracing.js';
import { startGateway, startStore } from '../app/compose/gateway.js';
import type { Lifecycle } from '../app/lifecycle.js';
import { authoriseDemo } from './authorise-demo.js';
import { createProgress } from './banner.js';
import type { SandboxControls } from './controls.js';
import type { Ground } from './ground.js';
import { sandboxRouter } from './routes.js';
import { sandboxOperator } from './sandbox-operator.js';
import type { SandboxSettings } from './settings.js';
import { startVenue } from './venue.js';

export interface AssembleOptions {
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

/** Starts the venue and, in front of it, the gateway as in production. Resolves when `/ready` answers 200. */
export async function assembleSandbox(options: AssembleOptions, ground: Ground): Promise<Sandbox> {
  const { settings, lifecycle, clock, log, write } = options;
  const { http, folder, setAside, database, server } = ground;
  const progress = createProgress(() => clock.now(), write);
  if (setAside !== null)
    progress.step(`the data in ${folder.root} was made by a pre-release; starting afresh (it was moved to ${setAside})`);
  const [store, venue] = await bothOrNeither(
    startStore({ lifecycle, clock, log }, database, server),
    startVenue(lifecycle, { settings, folder, clock, log, progress, isWatched: watchClients(http, clock) }),
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
    () => authoriseDemo(gateway, venue.controls.accounts, lifecycle.stopping),
    () => undefined,
  );
  await lifecycle.start(
    'readiness',
    () => untilReady(gateway, lifecycle.stopping),
    () => undefined,
  );
  return { url: http.url, gateway, controls: venue.controls, config, publicToken };
}

const CLIENT_MEMORY_MS = 10_000;

/** True while a client is connected, and for a while after the last one. */
function watchClients(http: Ground['http'], clock: Clock): () => boolean {
  let seen = http.connections().accepted;
  let seenAt = clock.now();
  return () => {
    const { open, accepted } = http.connections();
    if (open > 0 || accepted !== seen) [seen, seenAt] = [accepted, clock.now()];
    return clock.now() - seenAt < CLIENT_MEMORY_MS;
  };
}

/** Waits for both even if one fails: what the other starts must be registered before everything is stopped. */
async function bothOrNeither<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]);
}

async function untilReady(gateway: Gateway, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted && !(await readiness(gateway)).ready) await gateway.clock.sleep(READY_POLL_MS, stopping);
}
