import { systemClock, systemRandom } from '../../../core/adapters/system/clock.js';
import type { ChainConfig } from '../../../core/config/config.js';
import type { Gateway } from '../../../core/gateway.js';
import type { Clock } from '../../../core/ports/clock.js';
import { startGateway, startStore } from '../../../app/compose/gateway.js';
import { createLifecycle } from '../../../app/lifecycle.js';
import { listen } from '../../../http/listen.js';
import { createRecordedLog, type RecordedLog } from '../checks/recorded-log.js';
import { eventually } from '../time/eventually.js';
import type { Reply, TestVenue } from './own-venue.js';

export interface SecondGateway {
  readonly url: string;
  readonly gateway: Gateway;
  readonly log: RecordedLog;
  get(path: string): Promise<Reply>;
  stop(): Promise<void>;
}

export interface SecondGatewayOptions {
  readonly clock?: Clock;
  /** Other hosts than those of the sandbox. */
  readonly hosts?: Partial<Pick<ChainConfig, 'rpcUrls' | 'backendUrl' | 'pricingUrl' | 'globalUrl'>>;
  /** Absent: it has no relayer, and its facade is read-only. */
  readonly relays?: boolean;
  /** Another database, on which it starts as in production. */
  readonly databaseUrl?: string;
}

/** A second gateway of the same venue and database, on its own clock and with its own connections. It does not wait to be ready. */
export async function startSecondGateway(
  { config }: TestVenue,
  { clock = systemClock, hosts = {}, relays = false, databaseUrl }: SecondGatewayOptions = {},
): Promise<SecondGateway> {
  const log = createRecordedLog();
  const lifecycle = createLifecycle(log);
  const http = await lifecycle.start(
    'http',
    () => listen('127.0.0.1', 0, { randomBytes: systemRandom }),
    (made) => made.close(),
  );
  const chains = config.chains.map((chain) => ({ ...chain, ...(relays ? {} : { relayer: null }), ...hosts }));
  const own = databaseUrl === undefined ? config : { ...config, mode: 'production' as const, database: serverAt(config, databaseUrl) };
  const store = await startStore({ lifecycle, clock, log }, own.database);
  const gateway = await startGateway({
    config: { ...own, chains },
    store,
    lifecycle,
    clock,
    log,
    http,
  });
  return {
    url: http.url,
    gateway,
    log,
    stop: () => lifecycle.end(),
    async get(path) {
      const response = await fetch(`${http.url}${path}`);
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
  };
}

function serverAt({ database }: TestVenue['config'], url: string): TestVenue['config']['database'] {
  if (database.kind !== 'server') throw new Error('the sandbox keeps its database to itself');
  return { ...database, url };
}

export const whenReady = (gateway: Pick<SecondGateway, 'get'>): Promise<Reply> =>
  eventually(
    () => gateway.get('/ready'),
    ({ status }) => status === 200,
  );
