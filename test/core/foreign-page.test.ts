import { foreignPageReason, type RequestSource } from '../../http/foreign-page.js';

const json = { contentType: 'application/json', hasBody: true };
const bare = { hasBody: false };
const ANY = { needsLocalHost: false };
const LOCAL = { needsLocalHost: true };

const PASSES: readonly [string, RequestSource][] = [
  ['curl', { host: '127.0.0.1:8080', ...bare }],
  ['curl with a body', { host: 'localhost:8080', hasBody: true, contentType: 'application/x-www-form-urlencoded' }],
  ['a program that declares nothing', { host: '[::1]:8080', hasBody: true }],
  ['a program that declares JSON', { host: '10.0.0.7:8080', hasBody: true, contentType: 'Application/JSON; charset=utf-8' }],
  ['HTTP/1.0', { ...bare }],
  ['a page of the gateway itself', { host: 'localhost:8080', origin: 'http://localhost:8080', site: 'same-origin', ...json }],
  ['a page of this machine', { host: 'localhost:8080', origin: 'http://127.0.0.1:3000', site: 'cross-site', ...json }],
  ['an address that is typed', { host: 'localhost:8080', site: 'none', ...bare }],
];

const REFUSED: readonly [string, RequestSource][] = [
  ['a page of another origin', { host: 'localhost:8080', origin: 'https://attacker.example', site: 'cross-site', ...json }],
  ['a page without an origin', { host: 'localhost:8080', origin: 'null', ...json }],
  ['a page whose origin only begins like ours', { host: 'localhost:8080', origin: 'http://localhost.attacker.example', ...json }],
  ['an image on a page', { host: 'localhost:8080', site: 'cross-site', ...bare }],
  ['a form as text', { host: 'localhost:8080', contentType: 'text/plain', hasBody: true }],
  ['a form with files', { host: 'localhost:8080', contentType: 'multipart/form-data; boundary=x', hasBody: true }],
  ['a form of a page', { host: 'localhost:8080', site: 'none', contentType: 'application/x-www-form-urlencoded', hasBody: true }],
  ['a page that declares nothing', { host: 'localhost:8080', origin: 'http://localhost:3000', hasBody: true }],
];

describe('a route that changes something or holds secrets', () => {
  it.each(PASSES)('answers %s', (_name, source) => {
    expect([foreignPageReason(source, LOCAL), foreignPageReason(source, ANY)]).toEqual([null, null]);
  });

  it.each(REFUSED)('refuses %s', (_name, source) => {
    expect([foreignPageReason(source, LOCAL), foreignPageReason(source, ANY)]).toEqual([expect.any(String), expect.any(String)]);
  });

  it.each(['attacker.example', 'attacker.example:8080', '127.0.0.1.attacker.example', 'localhost.attacker.example', '', '::1'])(
    'that nothing else guards refuses the name %j, whatever it resolves to',
    (host) => {
      expect(foreignPageReason({ host, ...bare }, LOCAL)).toMatch(/Host/);
      expect(foreignPageReason({ host, ...bare }, ANY)).toBeNull();
    },
  );

  it('that is guarded by a token answers pages of its own, under any name', () => {
    const own = { host: 'ops.internal', origin: 'https://ops.internal', site: 'same-origin', ...json };
    expect(foreignPageReason(own, ANY)).toBeNull();
    expect(foreignPageReason({ ...own, origin: 'https://other.internal' }, ANY)).toEqual(expect.any(String));
  });
});
