import express from 'express';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import supertest from 'supertest';
import { readConfig } from '../../core/config/config.js';
import { findBuiltPages, PAGE_NAMES, pagesRouter, type BuiltPages, type PageName } from '../../http/built-pages.js';
import { readSettings } from '../../app/read-settings.js';
import { readSandboxSettings } from '../../sandbox/settings.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import type { TestVenue } from '../harness/venue/own-venue.js';

const found = findBuiltPages(import.meta.dirname);
if (found === null) throw new Error('The pages are not built: run `npm run build` first.');
const built: BuiltPages = found;
const HTML = 'text/html,application/xhtml+xml,*/*;q=0.8';

const serve = (pages: readonly PageName[], from: BuiltPages | null = built) =>
  supertest(
    express()
      .use(pagesRouter({ findBuilt: () => from, pages, describe: () => ({ name: 'Here' }), llms: () => '# Here\n' }))
      .use((_request, response) => void response.status(404).json({ code: 'NOWHERE' })),
  );
const all = serve(PAGE_NAMES);
/** The client unpacks what it gets by the name of its coding. */
const fetchFile = async (name: string, accepted: string): Promise<{ coding: string | undefined; bytes: Buffer; size: number }> => {
  const reply = await all.get(name).set('Accept-Encoding', accepted).responseType('blob');
  return { coding: reply.headers['content-encoding'], bytes: reply.body as Buffer, size: Number(reply.headers['content-length']) };
};
const scriptOf = (page: string): string => [...built.assets].find((name) => name.startsWith(`${page}-`)) ?? '';

describe('the pages', () => {
  it.each(PAGE_NAMES.map((page) => [page, page === 'venue' ? '/' : `/${page}`]))(
    '%s is served at %s under a strict policy',
    async (page, at) => {
      const reply = await all.get(at).set('Accept', HTML);
      expect([reply.status, reply.type]).toEqual([200, 'text/html']);
      expect(reply.text).toContain(`/assets/${scriptOf(page)}`);
      expect(reply.text).not.toMatch(/<style|style=|<script>|\son\w+=|https?:/);
      const policy = String(reply.headers['content-security-policy']);
      for (const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
      ])
        expect(policy.split('; ')).toContain(rule);
      expect(policy).not.toContain('unsafe');
      expect(reply.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-cache',
      });
    },
  );

  it('says its addresses to programs at the same path', async () => {
    for (const accept of ['*/*', 'application/json', ''])
      expect([(await all.get('/').set('Accept', accept)).body, accept]).toEqual([{ name: 'Here' }, accept]);
    expect((await all.get('/').set('Accept', HTML)).headers['vary']).toMatch(/Accept, Accept-Encoding/);
  });

  it('that are off answer 404, and `/` only speaks to programs', async () => {
    const some = serve(['account']);
    expect((await some.get('/account')).status).toBe(200);
    for (const off of ['/connect', '/operator']) expect((await some.get(off).set('Accept', HTML)).status).toBe(404);
    expect((await some.get('/').set('Accept', HTML)).body).toEqual({ name: 'Here' });
  });

  it('that were not built say so, and the rest is served', async () => {
    const bare = serve(PAGE_NAMES, null);
    const { status, body } = await bare.get('/account').set('Accept', HTML);
    expect([status, body]).toMatchObject([404, { code: 'UNSUPPORTED', message: expect.stringContaining('npm run build') }]);
    expect((await bare.get('/').set('Accept', HTML)).body).toEqual({ name: 'Here' });
    const empty = mkdtempSync(path.join(os.tmpdir(), 'pages-'));
    expect(findBuiltPages(empty)).toBeNull();
    rmSync(empty, { recursive: true });
  });

  it('are served as soon as they are built', async () => {
    let now: BuiltPages | null = null;
    const router = pagesRouter({ findBuilt: () => now, pages: PAGE_NAMES, describe: () => ({}), llms: () => '' });
    const server = supertest(express().use(router));
    expect((await server.get('/account').set('Accept', HTML)).status).toBe(404);
    expect((await server.get('/favicon.svg')).status).toBe(404);
    now = built;
    expect((await server.get('/account').set('Accept', HTML)).status).toBe(200);
    expect((await server.get('/favicon.svg')).status).toBe(200);
  });

  it('stay those that were found together, also when others are built meanwhile', async () => {
    const root = mkdtempSync(path.join(os.tmpdir(), 'pages-'));
    const write = (state: string): void => {
      const folder = path.join(root, 'dist/web');
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(path.join(folder, 'assets'), { recursive: true });
      for (const page of PAGE_NAMES) writeFileSync(path.join(folder, `${page}.html`), `<script src="/assets/${state}.js"></script>`);
      writeFileSync(path.join(folder, `assets/${state}.js`), state);
      writeFileSync(path.join(folder, 'favicon.svg'), '<svg/>');
      writeFileSync(path.join(folder, 'manifest.json'), JSON.stringify({ pages: PAGE_NAMES, assets: [`${state}.js`] }));
    };
    write('before');
    const server = serve(PAGE_NAMES, findBuiltPages(root));
    write('after');
    expect((await server.get('/account').set('Accept', HTML)).text).toContain('/assets/before.js');
    expect((await server.get('/assets/before.js')).status).toBe(200);
    expect((await server.get('/assets/after.js')).status).toBe(404);
    // Half of a build is none: the next request looks again.
    rmSync(path.join(root, 'dist/web/assets/after.js'));
    expect(findBuiltPages(root)).toBeNull();
    rmSync(root, { recursive: true });
  });

  it('refuse other methods with the ones they have', async () => {
    const reply = await all.post('/connect').send({});
    expect([reply.status, reply.headers['allow']]).toEqual([422, 'GET, HEAD']);
  });
});

describe('the files of the pages', () => {
  it('are cached for ever under names that change with their content', async () => {
    const name = scriptOf('venue');
    expect(name).toMatch(/^venue-[0-9a-f]{10}\.js$/);
    const reply = await all.get(`/assets/${name}`);
    expect([reply.status, reply.headers['cache-control'], reply.headers['x-content-type-options']]).toEqual([
      200,
      'public, max-age=31536000, immutable',
      'nosniff',
    ]);
  });

  it('come as small as the client takes them', async () => {
    const at = `/assets/${scriptOf('venue')}`;
    const plain = readFileSync(path.join(built.folder, at));
    const packed = await Promise.all(
      ['br, gzip', 'gzip', 'gzip;q=1, br;q=0', 'identity', 'br;q=0'].map((accepted) => fetchFile(at, accepted)),
    );
    expect(packed.map(({ coding }) => coding)).toEqual(['br', 'gzip', 'gzip', undefined, undefined]);
    for (const { bytes, coding, size } of packed) {
      expect(bytes.equals(plain)).toBe(true);
      expect(size < plain.length / 2).toBe(coding !== undefined);
    }
  });

  it('are not sent again to who has them', async () => {
    const { headers } = await all.get('/favicon.svg');
    const tag = String(headers['etag']);
    for (const given of [tag, `W/${tag}`, `"other", ${tag}`])
      expect((await all.get('/favicon.svg').set('If-None-Match', given)).status).toBe(304);
    expect((await all.get('/favicon.svg').set('If-None-Match', '"other"')).status).toBe(200);
  });

  it('answer HEAD like GET, without the bytes', async () => {
    const reply = await all.head(`/assets/${scriptOf('account')}`).set('Accept-Encoding', 'identity');
    expect([reply.status, Number(reply.headers['content-length']) > 0, reply.text]).toEqual([200, true, undefined]);
  });

  it.each([
    '/assets/unknown.js',
    '/assets/..%2fmanifest.json',
    '/assets/%2e%2e%2f%2e%2e%2fpackage.json',
    '/assets/../manifest.json',
    '/assets/venue.html',
    '/assets/',
    '/manifest.json',
    '/venue.html',
    '/assets/__proto__',
    '/assets/manifest.json%00.js',
  ])('are only those that were listed: %s is nowhere', async (at) => expect((await all.get(at)).status).toBe(404));

  it('include the icon under both names', async () => {
    for (const at of ['/favicon.svg', '/favicon.ico']) expect((await all.get(at)).headers['content-type']).toBe('image/svg+xml');
  });
});

describe('a running gateway', () => {
  let venue: TestVenue;
  beforeAll(async () => (venue = await sharedVenue()));
  afterAll(() => venue.stop());

  it('serves the pages within the limits of the address, with a request id', async () => {
    const { status, headers } = await fetch(`${venue.url}/`, { headers: { Accept: HTML } });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(Number(headers.get('ratelimit-remaining'))).toBeGreaterThan(0);
    expect(headers.get('x-request-id')).toMatch(/^[\w.:-]{1,64}$/);
  });

  it('names both base URLs of each chain to programs', async () => {
    const body: unknown = await (await fetch(venue.url)).json();
    const chain = 'arbitrum-sepolia';
    expect(body).toMatchObject({
      mode: 'sandbox',
      chains: [{ chain, chainId: 421614, testnet: true, native: `${venue.url}/v1/${chain}`, hyperliquid: `${venue.url}/hl/${chain}` }],
      pages: { venue: '/', connect: '/connect', account: '/account', operator: '/operator' },
      docs: `${venue.url}/docs`,
      openapi: `${venue.url}/openapi.json`,
    });
  });

  it('describes both APIs to machine readers, from the rows that serve them', async () => {
    const text = await (await fetch(`${venue.url}/llms.txt`)).text();
    for (const part of [
      `${venue.url}/hl/arbitrum-sepolia`,
      'POST /v1/{chain}/orders',
      'clearinghouseState',
      'updateLeverage',
      'userFills',
      'chain id 421614',
    ])
      expect(text).toContain(part);
    expect(text).not.toMatch(/withdraw3|usdSend|undefined|NaN/);
  });

  it.each(['/exchange', '/info'])('answers 404 to a bot at POST %s, with the URL it should have', async (at) => {
    const reply = await fetch(`${venue.url}${at}`, { method: 'POST', body: '{"type":"meta"}' });
    expect(reply.status).toBe(404);
    expect(await reply.json()).toMatchObject({ code: 'UNSUPPORTED', message: expect.stringContaining(`/hl/arbitrum-sepolia${at}`) });
  });

  it('believes no stranger that the connection was secure', async () => {
    const body = (await (await fetch(venue.url, { headers: { 'X-Forwarded-Proto': 'https' } })).json()) as { docs: string };
    expect(body.docs).toBe(`${venue.url}/docs`);
  });
});

describe('PAGES', () => {
  const needed = { DATABASE_URL: 'postgres://a:b@localhost/c', RPC_URL_BASE: 'https://node.example' };
  it.each([
    [{}, ['venue', 'connect', 'account']],
    [{ PAGES: 'account' }, ['account']],
    [{ PAGES: ' venue , connect ' }, ['venue', 'connect']],
    [{ PAGES: 'none' }, []],
  ])('%j serves %j', (given, pages) => expect(readConfig({ ...needed, ...given }).pages).toEqual(pages));

  it.each(['operator', 'venue,venue', 'venue,', 'all', 'none,venue'])('refuses %j', (PAGES) =>
    expect(() => readConfig({ ...needed, PAGES })).toThrow(/PAGES must name pages/),
  );

  it.each(['', '  '])('refuses %j, which could mean all or none', (PAGES) => {
    expect(() => readConfig({ ...needed, PAGES })).toThrow(/PAGES is empty: write none/);
    expect(() => readSandboxSettings({ PAGES })).toThrow(/PAGES is empty: write none/);
    expect(() => readSettings({ ...needed, PAGES }, (variables) => readConfig(variables))).toThrow(/PAGES is empty: write none/);
  });
});
