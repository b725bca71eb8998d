import { systemClock } from '../../core/adapters/system/clock.js';
import { StartError } from '../../core/errors.js';
import { runProbe } from '../probe/run-probe.js';
import { readSettings, systemFiles } from '../read-settings.js';

/** `npm run probe -- --chain arbitrum`: checks whether nodes, contract and backends match this release. */
async function run(): Promise<number> {
  const { settings } = readSettings(process.env, (variables) => variables);
  return runProbe(process.argv.slice(2), {
    environment: settings,
    readText: systemFiles.readText,
    clock: systemClock,
    write: (text) => void process.stdout.write(text),
    complain: (text) => void process.stderr.write(text),
  });
}

process.exitCode = await run().catch((error: unknown) => {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  return 2;
});
