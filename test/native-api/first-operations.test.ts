import { TypedDataEncoder, keccak256 } from 'ethers';
import { SANDBOX_MARKETS } from '../../sandbox/markets.js';
import { eventually } from '../harness/time/eventually.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

let sandbox: TestVenue;

beforeAll(async () => (sandbox = await startOwnVenue({ SANDBOX_CHAINS: 'arbitrum-sepolia,base' })));
afterAll(() => sandbox.stop());

interface Listed {
  readonly data: readonly Record<string, unknown>[];
}
const listed = async (path: string): Promise<Listed['data']> => ((await sandbox.get(path)).body as Listed).data;
const markets = (chain = 'arbitrum-sepolia') => listed(`/v1/${chain}/markets`);
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/;

describe('a running gateway', () => {
  it('is alive and says what it is', async () => {
    const { status, body } = await sandbox.get('/health');
    expect([status, body]).toEqual([
      200,
      {
        status: 'ok',
        chains: ['arbitrum-sepolia', 'base'],
        mode: 'sandbox',
        version: '0.1.0',
        commit: expect.stringMatching(/^(?:[0-9a-f]{40}|unknown)$/),
      },
    ]);
  });

  it('keeps an idle connection of either front end for 90 seconds', async () => {
    const native = await fetch(`${sandbox.url}/v1/base`);
    const facade = await fetch(`${sandbox.url}/hl/base/info`, { method: 'POST', body: '{"type":"meta"}' });
    for (const { headers } of [native, facade]) expect(headers.get('keep-alive')).toBe('timeout=90');
  });

  it('is ready when every chain can be served', async () => {
    const { status, body } = await sandbox.get('/ready');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ready: true,
      database: { ready: true, reasons: [] },
      chains: { 'arbitrum-sepolia': { ready: true, reasons: [] }, base: { ready: true, reasons: [] } },
    });
  });

  it('publishes what a client signs for a chain', async () => {
    const askedAt = Date.now();
    const { body } = await sandbox.get('/v1/base');
    const answeredAt = Date.now();
    expect(body).toMatchObject({
      chain: 'base',
      chainId: 8453,
      diamond: '0x6cD5aC19a07518A8092eEFfDA4f1174C72704eeb',
      relayer: sandbox.controls.relayer,
      relayers: [sandbox.controls.relayer],
      agentNameTag: expect.stringMatching(/^gw[0-9a-f]{6}$/),
      testnet: false,
    });
    const { signing, serverTime } = body as {
      serverTime: number;
      signing: { domain: object; fields: { name: string; type: string }[]; emptyBodyHash: string };
    };
    expect(signing.emptyBodyHash).toBe(keccak256('0x'));
    expect(TypedDataEncoder.from({ listPositions: signing.fields }).encodeType('listPositions')).toBe(
      'listPositions(string method,string path,bytes32 bodyHash,uint256 timestamp,uint256 nonce)',
    );
    expect(signing.domain).toEqual({
      name: 'Diamond Gateway',
      version: '1',
      chainId: 8453,
      verifyingContract: '0x6cD5aC19a07518A8092eEFfDA4f1174C72704eeb',
    });
    expect(serverTime).toBeGreaterThanOrEqual(askedAt);
    expect(serverTime).toBeLessThanOrEqual(answeredAt);
  });

  it('lists every market but the delisted slot, by its pair index', async () => {
    const expected = SANDBOX_MARKETS.flatMap((market, pairIndex) => (market ? [[`${market.from}/${market.to}`, pairIndex]] : []));
    expect(expected).toHaveLength(17);
    expect((await markets()).map(({ symbol, pairIndex }) => [symbol, pairIndex])).toEqual(expected);
  });

  it('describes a market in canonical decimals', async () => {
    const btc = (await markets()).find(({ symbol }) => symbol === 'BTC/USD');
    expect(btc).toMatchObject({
      base: 'BTC',
      quote: 'USD',
      group: 'crypto',
      isOpen: true,
      minLeverage: '1.1',
      maxLeverage: '150',
      minCollateralUsd: '3.75',
      minPositionUsd: '4.125',
      spreadRate: '0.0004',
      fees: { openFeeRate: '0.0006', closeFeeRate: '0.0006', minPositionSizeUsd: '1250' },
      onlyIsolated: true,
    });
    for (const value of Object.values(btc?.['funding'] as Record<string, string>)) expect(value).toMatch(DECIMAL);
  });

  it('shows a reduced leverage cap and all five groups', async () => {
    const all = await markets();
    expect(all.find(({ symbol }) => symbol === 'TSLA/USD')).toMatchObject({ maxLeverage: '4' });
    expect(new Set(all.map(({ group }) => group))).toEqual(new Set(['crypto', 'forex', 'stocks', 'indices', 'commodities']));
  });

  it('names the collaterals of each chain', async () => {
    const symbols = async (chain: string) =>
      ((await markets(chain))[0]?.['collaterals'] as { symbol: string; index: number }[]).map(({ symbol, index }) => `${symbol}:${index}`);
    expect(await symbols('arbitrum-sepolia')).toEqual(['DAI:1', 'USDC:3']);
    expect(await symbols('base')).toEqual(['USDC:1', 'DAI:3']);
  });

  it('follows a price within a moment, sub-cent ones included', async () => {
    await sandbox.post('/sandbox/price', { market: 'PEPE/USD', price: '0.00000912' });
    await sandbox.post('/sandbox/price', { market: 'ETH/USD', price: '3123.5' });
    const prices = await eventually(
      () => listed('/v1/arbitrum-sepolia/prices'),
      (all) =>
        all.some(({ market, index }) => market === 'ETH/USD' && index === '3123.5') &&
        all.some(({ market, index }) => market === 'PEPE/USD' && index === '0.00000912'),
    );
    for (const { mark, index, updatedAt } of prices) {
      expect(mark).toMatch(DECIMAL);
      expect(index).toMatch(DECIMAL);
      expect(typeof updatedAt).toBe('number');
    }
  });

  it('shuts a market the moment the venue does', async () => {
    await sandbox.post('/sandbox/market', { market: 'AVAX/USD', isOpen: false });
    const isOpen = async () => (await markets()).find(({ symbol }) => symbol === 'AVAX/USD')?.['isOpen'];
    expect(await eventually(isOpen, (open) => open === false)).toBe(false);
    await sandbox.post('/sandbox/market', { market: 'AVAX/USD', isOpen: true });
    expect(await eventually(isOpen, (open) => open === true)).toBe(true);
  });
});

describe('a gateway whose world breaks', () => {
  const readyStatus = async () => (await sandbox.get('/ready')).status;

  it('is not ready while its node is gone, says so for that chain alone, and recovers', async () => {
    await sandbox.post('/sandbox/chain', { chain: 'base', action: 'rpc', mode: 'down' });
    await eventually(readyStatus, (status) => status === 503);
    expect((await sandbox.get('/ready')).body).toMatchObject({
      ready: false,
      chains: { 'arbitrum-sepolia': { ready: true }, base: { ready: false, reasons: [expect.stringContaining('node')] } },
    });
    expect((await sandbox.get('/v1/base/markets')).status).toBe(200);
    await sandbox.post('/sandbox/chain', { chain: 'base', action: 'rpc', mode: 'ok' });
    await eventually(readyStatus, (status) => status === 200);
  });

  it('is ready again after a reorganisation', async () => {
    await sandbox.post('/sandbox/chain', { action: 'reorg', depth: 5 });
    await eventually(readyStatus, (status) => status === 200);
  });
});

describe('a request that fits nothing', () => {
  it.each([
    ['GET', '/v1/solana/markets', 404, 'CHAIN_NOT_FOUND'],
    ['GET', '/v1/polygon', 404, 'CHAIN_NOT_FOUND'],
    ['GET', '/v1/base/nothing', 422, 'UNSUPPORTED'],
    ['POST', '/v1/base/markets', 422, 'UNSUPPORTED'],
    ['GET', '/nothing', 404, 'UNSUPPORTED'],
    ['GET', '/v1/%E0%A4%A', 400, 'VALIDATION_ERROR'],
    ['GET', '/v1/base/__proto__', 422, 'UNSUPPORTED'],
  ])('%s %s is %i %s', async (method, path, status, code) => {
    const response = await fetch(`${sandbox.url}${path}`, { method });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code]);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(response.headers.get('x-request-id')).toMatch(/^[\w.:-]{1,64}$/);
  });

  it('says which methods a path has', async () => {
    const response = await fetch(`${sandbox.url}/v1/base/markets`, { method: 'DELETE' });
    expect(response.headers.get('allow')).toBe('GET, HEAD');
  });

  it('may not be larger than 256 KiB', async () => {
    const response = await fetch(`${sandbox.url}/sandbox/feed`, { method: 'POST', body: 'x'.repeat(256 * 1024 + 1) });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('keeps a harmless request id and replaces any other', async () => {
    const idOf = async (id: string) =>
      (await fetch(`${sandbox.url}/health`, { headers: { 'X-Request-Id': id } })).headers.get('x-request-id');
    expect(await idOf('abc-123')).toBe('abc-123');
    expect(await idOf('<script>')).not.toBe('<script>');
  });
});

describe('the figures of the day', () => {
  it('have every market, with its price of a day ago where it was open then', async () => {
    const figures = await eventually(
      () => listed('/v1/base/day'),
      (all) => typeof all.find(({ market }) => market === 'BTC/USD')?.['priceBefore'] === 'string',
    );
    expect(figures.map(({ market }) => market)).toEqual((await markets('base')).map(({ symbol }) => symbol));
    const candles = await listed('/v1/base/markets/BTC-USD/candles?interval=1h');
    const { priceBefore } = figures.find(({ market }) => market === 'BTC/USD') ?? {};
    expect(candles.map(({ close }) => close)).toContain(priceBefore);
  });
});
