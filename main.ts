import { readFileSync, statSync } from 'node:fs';
import { createLogger } from './core/adapters/log.js';
import { systemClock } from './core/adapters/system-clock.js';
import { readConfig } from './core/config.js';
import { forgetSecrets } from './core/relay/relayer-variables.js';
import { startGateway, startStore } from './compose.js';
import { readLauncher, readOrExit, runProgram } from './lifecycle.js';
import { listen } from './native-api/listen.js';

/** Production: one gateway, configured by the environment alone. */
const isShared = (path: string): boolean => (statSync(path).mode & 0o077) !== 0;
const config = readOrExit(() => readConfig(process.env, (path) => readFileSync(path, 'utf8'), isShared));
forgetSecrets(process.env);
const log = createLogger(config.logLevel);
const clock = systemClock;

await runProgram({
  log,
  clock,
  launcher: readLauncher(process.env),
  async run(lifecycle) {
    const http = await lifecycle.start(
      'http',
      () => listen(config.host, config.port),
      (made) => made.close(),
    );
    const store = await startStore({ lifecycle, clock, log }, config.database);
    await startGateway({ config, store, lifecycle, clock, log, http });
    log.info('gateway.listening', { url: http.url, chains: config.chains.map(({ chain }) => chain.slug) });
  },
});
