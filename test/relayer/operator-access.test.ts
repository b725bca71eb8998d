import { eventually } from '../harness/time/eventually.js';
import { startOwnVenue, type Reply, type TestVenue } from '../harness/venue/own-venue.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';

const TOKEN = 'a-token-of-sixteen-or-more';
let sandbox: TestVenue;

beforeAll(async () => {
  sandbox = await startOwnVenue({ OPERATOR_TOKEN: TOKEN });
});
afterAll(() => sandbox.stop());

const ask = (path: string, init: RequestInit = {}, token: string | null = TOKEN): Promise<Reply> =>
  sandbox.call(path, { ...init, headers: { ...(token === null ? {} : { Authorization: `Bearer ${token}` }) } });

const codeOf = ({ status, body }: Reply): readonly unknown[] => [status, (body as { code: string }).code];

describe("the operator's API", () => {
  it.each([
    ['no token', null],
    ['another token', 'b-token-of-sixteen-or-more'],
    ['a part of the token', TOKEN.slice(0, -1)],
    ['more than the token', `${TOKEN}x`],
  ])('refuses %s on every path, in the words of the catalogue', async (_case, token) => {
    for (const path of ['/relayer/status', '/relayer/nothing-here', '/relayer']) {
      const reply = await ask(path, {}, token);
      expect(codeOf(reply)).toEqual([401, 'UNAUTHENTICATED']);
      expect(reply.headers.get('www-authenticate')).toBe('Bearer');
      expect(reply.headers.get('cache-control')).toBe('no-store');
      expect(JSON.stringify(reply.body)).not.toContain(TOKEN.slice(0, -1));
    }
  });

  it('takes for the metrics a token of their own, which opens nothing else', async () => {
    const METRICS_TOKEN = 'c-token-of-sixteen-or-more';
    const { operator } = sandbox.config;
    const statuses = async (url: string, path: string) =>
      Promise.all(
        [TOKEN, METRICS_TOKEN].map(async (token) => (await fetch(url + path, { headers: { Authorization: `Bearer ${token}` } })).status),
      );
    expect([await statuses(sandbox.url, '/metrics'), await statuses(sandbox.url, '/relayer/status')]).toEqual([
      [200, 401],
      [200, 401],
    ]);
    const config = { ...sandbox.config, operator: { ...operator, metricsToken: () => METRICS_TOKEN } };
    const apart = await startSecondGateway({ ...sandbox, config });
    const answers = [await statuses(apart.url, '/metrics'), await statuses(apart.url, '/relayer/status')];
    await apart.stop();
    expect(answers).toEqual([
      [401, 200],
      [200, 401],
    ]);
  });

  it('accepts the token, and forbids caches to keep the answer', async () => {
    const reply = await ask('/relayer/status');
    expect(reply.status).toBe(200);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.body).toMatchObject({
      chains: [{ chain: 'arbitrum-sepolia', wallets: [{ address: sandbox.controls.relayer.toLowerCase() }] }],
    });
  });

  it('is not opened by the sandbox, which shows only a token that it made itself', async () => {
    expect((await sandbox.get('/sandbox')).body).toMatchObject({ operatorToken: null });
  });

  it('names what is offered where something else was asked for', async () => {
    expect(codeOf(await ask('/relayer/nothing-here'))).toEqual([404, 'UNSUPPORTED']);
    const wrong = await ask('/relayer/status', { method: 'DELETE' });
    expect(codeOf(wrong)).toEqual([422, 'UNSUPPORTED']);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD');
    expect(codeOf(await ask('/relayer/status?deep=1'))).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('does not exist where no token is configured', async () => {
    const { config } = sandbox;
    const beside = await startSecondGateway({ ...sandbox, config: { ...config, operator: { ...config.operator, token: null } } });
    const response = await fetch(`${beside.url}/relayer/status`, { headers: { Authorization: `Bearer ${TOKEN}` } });
    const nowhere = await fetch(`${beside.url}/nowhere`);
    expect([response.status, await response.json()]).toEqual([nowhere.status, await nowhere.json()]);
    await eventually(
      () => beside.get('/ready'),
      ({ status }) => status === 200,
    );
    await beside.stop();
  });
});
