import type { Environment } from '../core/config/config.js';
import { built } from './built.js';
import { createCoverage } from './coverage.js';
import { createRecording } from './recording.js';

const { createLogger } = await built<typeof import('../core/adapters/telemetry/log.js')>('core/adapters/telemetry/log.js');
const { systemClock, systemRandom } = await built<typeof import('../core/adapters/system/clock.js')>('core/adapters/system/clock.js');
const { readConfig } = await built<typeof import('../core/config/config.js')>('core/config/config.js');
const { startGateway, startStore } = await built<typeof import('../app/compose/gateway.js')>('app/compose/gateway.js');
const { createLifecycle } = await built<typeof import('../app/lifecycle.js')>('app/lifecycle.js');
const { listen } = await built<typeof import('../http/listen.js')>('http/listen.js');

/** The gateway with its relayer, set up by variables as in production, in a process that tells what it uses. */
const log = createLogger(process.env['BENCH_LOG'] === undefined ? 'silent' : 'warn');
const lifecycle = createLifecycle(log);
const record = createRecording();

export interface Usage {
  /** Microseconds of processor time since the start, of all threads. */
  readonly cpu: number;
  /** Bytes after a collection; null where none was asked for. */
  readonly heap: number | null;
}

/**
 * Between two `profile` messages all is recorded, and written to the file that the second one names. `files` is answered with the source
 * files that ran since it was asked last.
 */
export type UsageQuestion = 'cpu' | 'heap' | 'files' | { readonly profile: string };

let ranSince: Promise<() => Promise<string[]>> | null = null;

process.once('message', (variables) => void start(variables as Environment));
process.once('disconnect', () => void lifecycle.end().finally(() => process.exit()));

async function start(variables: Environment): Promise<void> {
  const config = readConfig(variables);
  const http = await listen('127.0.0.1', 0, { randomBytes: systemRandom });
  const surroundings = { lifecycle, clock: systemClock, log };
  const store = await startStore(surroundings, config.database);
  await startGateway({ ...surroundings, config, store, http });
  process.on('message', (question) => void answer(question as UsageQuestion));
  process.send?.(http.url);
}

async function answer(question: UsageQuestion): Promise<void> {
  if (question === 'files') {
    ranSince ??= createCoverage();
    process.send?.(await (await ranSince)());
    return;
  }
  if (typeof question === 'object') await record(question.profile);
  const { user, system } = process.cpuUsage();
  const usage: Usage = { cpu: user + system, heap: question === 'heap' ? heapUsed() : null };
  process.send?.(usage);
}

function heapUsed(): number | null {
  if (globalThis.gc === undefined) return null;
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
