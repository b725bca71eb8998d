import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** A Python that has the packages; `npm run interop:python` and `interop:ccxt` install them by themselves. */
const python = process.env['PYTHON'] ?? 'python3';
const has = (module: string): boolean => spawnSync(python, ['-c', `import ${module}`]).status === 0;

let sandbox: TestVenue;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());

describe('the examples in Python', () => {
  const where = (module: string) => (has(module) ? it : it.skip);

  for (const [name, module, title] of [
    ['ccxt_bot.py', 'ccxt', 'ccxt trades unmodified (needs Python with ccxt)'],
    ['python_sdk_bot.py', 'hyperliquid', 'the official SDK trades unmodified (needs Python with hyperliquid-python-sdk)'],
  ] as const)
    where(module)(title, async () => {
      const script = path.resolve(import.meta.dirname, '../../examples', name);
      const env = { PATH: process.env['PATH'] ?? '', IDLE_SECONDS: '1' };
      const { stdout } = await promisify(execFile)(python, [script, sandbox.url], { env, timeout: 110_000 });
      expect(stdout.trimEnd().split('\n').at(-1)).toBe('Every step succeeded.');
    });
});
