import { systemClock } from './core/adapters/system-clock.js';
import { readOrExit } from './lifecycle.js';
import { runProbe } from './probe/run-probe.js';
import { readSettings, systemFiles } from './read-settings.js';

/** `npm run probe -- --chain arbitrum`: whether nodes, contract and backends are what this release expects. */
const { settings: environment } = readOrExit(() => readSettings(process.env, (variables) => variables));

process.exitCode = await runProbe(process.argv.slice(2), {
  environment,
  readText: systemFiles.readText,
  clock: systemClock,
  write: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(text),
});
