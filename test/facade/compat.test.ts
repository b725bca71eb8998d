import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { COMPAT_REPORT } from '../../facade/compat-report.js';
import { compatPage, PAGE_BEGIN, PAGE_END } from '../../scripts/compat-page.js';
import { FLOWS } from '../clients/flows.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const root = path.resolve(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');

describe('the compatibility report', () => {
  const tests = readdirSync(path.join(root, 'test/clients'))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => read(`test/clients/${name}`));

  it.each(COMPAT_REPORT.map((row) => [`${row.client} ${row.version}`, row] as const))('claims of %s only what a test does', (_, row) => {
    const own = tests.filter((text) => text.includes(`name: '${row.client}'`));
    expect(own).toHaveLength(1);
    const tested = [...(own[0] ?? '').matchAll(/^ *flow\('([^']+)'/gm)].map(([, flow]) => flow);
    expect(row.flows.map(({ flow }) => flow)).toEqual(tested);
    expect(row.flows.filter(({ flow }) => !(FLOWS as readonly string[]).includes(flow))).toEqual([]);
  });

  it('has a row for every client that is tested', () => {
    const named = tests.flatMap((text) => [...text.matchAll(/describeClient\(\{ name: '([^']+)'/g)].map(([, name]) => name));
    expect(new Set(COMPAT_REPORT.map(({ client }) => client))).toEqual(new Set(named));
    expect(named).toHaveLength(tests.length);
  });

  it('names the versions that are installed', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
    const versions = Object.values(devDependencies).map((wanted) => wanted.slice(wanted.lastIndexOf('@') + 1));
    for (const { version } of COMPAT_REPORT) expect(versions).toContain(version);
  });

  it('is the table of docs/bots.md', () => {
    const text = read('docs/bots.md');
    const page = text.slice(text.indexOf(PAGE_BEGIN), text.indexOf(PAGE_END) + PAGE_END.length);
    expect(unpadded(page)).toBe(unpadded(compatPage(COMPAT_REPORT, FLOWS)));
  });
});

/** Tables are padded to be read as text. */
const unpadded = (text: string): string => text.replace(/ +/g, ' ').replace(/-{3,}/g, '---');

describe('GET /hl/{chain}/compat', () => {
  let sandbox: TestVenue;
  beforeAll(async () => (sandbox = await sharedVenue()));
  afterAll(() => sandbox.stop());

  it('serves the report', async () => {
    const response = await fetch(`${sandbox.url}/hl/arbitrum-sepolia/compat`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toEqual({ clients: COMPAT_REPORT });
  });

  it('knows its chains and its method', async () => {
    const elsewhere = await fetch(`${sandbox.url}/hl/nowhere/compat`);
    expect([elsewhere.status, await elsewhere.json()]).toMatchObject([404, { code: 'CHAIN_NOT_FOUND' }]);
    const posted = await fetch(`${sandbox.url}/hl/arbitrum-sepolia/compat`, { method: 'POST', body: '{}' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  });
});
