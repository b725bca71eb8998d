import { createLogger } from '../../core/adapters/telemetry/log.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { readConfig } from '../../core/config/config.js';
import { readSettings } from '../read-settings.js';
import { runRestore } from '../restore/run-restore.js';

/** Compares database and chain after a backup was put back. */
process.exitCode = await runRestore(process.argv.slice(2), {
  readConfig: () => readSettings(process.env, (variables, { readText, isShared }) => readConfig(variables, readText, isShared)).settings,
  clock: systemClock,
  log: createLogger('error'),
  write: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(text),
});
