import type { RequestListener } from 'node:http';
import path from 'node:path';
import type { Router } from 'express';
import { createBackendNotices } from '../../core/adapters/backend/notices.js';
import { createHttp } from '../../core/adapters/backend/http.js';
import { readRelease } from '../../core/adapters/telemetry/own-release.js';
import { loadCrypto } from '../../core/adapters/crypto/load-crypto.js';
import { openDatabase, type OpenDatabaseOptions } from '../../core/adapters/postgres/open-database.js';
import { systemRandom } from '../../core/adapters/system/clock.js';
import { createRequestAccess } from '../../core/access/request-access.js';
import type { Config, DatabaseConfig } from '../../core/config/config.js';
import { createGateway, type Gateway } from '../../core/gateway.js';
import { createResponseCache } from '../../core/caching/response-cache.js';
import { createMetricsBook } from '../../core/observability/metrics.js';
import type { Store } from '../../core/ports/store.js';
import type { Logger } from '../../core/ports/log.js';
import type { Clock, RandomBytes } from '../../core/ports/clock.js';
import { createAlerts, deliverAlerts } from '../../core/observability/alerts/alerts.js';
import { reportRejections } from '../../core/observability/alerts/raise.js';
import { traceStore, type RequestScopes, type Tracer } from '../../core/observability/tracing.js';
import { watchJournal } from '../../core/stream/journal-stream.js';
import { createStreams } from '../../core/stream/venue-stream.js';
import { measureOrders } from '../../core/indexer/measure-orders.js';
import type { Lifecycle } from '../lifecycle.js';
import { createFacade } from '../../facade/app.js';
import { createApp } from '../../native-api/app.js';
import { createClientReader } from '../../http/request.js';
import type { Listening } from '../../http/listen.js';
import { openRelayers } from './relayer.js';
import { pageRouters } from './pages.js';
import { createVenue, LAST_WORDS, runVenue } from './venue.js';
import { createTradeHandlers } from '../../facade/trade/trade-handlers.js';
import { facadeSocket } from '../../facade/ws/session.js';
import { createSockets } from '../../http/sockets.js';
import { nativeSocket } from '../../native-api/ws/session.js';
import { createAlertWebhook } from '../../core/adapters/telemetry/alert-webhook.js';
import { createPromMetrics } from '../../core/adapters/telemetry/prom-metrics.js';
import { createMetricsCollector } from '../../core/observability/metrics-collect.js';
import { recordBalances, watchAlerts } from '../../core/observability/alerts/watch.js';
import { readStrictJson } from '../../http/strict-json.js';
import { createOperatorCheck, metricsRouter, OPERATOR_ROUTES, operatorRouter } from '../../relayer/operator/operator-routes.js';
import { createRequestScopes } from '../../core/adapters/telemetry/log.js';

interface Surroundings {
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent: the operating system's generator; a simulation brings one that follows from its seed. */
  readonly randomBytes?: RandomBytes;
  /** Replaces what the database server says of itself, as a simulation does. */
  readonly serverIdentity?: OpenDatabaseOptions['serverIdentity'];
}

/** Opens and migrates the database: the first slow step, which can run beside others. `server`: see OpenDatabaseOptions. */
export function startStore(
  { lifecycle, clock, log, randomBytes = systemRandom, serverIdentity }: Surroundings,
  database: DatabaseConfig,
  server?: OpenDatabaseOptions['server'],
): Promise<Store> {
  return lifecycle.start(
    'database',
    () =>
      openDatabase({
        ...database,
        clock,
        log,
        randomBytes,
        serverIdentity,
        signal: lifecycle.stopping,
        onFailure: (error) => lifecycle.fail(error),
        ...(server && { server }),
      }),
    (made) => made.close(),
    database.kind === 'server' ? { withinMs: LAST_WORDS.withinMs } : {},
  );
}

export interface ComposeOptions extends Surroundings {
  readonly config: Config;
  readonly store: Store;
  /** Already bound, so that a port in use is reported before anything slow happens. */
  readonly http: Listening;
  /** Routes of the sandbox; none in production. */
  readonly extraRoutes?: readonly Router[];
}

/** Compiled code lies one folder deeper than the sources. */
const PACKAGE_FOLDERS = [path.resolve(import.meta.dirname, '../..'), path.resolve(import.meta.dirname, '../../..')];

/** Configuration → adapters → gateway → front ends. The only place where they are wired, for production and sandbox alike. */
export async function startGateway(options: ComposeOptions): Promise<Gateway> {
  const { config, lifecycle, clock, log } = options;
  const { version, commit: checkedOut } = readRelease(PACKAGE_FOLDERS);
  const { tracer, scopes } = await openTraces({ config, version, lifecycle, clock, log });
  const store = tracer === null ? options.store : traceStore(options.store, tracer);
  const wallets = await openRelayers(config.chains, { clock, log });
  const metrics = createMetricsBook();
  const backends = createHttp(clock);
  const alerts = createAlerts({ store: store.alerts, clock, log, isSent: config.operator.alerts.webhook !== null });
  lifecycle.onRejection(reportRejections({ metrics, alerts, clock }));
  const crypto = await loadCrypto(log);
  const isSandbox = config.mode === 'sandbox';
  const parts = { store, facade: config.facade, clock, log, wallets, metrics, alerts, tracer, crypto, backends, isSandbox };
  const venues = config.chains.map((chain) => createVenue(chain, parts));
  // Before the front ends: until it is known whose database this is, nothing of the facade is stored in it.
  await Promise.all(venues.flatMap(({ adoption }) => adoption?.check() ?? []));
  const { mode, serviceName, commit } = config;
  const access = await lifecycle.start(
    'request access',
    () => createRequestAccess({ ...config.access, serviceName, crypto, store, clock, log }),
    (made) => made.stop(),
  );
  const gateway = createGateway({
    mode,
    serviceName,
    commit: commit === 'unknown' ? (checkedOut ?? commit) : commit,
    notices: config.notificationsUrl === null ? null : createBackendNotices(config.notificationsUrl, clock),
    version,
    scopes,
    venues,
    store,
    clock,
    log,
    access,
    metrics,
    alerts,
    orders: config.orders,
    facade: config.facade,
    randomBytes: options.randomBytes ?? systemRandom,
    stopping: lifecycle.stopping,
  });
  await lifecycle.start(
    'measurements of orders',
    () => measureOrders(gateway),
    (stop) => stop(),
  );
  // Before the front ends: subscribers and waiting requests must see everything written from then on.
  await lifecycle.start(
    'journal',
    () => watchJournal(gateway),
    (stop) => stop(),
  );
  const responses = await lifecycle.start(
    'response cache',
    () => createResponseCache(gateway),
    (made) => made.stop(),
  );
  const streamOf = createStreams(gateway);
  const trade = createTradeHandlers(gateway);
  const sockets = createSockets(gateway, [nativeSocket(gateway, streamOf), facadeSocket(gateway, { streamOf, responses, trade })]);
  const openFrontEnds = (): void =>
    options.http.serve(
      routeByPath(
        createFacade(gateway, { clientOf: createClientReader(gateway), responses, trade }),
        createApp(gateway, responses, {
          extraRoutes: options.extraRoutes ?? [],
          operatorRoutes: operatorRouters(gateway, config),
          isOperator: createOperatorCheck(config.operator),
          pageRoutes: pageRouters(gateway, config),
        }),
      ),
      sockets,
    );
  // Registered after everything the front ends need, so that open requests finish before it is stopped.
  const closeFrontEnds = createCloseFrontEnds(options);
  await lifecycle.start('front ends', openFrontEnds, closeFrontEnds);
  // No new request is accepted while the chains are handed over.
  lifecycle.stopping.addEventListener('abort', () => void closeFrontEnds());
  await Promise.all(venues.map((venue, at) => runVenue(gateway, venue, config.chains[at] ?? null, lifecycle)));
  await lifecycle.start(
    'alerts',
    () => runAlerts(gateway, config),
    (stop) => stop(),
    LAST_WORDS,
  );
  return gateway;
}

/** Waits before closing, so that load balancers can notice that `/ready` fails. */
function createCloseFrontEnds({ config, clock, http }: ComposeOptions): () => Promise<void> {
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    if (config.shutdownDelayMs > 0) await clock.sleep(config.shutdownDelayMs);
    await http.close();
  };
  return () => (closing ??= close());
}

/** Clients may double the slash before `hl`. */
const FACADE_PATH = /^\/+hl(?:[/?]|$)/;

/** Facade paths are routed first: their bodies must not be judged by the native API's rules. */
const routeByPath =
  (facade: RequestListener, native: RequestListener): RequestListener =>
  (request, response) =>
    (FACADE_PATH.test(request.url ?? '') ? facade : native)(request, response);

/** The routers for the operator: operator routes and metrics. */
const operatorRouters = (gateway: Gateway, { operator }: Config): readonly Router[] => [
  operatorRouter({ gateway, alerting: operator.alerts, token: operator.token, routes: OPERATOR_ROUTES, readJson: readStrictJson }),
  metricsRouter({ settings: operator, render: createPromMetrics(createMetricsCollector(gateway, process.versions.node), gateway.clock) }),
];

/** Watches wallets, lanes and nodes, records balances, and delivers alerts if a webhook is configured. */
function runAlerts(gateway: Gateway, { operator: { alerts } }: Config): () => void {
  const stops = [watchAlerts(gateway, alerts), recordBalances(gateway)];
  if (alerts.webhook !== null) {
    const { store, clock, log } = gateway;
    stops.push(deliverAlerts({ store: store.alerts, post: createAlertWebhook({ ...alerts.webhook, clock }), clock, log }));
  }
  return () => stops.forEach((stop) => stop());
}

interface Parts {
  readonly config: Pick<Config, 'traces' | 'logLevel'>;
  readonly version: string;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Traces {
  readonly tracer: Tracer | null;
  /** Null without tracing and debug logs: requests are not tracked then. */
  readonly scopes: RequestScopes | null;
}

/** Opened first, so that it stops last and the spans of the shutdown are sent too. */
async function openTraces({ config: { traces = null, logLevel }, version, lifecycle, clock, log }: Parts): Promise<Traces> {
  const tracer =
    traces === null
      ? null
      : (
          await lifecycle.start(
            'traces',
            async () => (await import('../../core/adapters/telemetry/otel-traces.js')).openOtelTraces({ settings: traces, version, clock }),
            (made) => made.close(),
          )
        ).tracer;
  return { tracer, scopes: tracer === null && logLevel !== 'debug' ? null : createRequestScopes({ log, clock, tracer }) };
}
