import { createLogger } from './core/adapters/log.js';
import { systemClock } from './core/adapters/system-clock.js';
import { readConfig } from './core/config.js';
import { forgetSecrets } from './core/secret-settings.js';
import { startGateway, startStore } from './compose.js';
import { readLauncher, readOrExit, runProgram } from './lifecycle.js';
import { listen } from './native-api/listen.js';
import { readSettings } from './read-settings.js';

/** Production: one gateway, configured by the environment and the file it names. */
const { settings: config, warnings } = readOrExit(() =>
  readSettings(process.env, (variables, { readText, isShared }) => readConfig(variables, readText, isShared)),
);
forgetSecrets(process.env);
const log = createLogger(config.logLevel);
const clock = systemClock;
for (const warning of [...warnings, ...(config.warnings ?? [])]) log.warn('config.warning', { warning });

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
