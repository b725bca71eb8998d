import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());

describe('the walk-through of docs/signing.md', () => {
  it('leads from a fresh trader to a signed request and an API key', async () => {
    const script = path.resolve(import.meta.dirname, '../../examples/auth-walkthrough.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [script, sandbox.url], { timeout: 100_000 });
    expect(stdout.split('\n').slice(2, -1)).toEqual([
      'created: pending_delegation',
      'delegated: active',
      'positions, by signature: 0',
      'positions, by API key: 0',
    ]);
  });
});
