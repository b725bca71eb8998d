import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());

const scriptOf = (name: string): string => path.resolve(import.meta.dirname, '../../examples', name);

const run = async (name: string): Promise<string[]> => {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [scriptOf(name), sandbox.url], { timeout: 100_000 });
    return stdout.trimEnd().split('\n');
  } catch (error) {
    // What it printed says which step failed, and why.
    const { message, stdout } = error as Error & { stdout: string };
    throw new Error(`${message}\n${stdout}`, { cause: error });
  }
};

describe('the examples', () => {
  it('npm run demo goes through both APIs, says where to watch it, and ends with a table', async () => {
    const lines = await run('demo.mjs');
    expect(lines[0]).toBe(`Watch it: ${sandbox.url}/ and ${sandbox.url}/account`);
    expect(lines.at(-1)).toMatch(/^Every step succeeded, in \d+\.\d s\.$/);
    const table = lines.slice(lines.findIndex((line) => line.startsWith('step ')) + 1, -2);
    expect(table).toHaveLength(5);
    for (const row of table) expect(row).toMatch(/^[a-z ]+? +\d+ ms +\d+ ms$/);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  it.each([
    ['no gateway answers', 'http://127.0.0.1:9', /^No gateway answers at http:\/\/127\.0\.0\.1:9: run npm start in another terminal/],
    ['another program answers', null, /^Another program answers at http:\/\/127\.0\.0\.1:\d+: give the address that npm start prints/],
  ])('npm run demo says what to do when %s', async (_what, address, sentence) => {
    const other = createServer((_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const at = address ?? `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const failed = await promisify(execFile)(process.execPath, [scriptOf('demo.mjs'), at]).catch((error: unknown) => error);
    other.close();
    expect(failed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(sentence) as string });
  });

  it('the native agent, in less than sixty lines, opens, protects and closes', async () => {
    expect(readFileSync(scriptOf('native-agent.mjs'), 'utf8').split('\n').length).toBeLessThanOrEqual(60);
    expect(await run('native-agent.mjs')).toEqual([
      expect.stringMatching(/^quote: \d+(?:\.\d+)?, collateral \d+(?:\.\d+)? USDC$/),
      expect.stringMatching(/^order \d+: filled 0\.0[45]\d* at \d+/),
      expect.stringMatching(/^stop loss at \d+/),
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
