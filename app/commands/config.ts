import { configSummary } from '../../core/config/summary.js';
import { readConfig } from '../../core/config/config.js';
import { readOrExit } from '../lifecycle.js';
import { readSettings } from '../read-settings.js';
import { walletAddresses } from '../../relayer/open-wallets.js';

/** `npm run config:check`: lists every problem of the production settings, or what would run with them. Opens no connection. */
const { settings: config, warnings } = readOrExit(() =>
  readSettings(process.env, (variables, { readText, isShared }) => readConfig(variables, readText, isShared)),
);
const allWarnings = [...warnings, ...(config.warnings ?? []), ...config.chains.flatMap(({ relayer }) => relayer?.warnings ?? [])];
process.stdout.write(
  [
    'The configuration is in order. Nothing was opened or asked.',
    configSummary(config, walletAddresses),
    ...(allWarnings.length === 0 ? [] : [`But:\n${allWarnings.map((warning) => `  - ${warning}`).join('\n')}`]),
  ].join('\n\n') + '\n',
);
