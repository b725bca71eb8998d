import { readFileSync } from 'node:fs';
import { systemClock } from './core/adapters/system-clock.js';
import { runCommand } from './relayer/command.js';

/** `npm run relayer -- status` and its siblings. */
process.exitCode = await runCommand(process.argv.slice(2), {
  environment: process.env,
  readText: (path) => readFileSync(path, 'utf8'),
  clock: systemClock,
  write: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(text),
});
