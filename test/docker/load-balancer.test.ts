import { BODY_LIMIT_BYTES as FACADE_LIMIT_BYTES } from '../../facade/app.js';
import { BODY_LIMIT_BYTES } from '../../http/request.js';
import { GatewayError } from '../../core/errors.js';
import { MAX_WAIT_SECONDS } from '../../core/trading/wait-for-order.js';
import { REQUEST_TIMES } from '../../http/listen.js';
import { gatewaysOf, readCompose } from './read-compose.js';
import { readText } from './read-dockerfile.js';

const settings = readText('docker/haproxy/haproxy.cfg');
const compose = readCompose();
const gateways = gatewaysOf(compose);

/** Sections begin in the first column. */
const sectionOf = (title: string): string => new RegExp(`^${title}\\n((?:[ #].*\\n|\\n)*)`, 'm').exec(settings)?.[1] ?? '';
const secondsOf = (timeout: string): number => Number(new RegExp(`^ +timeout ${timeout} (\\d+)s$`, 'm').exec(settings)?.[1]);
/** Answers that the load balancer gives itself. */
const answers = [...settings.matchAll(/status (\d+) content-type "([^"]+)" string '([^']+)'/g)].map(([, status, type, body = '']) => ({
  status: Number(status),
  type,
  body: JSON.parse(body) as unknown,
}));

const bodyOf = ({ code, message, details }: GatewayError): unknown => ({ code, message, details });

describe('the load balancer', () => {
  it.each(['ready_gateways', 'any_gateway'])('spreads %s over every gateway there is, at the port it listens on', (name) => {
    const servers = [...sectionOf(`backend ${name}`).matchAll(/^ +server (\S+) (\S+)$/gm)].map(([, server, address]) => [server, address]);
    expect(servers).toEqual(gateways.map((gateway) => [gateway, `${gateway}:${compose.services[gateway]?.environment['PORT'] ?? ''}`]));
  });

  it('prefers gateways that can serve every chain, and uses live ones when none can', () => {
    expect(sectionOf('backend ready_gateways')).toContain('option httpchk GET /ready\n');
    expect(sectionOf('backend any_gateway')).toContain('option httpchk GET /health\n');
    for (const name of ['public', 'operator'])
      expect(sectionOf(`frontend ${name}`)).toMatch(
        /use_backend any_gateway if { nbsrv\(ready_gateways\) lt 1 }\n +default_backend ready_gateways/,
      );
  });

  it('listens where compose.yaml says, and forwards the client address to the gateways', () => {
    const published = compose.services['load-balancer']?.ports.map((port) => port.split(':').at(-1));
    const bound = ['public', 'operator'].map((name) => /bind :(\d+)/.exec(sectionOf(`frontend ${name}`))?.[1]);
    expect(published).toEqual(bound);
    for (const name of ['public', 'operator']) expect(sectionOf(`frontend ${name}`)).toContain('option forwardfor\n');
  });

  it('waits longer than any answer is held, and keeps sockets open', () => {
    expect(secondsOf('server')).toBeGreaterThan(2 * MAX_WAIT_SECONDS);
    expect(secondsOf('client')).toBeGreaterThanOrEqual(secondsOf('server'));
    expect(settings).toMatch(/^ +timeout tunnel 1h$/m);
  });

  it('may open a file for both ends of every connection', () => {
    const connections = Number(/^ +maxconn (\d+)$/m.exec(sectionOf('global'))?.[1]);
    expect(compose.services['load-balancer']?.ulimits?.nofile).toBeGreaterThan(2 * connections);
    for (const name of gateways) expect(compose.services[name]?.ulimits?.nofile).toBeGreaterThan(connections);
  });

  it('keeps an idle client for 75 seconds, and leaves an idle connection before a gateway closes it', () => {
    expect(secondsOf('http-keep-alive')).toBe(75);
    expect(secondsOf('client')).toBeGreaterThanOrEqual(secondsOf('http-keep-alive'));
    expect(secondsOf('http-keep-alive') * 1_000).toBeLessThan(REQUEST_TIMES.keepAliveMs);
    expect(settings).toMatch(/^ +http-reuse never$/m);
  });

  it('sends nothing twice: only a connection that was never made is tried again', () => {
    expect([...settings.matchAll(/^ +retry-on (.*)$/gm)].map(([, when]) => when)).toEqual(['conn-failure']);
  });

  it('answers in the format of the gateway where it answers itself', () => {
    const type = 'application/json; charset=utf-8';
    const tooLarge = new GatewayError('VALIDATION_ERROR', {
      issues: [{ path: '', message: `must not exceed ${BODY_LIMIT_BYTES / 1024} KiB` }],
    });
    expect(answers).toEqual([
      { status: 503, type, body: bodyOf(new GatewayError('NOT_READY', { reason: 'no gateway can be reached' })) },
      { status: 404, type, body: bodyOf(new GatewayError('UNSUPPORTED', { reason: 'There is nothing at this path.' })) },
      { status: tooLarge.status, type, body: bodyOf(tooLarge) },
    ]);
  });

  it('takes bodies as long as both APIs do', () => {
    const limits = [...settings.matchAll(/req\.body_size gt (\d+)/g)].map(([, bytes]) => Number(bytes));
    expect([...limits, FACADE_LIMIT_BYTES]).toEqual([BODY_LIMIT_BYTES, BODY_LIMIT_BYTES]);
  });
});
