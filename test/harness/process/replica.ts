import { throughUrl } from '../../scenarios/through-url.js';
import { eventually } from '../time/eventually.js';
import type { TestVenue } from '../venue/own-venue.js';
import { basics, startProcess, type SandboxProcess } from './sandbox-process.js';

/** The built production gateway as a process of its own, beside the sandbox's chain and backend. */
export interface Replica {
  /** The venue as this gateway shows it, wherever it listens now. */
  readonly front: TestVenue;
  /** Where it listens now. */
  url(): string;
  /** What it has written since its last start. */
  output(): string;
  /** Resolves when `/ready` answers 200. */
  start(settings?: Record<string, string>): Promise<void>;
  /** SIGKILL: nothing is finished, nothing is said. */
  kill(): Promise<void>;
  /** A signal, and nothing is waited for. */
  signal(name: NodeJS.Signals): void;
  /** Resolves when it has ended by itself, with its exit code. */
  ended(): Promise<number | null>;
}

export interface ReplicaOptions {
  /** What node is given; the built production gateway where nothing else is said. */
  readonly program?: readonly string[];
  readonly settings: Record<string, string>;
}

const PRODUCTION = ['--max-semi-space-size=64', '--enable-source-maps', 'dist/app/cli.js', 'start'] as const;

export function createReplica(sandbox: TestVenue, { program = PRODUCTION, settings }: ReplicaOptions): Replica {
  const environment = { ...basics(), ...gatewayVariables(sandbox), ...settings };
  let running: SandboxProcess | null = null;
  let last: SandboxProcess | null = null;
  let url = '';
  return {
    front: throughUrl(sandbox, () => url),
    url: () => url,
    output: () => last?.output() ?? '',
    async start(more = {}) {
      running = last = startProcess(process.execPath, program, { env: { ...environment, ...more } });
      const [, at = ''] = await running.until(/"url":"(http:[^"]+)"/);
      url = at;
      await eventually(
        async () => (await fetch(`${url}/ready`)).status,
        (status) => status === 200,
      );
    },
    async kill() {
      const dying = running;
      running = null;
      dying?.child.kill('SIGKILL');
      await dying?.exit;
    },
    signal: (name) => void running?.child.kill(name),
    async ended() {
      const dying = running;
      const exit = await dying?.exit;
      if (running === dying) running = null;
      return exit?.code ?? null;
    },
  };
}

function gatewayVariables({ config }: TestVenue): Record<string, string> {
  const [only] = config.chains;
  if (!only) throw new Error('the sandbox has no chain');
  const name = only.chain.slug.toUpperCase().replaceAll('-', '_');
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'info',
    LAUNCHER_PID: String(process.pid),
    PREPARED_SECONDS: '600', // on a slow machine orders must not expire before the test sends them
    RATE_LIMIT_IP: '1000000',
    SOCKETS_PER_IP: '1000000',
    SUBSCRIPTIONS_PER_IP: '1000000',
    TRACKED_USERS_PER_IP: '1000000',
    RATE_LIMIT_AGENT: '1000000',
    RATE_LIMIT_AGENT_WRITES: '1000000',
    [`RPC_URL_${name}`]: only.rpcUrls.join(','),
    [`BACKEND_URL_${name}`]: only.backendUrl,
    [`START_BLOCK_${name}`]: '0',
    PRICING_URL: only.pricingUrl,
    GLOBAL_URL: only.globalUrl,
  };
}
