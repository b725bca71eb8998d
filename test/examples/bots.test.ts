import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());

const run = async (name: string): Promise<string[]> => {
  const script = path.resolve(import.meta.dirname, '../../examples', name);
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [script, sandbox.url], { timeout: 100_000 });
    return stdout.trimEnd().split('\n');
  } catch (error) {
    // What it printed says which step failed, and why.
    const { message, stdout } = error as Error & { stdout: string };
    throw new Error(`${message}\n${stdout}`, { cause: error });
  }
};

describe('the examples', () => {
  it('npm run demo goes through both doors, and every step succeeds', async () => {
    expect((await run('demo.mjs')).at(-1)).toBe('Every step succeeded.');
  });

  it('the native bot opens, protects and closes', async () => {
    expect(await run('native-bot.mjs')).toEqual([
      expect.stringMatching(/^order \d+: filled 0\.0[45]\d* at \d+/),
      'stop loss moved',
      expect.stringMatching(/^close \d+: filled at \d+/),
    ]);
  });

  it('the bot on @nktkas/hyperliquid trades unmodified', async () => {
    expect(await run('nktkas-bot.mjs')).toEqual([
      expect.stringMatching(/^bought 0\.\d+ ETH at \d+/),
      expect.stringMatching(/^resting \d+$/),
      'canceled',
      expect.stringMatching(/^sold 0\.\d+ ETH at \d+/),
    ]);
  });

  it('the bot on ccxt trades unmodified', async () => {
    expect(await run('ccxt-bot.mjs')).toEqual([
      expect.stringMatching(/^bought: \d+(?:\.\d+)? at \d+/),
      'open orders: 1',
      'canceled',
      expect.stringMatching(/^sold: \d+(?:\.\d+)? at \d+/),
    ]);
  });
});
