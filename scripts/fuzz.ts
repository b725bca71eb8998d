/**
 * Sends seeded inputs to a sandbox in this process and checks invariants:
 * `npm run fuzz -- [--seconds 60] [--inputs 1000000] [--seed 1] [--from 0] [--chunk 4000]`, or `--replay <index>` for one input alone.
 * Everything runs on this machine and ends by itself. Exit code 1: a violation was found.
 */
import { parseArgs } from 'node:util';
import { openFuzzVenue } from '../test/fuzz/fuzz-venue.js';
import { replay, runFuzz } from '../test/fuzz/run-fuzz.js';
import { startTestServer } from '../test/harness/database/test-server.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    inputs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    chunk: { type: 'string', default: '4000' },
    replay: { type: 'string' },
  },
});

function whole(name: string, text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}

const seed = whole('seed', values.seed);
const write = (line: string): void => void process.stdout.write(`${line}\n`);
const DEFAULT_SECONDS = '60';

async function main(): Promise<boolean> {
  const venue = await openFuzzVenue();
  try {
    if (values.replay !== undefined) {
      const { input, findings } = await replay(venue, seed, whole('replay', values.replay));
      write(input);
      for (const { text } of findings) write(`FOUND ${text}`);
      if (findings.length === 0) write('nothing found');
      return findings.length > 0;
    }
    const report = await runFuzz(venue, {
      seed,
      inputs: values.inputs === undefined ? Number.MAX_SAFE_INTEGER : whole('inputs', values.inputs),
      seconds: whole('seconds', values.seconds ?? (values.inputs === undefined ? DEFAULT_SECONDS : '86400')),
      from: whole('from', values.from),
      chunk: whole('chunk', values.chunk),
      write,
    });
    for (const [target, count] of report.byTarget) write(`${target.padEnd(24)} ${count}`);
    const rate = `${Math.round(report.inputs / report.wallSeconds)}/s, ${Math.round(report.inputs / report.processorSeconds)} per processor second`;
    write(`seed ${seed}: ${report.inputs} inputs in ${Math.round(report.wallSeconds)} s (${rate}), ${report.found.length} found`);
    return report.found.length > 0;
  } finally {
    await venue.stop();
  }
}

const stopCluster = await startTestServer(process.env);
try {
  process.exitCode = (await main()) ? 1 : 0;
} finally {
  await stopCluster();
}
