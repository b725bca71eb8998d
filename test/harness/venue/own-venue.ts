import type { Config } from '../../../core/config/config.js';
import type { Gateway } from '../../../core/gateway.js';
import { createLifecycle } from '../../../app/lifecycle.js';
import type { SandboxControls } from '../../../sandbox/controls.js';
import { readSandboxSettings } from '../../../sandbox/settings.js';
import { startSandbox } from '../../../sandbox/start.js';
import { createTestDatabase } from '../database/test-database.js';
import { createRecordedLog, type RecordedLog } from '../checks/recorded-log.js';
import { createShiftedClock, type ShiftedClock } from '../time/shifted-clock.js';
import { holdAnswers } from './answer-hold.js';
import { onKeptChains } from './kept-chains.js';
import { checkExchange } from '../checks/openapi-check.js';

export interface TestVenue {
  readonly url: string;
  readonly gateway: Gateway;
  readonly controls: SandboxControls;
  readonly config: Config;
  readonly log: RecordedLog;
  /** That of the venue and its gateway. Only a file with a venue of its own may move it. */
  readonly clock: ShiftedClock;
  /** Any request; its reply is held against the OpenAPI document, as are those of `get` and `post`. */
  call(path: string, init?: RequestInit): Promise<Reply>;
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>;
  stop(): Promise<void>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The oracle of a test venue answers at once. */
export const TEST_ORACLE_MS = 10;

/** The sandbox as `npm start` runs it, in this process and on a database of its own: `beforeAll(start)`, `afterAll(stop)`. */
export async function startOwnVenue(settings: Record<string, string> = {}, kept: RecordedLog = createRecordedLog()): Promise<TestVenue> {
  const database = await createTestDatabase();
  const log = kept;
  const clock = createShiftedClock();
  const lifecycle = createLifecycle(log);
  let giveBack = (): Promise<void> => Promise.resolve();
  const stop = async (): Promise<void> => {
    await lifecycle.end();
    await giveBack();
    await database.drop();
  };
  try {
    const environment = {
      PORT: '0',
      SANDBOX_BLOCK_MS: '10',
      SANDBOX_IDLE_BLOCK_MS: '1000',
      SANDBOX_ORACLE_MS: String(TEST_ORACLE_MS),
      SANDBOX_PRICE_MS: '1000',
      RATE_LIMIT_IP: '1000000',
      TRACKED_USERS_PER_IP: '1000',
      DATABASE_URL: database.url,
      ...settings,
    };
    const read = readSandboxSettings(environment);
    const start = () => startSandbox({ settings: read, lifecycle, clock, log, write: () => undefined });
    const hasOwnChains = read.SANDBOX_DATA !== undefined || read.SANDBOX_RPC_URL !== undefined;
    const onChains = hasOwnChains ? { started: await start(), giveBack } : await onKeptChains(read, start);
    ({ giveBack } = onChains);
    const { started: sandbox } = onChains;
    const call = async (path: string, init?: RequestInit): Promise<Reply> => {
      const response = await fetch(`${sandbox.url}${path}`, init);
      const reply = { status: response.status, headers: response.headers, body: await response.json() };
      checkExchange(init?.method ?? 'GET', path, reply.status, reply.body);
      return reply;
    };
    return {
      ...sandbox,
      controls: settings['FACADE_HOLD_MS'] === undefined ? holdAnswers(sandbox.controls, sandbox.gateway.facade) : sandbox.controls,
      log,
      clock,
      stop,
      call,
      get: (path, headers = {}) => call(path, { headers }),
      post: (path, body, headers = {}) =>
        call(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...headers } }),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
