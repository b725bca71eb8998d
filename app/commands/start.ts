import { createLogger } from '../../core/adapters/telemetry/log.js';
import { readConfig } from '../../core/config/config.js';
import { forgetSecrets } from '../../core/config/source.js';
import { startStore } from '../compose/gateway.js';
import { readLauncher, readOrExit } from '../lifecycle.js';
import { readSettings } from '../read-settings.js';
import { runGateway } from '../run-gateway.js';

/** Production: one gateway, configured by the environment and the file it names. */
const { settings: config, warnings } = readOrExit(() =>
  readSettings(process.env, (variables, { readText, isShared }) => readConfig(variables, readText, isShared)),
);
forgetSecrets(process.env);
const log = createLogger(config.logLevel);
for (const warning of [...warnings, ...(config.warnings ?? [])]) log.warn('config.warning', { warning });

await runGateway({ config, log, launcher: readLauncher(process.env), openStore: startStore });
