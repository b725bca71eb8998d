import { readFileSync } from 'node:fs';
import { systemClock } from './core/adapters/system-clock.js';
import { runProbe } from './probe/run-probe.js';

/** `npm run probe -- --chain arbitrum`: whether nodes, contract and backends are what this release expects. */
process.exitCode = await runProbe(process.argv.slice(2), {
  environment: process.env,
  readText: (path) => readFileSync(path, 'utf8'),
  clock: systemClock,
  write: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(text),
});
