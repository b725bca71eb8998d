import { systemClock } from '../../core/adapters/system/clock.js';
import { readOrExit } from '../lifecycle.js';
import { readSettings, systemFiles } from '../read-settings.js';
import { runCommand } from '../../relayer/command.js';

/** `npm run relayer -- status` and the other relayer commands. */
const { settings: environment } = readOrExit(() => readSettings(process.env, (variables) => variables));

process.exitCode = await runCommand(process.argv.slice(2), {
  environment,
  readText: systemFiles.readText,
  clock: systemClock,
  write: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(text),
});
