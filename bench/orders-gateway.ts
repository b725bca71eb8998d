import { createLogger } from '../core/adapters/log.js';
import { systemClock } from '../core/adapters/system-clock.js';
import type { Config } from '../core/config.js';
import { startGateway, startStore } from '../compose.js';
import { createLifecycle } from '../lifecycle.js';
import { listen } from '../native-api/listen.js';

/** A gateway in a process of its own, so that its processor time is nobody else's: no node, no oracle, no load generator. */
const log = createLogger('silent');
const lifecycle = createLifecycle(log);

process.once('message', (config) => void start(config as Config));
process.once('disconnect', () => void lifecycle.end().finally(() => process.exit()));

async function start(config: Config): Promise<void> {
  const http = await listen('127.0.0.1', 0);
  const surroundings = { lifecycle, clock: systemClock, log };
  const store = await startStore(surroundings, config.database);
  await startGateway({ ...surroundings, config, store, http });
  process.on('message', () => process.send?.(process.cpuUsage()));
  process.send?.(http.url);
}
