import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { createServer as createSocket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { WebSocket, WebSocketServer } from 'ws';
import { clientAddress } from '../../core/access/client-address.js';
import { eventually } from '../harness/time/eventually.js';
import { readText } from './read-dockerfile.js';

/** The settings of the load balancer in HAProxy itself, where there is one: HAPROXY names it, or the path does. */
const haproxy = process.env['HAPROXY'] ?? 'haproxy';
const isInstalled = spawnSync(haproxy, ['-v']).status === 0;

interface Upstream {
  readonly port: number;
  /** Method, path and headers of what arrived, checks apart. */
  readonly seen: { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders }[];
  isReady: boolean;
  isAlive: boolean;
  behave: RequestListener;
  close(): Promise<void>;
}

const portOf = (server: Server): number => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

/** An upstream server in place of a gateway. */
async function startUpstream(name: string): Promise<Upstream> {
  const plain: RequestListener = (_request, response) => void response.end(name);
  const server = createServer((incoming, response) => {
    const { method = '', url = '', headers } = incoming;
    if (url === '/ready') return void response.writeHead(upstream.isReady ? 200 : 503).end();
    if (url === '/health') return void response.writeHead(upstream.isAlive ? 200 : 503).end();
    upstream.seen.push({ method, url, headers });
    incoming.resume().on('end', () => upstream.behave(incoming, response));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', (text) => socket.send(text)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const upstream: Upstream = {
    port: portOf(server),
    seen: [],
    isReady: true,
    isAlive: true,
    behave: plain,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return upstream;
}

async function freePorts(count: number): Promise<number[]> {
  const held = Array.from({ length: count }, () => createSocket().listen(0, '127.0.0.1'));
  await Promise.all(held.map((server) => once(server, 'listening')));
  const ports = held.map((server) => (server.address() as { port: number }).port);
  await Promise.all(held.map((server) => once(server.close(), 'close')));
  return ports;
}

const live = isInstalled ? describe : describe.skip;
// The runner names no test of a file that is skipped as a whole.
if (!isInstalled) process.stderr.write('Not run: HAProxy with these settings. None is installed, and HAPROXY names none.\n');

live('HAProxy with these settings', () => {
  let folder: string;
  let balancer: ChildProcess;
  let gateways: Upstream[];
  let url: string;
  let operatorUrl: string;
  let figuresUrl: string;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'balancer-'));
    gateways = [await startUpstream('gateway-1'), await startUpstream('gateway-2')];
    const [open = 0, operator = 0, figures = 0] = await freePorts(3);
    [url, operatorUrl, figuresUrl] = [open, operator, figures].map((port) => `http://127.0.0.1:${port}`) as [string, string, string];
    const settings = readText('docker/haproxy/haproxy.cfg')
      .replace(/maxconn \d+/, 'maxconn 100')
      .replace('bind :8080', `bind 127.0.0.1:${open}`)
      .replace('bind :8081', `bind 127.0.0.1:${operator}`)
      .replace('bind :8405', `bind 127.0.0.1:${figures}`)
      .replace(/server gateway-(\d) \S+/g, (_, at: string) => `server gateway-${at} 127.0.0.1:${gateways[Number(at) - 1]?.port ?? 0}`)
      .replaceAll(' resolvers docker init-addr none', '');
    writeFileSync(path.join(folder, 'haproxy.cfg'), settings);
    balancer = spawn(haproxy, ['-db', '-f', path.join(folder, 'haproxy.cfg')], { stdio: 'ignore' });
    await eventually(
      () =>
        fetch(`${url}/v1`).then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    );
  });
  beforeEach(() => {
    for (const gateway of gateways) gateway.seen.length = 0;
  });
  afterAll(async () => {
    balancer.kill('SIGKILL');
    await Promise.all(gateways.map((gateway) => gateway.close()));
    rmSync(folder, { recursive: true, force: true });
  });

  const seen = () => gateways.flatMap((gateway) => gateway.seen);

  /** On a connection of its own, and with the path as it is: `fetch` would tidy it. */
  const statusOf = (rawPath: string, method = 'GET'): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = request({ port: new URL(url).port, path: rawPath, method, agent: false });
      sent
        .on('response', (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });

  it('asks both gateways', async () => {
    const names = new Set<string>();
    for (let round = 0; round < 10; round++) names.add(await (await fetch(`${url}/v1/arbitrum/markets`)).text());
    expect([...names].sort()).toEqual(['gateway-1', 'gateway-2']);
  });

  it('forwards the address of the client, whatever X-Forwarded-For the client sends', async () => {
    await fetch(`${url}/v1/arbitrum`, { headers: { 'X-Forwarded-For': '203.0.113.9' } });
    const forwarded = seen()[0]?.headers['x-forwarded-for'];
    expect(clientAddress('172.18.0.5', String(forwarded), 1)).toBe('127.0.0.1');
  });

  it.each(['/metrics', '/METRICS', '//metrics', '/%6detrics', '/relayer/status', '/Relayer', '/sandbox', '/relayer?a=b'])(
    'does not publish %s',
    async (place) => {
      expect(await statusOf(place)).toBe(404);
      expect(seen()).toEqual([]);
    },
  );

  it('serves them to the operator, and publishes paths that only begin alike', async () => {
    expect((await fetch(`${operatorUrl}/relayer/status`)).status).toBe(200);
    expect(await statusOf('/metricsandmore')).toBe(200);
  });

  it('refuses a native body that is too long, and leaves one of the facade to the facade', async () => {
    const body = 'x'.repeat(256 * 1024 + 1);
    const refused = await fetch(`${url}/v1/arbitrum/orders`, { method: 'POST', body });
    expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'VALIDATION_ERROR' }]);
    expect(seen()).toEqual([]);
    await fetch(`${url}/hl/arbitrum/exchange`, { method: 'POST', body });
    expect(seen().map(({ url: place }) => place)).toEqual(['/hl/arbitrum/exchange']);
    expect((await fetch(`${url}/v1/arbitrum/orders`, { method: 'POST', body: body.slice(1) })).status).toBe(200);
  });

  it('never repeats a request that a gateway may have read', async () => {
    for (const gateway of gateways) gateway.behave = (incoming) => void incoming.socket.destroy();
    expect([await statusOf('/hl/arbitrum/exchange', 'POST'), seen().length]).toEqual([502, 1]);
    for (const [at, gateway] of gateways.entries()) gateway.behave = (_request, response) => void response.end(`gateway-${at + 1}`);
  });

  it('holds a WebSocket open in both directions', async () => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/hl/arbitrum/ws`);
    await once(socket, 'open');
    const echo = once(socket, 'message');
    socket.send('ping');
    expect(String((await echo)[0])).toBe('ping');
    socket.terminate();
  });

  it('skips a gateway that is not ready, and uses live ones when none is ready', async () => {
    const answer = async (): Promise<string> => (await fetch(`${url}/v1`)).text();
    const [first, second] = gateways;
    if (first === undefined || second === undefined) throw new Error('Two are needed.');
    first.isReady = false;
    await eventually(
      () => Promise.all(Array.from({ length: 6 }, answer)),
      (names) => names.every((name) => name === 'gateway-2'),
    );
    second.isReady = false;
    second.isAlive = false;
    await eventually(
      () => Promise.all(Array.from({ length: 6 }, answer)),
      (names) => names.every((name) => name === 'gateway-1'),
    );
    first.isAlive = false;
    await eventually(
      async () => (await fetch(`${url}/v1`)).status,
      (status) => status === 503,
    );
    for (const gateway of gateways) gateway.isReady = gateway.isAlive = true;
    await eventually(
      async () => (await fetch(`${url}/v1`)).status,
      (status) => status === 200,
    );
  });

  it('exposes its metrics for Prometheus', async () => {
    expect(await (await fetch(`${figuresUrl}/metrics`)).text()).toContain('haproxy_backend_status');
    expect((await fetch(`${figuresUrl}/alive`)).status).toBe(200);
  });
});
