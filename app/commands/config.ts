import { configSummary } from '../../core/config/summary.js';
import { readConfig } from '../../core/config/config.js';
import { readOrExit } from '../lifecycle.js';
import { readSettings } from '../read-settings.js';
import { walletAddresses } from '../../relayer/wallet-addresses.js';

/** `npm run config:check`: everything that is wrong with the settings of production, or what would run with them. Opens nothing. */
const { settings: config, warnings } = readOrExit(() =>
  readSettings(process.env, (variables, { readText, isShared }) => readConfig(variables, readText, isShared)),
);
const told = [...warnings, ...(config.warnings ?? []), ...config.chains.flatMap(({ relayer }) => relayer?.warnings ?? [])];
process.stdout.write(
  [
    'The configuration is in order. Nothing was opened or asked.',
    configSummary(config, walletAddresses),
    ...(told.length === 0 ? [] : [`But:\n${told.map((warning) => `  - ${warning}`).join('\n')}`]),
  ].join('\n\n') + '\n',
);
