import { openDatabase } from '../../core/adapters/store/open-database.js';
import { systemClock } from '../../core/adapters/system-clock.js';
import type { Gateway } from '../../core/gateway.js';
import { createTestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { createKeptLog } from '../harness/kept-log.js';
import type { TestSandbox } from '../harness/sandbox.js';
import { basics, startProcess, type SandboxProcess } from '../harness/sandbox-process.js';
import { throughUrl } from './through-url.js';

/** The built production gateway as a process of its own, beside the sandbox's chain and backend and on a database of its own. */
export interface GatewayProcess {
  /** The venue as this gateway shows it, wherever it listens now. */
  readonly front: TestSandbox;
  /** Reads the database of the process, for the checker; follows nothing. */
  readonly books: Gateway;
  /** SIGKILL: nothing is finished, nothing is said. */
  kill(): Promise<void>;
  /** Resolves when `/ready` answers 200. */
  start(settings?: Record<string, string>): Promise<void>;
  /** Resolves when it has died by itself. */
  died(): Promise<void>;
  /** Where it listens now. */
  url(): string;
  /** The process is dead while this happens, and lives again afterwards. */
  deadWhile(act: () => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
}

export interface GatewayProcessOptions {
  /** What node is given; the built production gateway where nothing else is said. */
  readonly program?: readonly string[];
  readonly settings?: Record<string, string>;
}

const PRODUCTION = ['--enable-source-maps', 'dist/main.js'] as const;

export async function createGatewayProcess(
  sandbox: TestSandbox,
  { program = PRODUCTION, settings = {} }: GatewayProcessOptions = {},
): Promise<GatewayProcess> {
  const database = await createTestDatabase();
  const environment = { ...basics(), ...variables(sandbox), ...settings, DATABASE_URL: database.url };
  const ended = new AbortController();
  let running: SandboxProcess | null = null;
  let url = '';

  async function start(more: Record<string, string> = {}): Promise<void> {
    running = startProcess(process.execPath, program, { env: { ...environment, ...more } });
    const [, at = ''] = await running.until(/"url":"(http:[^"]+)"/);
    url = at;
    await eventually(
      async () => (await fetch(`${url}/ready`)).status,
      (status) => status === 200,
    );
  }

  async function kill(): Promise<void> {
    const dying = running;
    running = null;
    dying?.child.kill('SIGKILL');
    await dying?.exit;
  }

  await start();
  const store = await openDatabase({
    kind: 'server',
    url: database.url,
    clock: systemClock,
    log: createKeptLog(),
    signal: ended.signal,
    onFailure: (error) => {
      throw error;
    },
  });
  return {
    front: throughUrl(sandbox, () => url),
    books: { ...sandbox.gateway, store },
    kill,
    start,
    async died() {
      const dying = running;
      await dying?.exit;
      if (running === dying) running = null;
    },
    url: () => url,
    async deadWhile(act) {
      await kill();
      await act();
      await start();
    },
    async stop() {
      await kill();
      ended.abort();
      await store.close();
      await database.drop();
    },
  };
}

function variables({ config }: TestSandbox): Record<string, string> {
  const [only] = config.chains;
  if (!only) throw new Error('the sandbox has no chain');
  const name = only.chain.slug.toUpperCase().replaceAll('-', '_');
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'info',
    LAUNCHER_PID: String(process.pid),
    PREPARED_SECONDS: '600', // a slow machine must not lapse what a test has yet to send
    RATE_LIMIT_IP: '1000000',
    RATE_LIMIT_AGENT: '1000000',
    RATE_LIMIT_AGENT_WRITES: '1000000',
    [`RPC_URL_${name}`]: only.rpcUrls.join(','),
    [`BACKEND_URL_${name}`]: only.backendUrl,
    [`START_BLOCK_${name}`]: '0',
    PRICING_URL: only.pricingUrl,
    GLOBAL_URL: only.globalUrl,
  };
}
