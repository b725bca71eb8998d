import { Wallet } from 'ethers';
import { encodeCursor } from '../../core/account/list-orders.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { domainOf, keyIssue, signWith } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let trader: ChainTrader;
let other: ChainTrader;
let key: string;
let otherKey: string;

const BASE = '/v1/arbitrum-sepolia';

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  trader = await newTrader(chain);
  other = await newTrader(chain);
  key = await keyFor(trader);
  otherKey = await keyFor(other);
  sandbox.controls.prices.jump(1, '3000');
  for (let round = 0; round < 3; round += 1) {
    await trader.open({ pairIndex: 1, openPrice: price(3000) }, 50_000);
    await eventually(
      () => trader.pending(),
      (pending) => pending === 0,
    );
  }
  await trader.open({ pairIndex: 1, tradeType: 1, openPrice: price(1000) });
  await other.open({ pairIndex: 1, openPrice: price(3000) }, 50_000);
  await eventually(
    () => get('/fills'),
    ({ body }) => listOf(body).length === 3,
  );
  // The limit order came last: once it is followed, everything before it is.
  await eventually(
    () => get('/orders'),
    ({ body }) => listOf(body).length === 1,
  );
});
afterAll(() => sandbox.stop());

async function keyFor({ privateKey }: ChainTrader): Promise<string> {
  const wallet = new Wallet(privateKey);
  const reply = await sandbox.post(`${BASE}/api-keys`, await keyIssue(signWith(wallet, await domainOf(sandbox)), wallet.address, 'desk'));
  return (reply.body as { apiKey: string }).apiKey;
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function ask(path: string, apiKey = key): Promise<Answer> {
  const { status, body } = await sandbox.get(`${BASE}${path}`, { 'X-Service-Api-Key': apiKey });
  return { status, body: body as Record<string, unknown> };
}
const get = (path: string, apiKey = key, of = trader): Promise<Answer> => ask(`/account/${of.account.address}${path}`, apiKey);
const forged = (kind: 'orders' | 'fills', mark: readonly bigint[]): string =>
  encodeCursor({ kind, chain: 'arbitrum-sepolia', trader: trader.account.address.toLowerCase() }, mark);
const listOf = (body: Record<string, unknown>) => (body['data'] ?? []) as Record<string, unknown>[];

describe('the reads of an account', () => {
  it('have balances, allowance, collateral in orders, fee tier, referrer and agents', async () => {
    const { status, body } = await get('');
    expect(status).toBe(200);
    expect(body).toEqual({
      address: trader.account.address,
      balances: expect.arrayContaining([
        { collateral: 'USDC', balance: '9600', allowance: expect.stringMatching(/^\d{60,}/) as string, inOrders: '100' },
        { collateral: 'DAI', balance: '0', allowance: expect.stringMatching(/^\d{60,}/) as string, inOrders: '0' },
      ]) as unknown,
      feeTierMultiplier: '1',
      referrer: null,
      agents: [],
    });
  });

  it('list the open positions with every field', async () => {
    const { status, body } = await get('/positions');
    expect([status, listOf(body).length]).toEqual([200, 3]);
    for (const position of listOf(body)) {
      expect(position).toMatchObject({
        market: 'ETH/USD',
        pairIndex: 1,
        side: 'long',
        collateral: '100',
        collateralSymbol: 'USDC',
        leverage: '10',
        sl: '0',
        tp: '0',
        marginMode: 'isolated',
      });
      expect(Object.values(position)).not.toContain(null);
      expect(Number(position['liquidationPrice'])).toBeLessThan(Number(position['entryPrice']));
    }
  });

  it('list the open order, and one order by its id', async () => {
    const resting = listOf((await get('/orders')).body).find(({ price: at }) => at === '1000');
    expect(resting).toMatchObject({ type: 'limit', status: 'open', price: '1000', fill: null, reason: null });
    expect(await ask(`/orders/${String(resting?.['id'])}`)).toEqual({ status: 200, body: resting });
  });

  it.each(['orders/history', 'fills'])('page through %s without loss or repeat, also while more comes in', async (list) => {
    const whole = listOf((await get(`/${list}?limit=500`)).body).map(({ id }) => id);
    const seen: unknown[] = [];
    let cursor: string | null = null;
    do {
      const { body }: Answer = await get(`/${list}?limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
      seen.push(...listOf(body).map(({ id }) => id));
      cursor = body['nextCursor'] as string | null;
      if (seen.length === 1) await trader.open({ pairIndex: 1, tradeType: 1, openPrice: price(900) });
    } while (cursor !== null);
    expect(seen).toEqual(whole);
  });

  it('find nothing below a forged cursor that names a log no block can hold', async () => {
    const { status, body } = await get(`/fills?cursor=${forged('fills', [1n, 10n ** 12n])}`);
    expect([status, listOf(body), body['nextCursor']]).toEqual([200, [], null]);
  });

  it.each([
    ['another trader', () => get('/positions', otherKey), 403, 'TRADER_MISMATCH'],
    [
      "another trader's order",
      async () => ask(`/orders/${String(listOf((await get('/orders')).body)[0]?.['id'])}`, otherKey),
      404,
      'ORDER_NOT_FOUND',
    ],
    ['an id that is none', () => ask('/orders/0x'), 404, 'ORDER_NOT_FOUND'],
    [
      'a cursor of another account',
      async () => get(`/fills?cursor=${await cursorOf('/fills?limit=1')}`, otherKey, other),
      400,
      'VALIDATION_ERROR',
    ],
    ['a cursor of another list', async () => get(`/orders/history?cursor=${await cursorOf('/fills?limit=1')}`), 400, 'VALIDATION_ERROR'],
    ['an invalid cursor', () => get('/fills?cursor=abc'), 400, 'VALIDATION_ERROR'],
    [
      'an order cursor beyond all numbers',
      () => get(`/orders/history?cursor=${forged('orders', [10n ** 19n - 1n])}`),
      400,
      'VALIDATION_ERROR',
    ],
    ['a fill cursor beyond all numbers', () => get(`/fills?cursor=${forged('fills', [10n ** 19n - 1n, 0n])}`), 400, 'VALIDATION_ERROR'],
    ['a limit of 0', () => get('/fills?limit=0'), 400, 'VALIDATION_ERROR'],
    ['a limit of 501', () => get('/fills?limit=501'), 400, 'VALIDATION_ERROR'],
    ['an unknown parameter', () => get('/fills?page=2'), 400, 'VALIDATION_ERROR'],
    ['an unknown key', () => get('/fills', 'dg_none'), 401, 'API_KEY_UNKNOWN'],
  ] as const)('refuse %s', async (_what, attempt, status, code) => {
    const answer = await attempt();
    expect([answer.status, answer.body['code']]).toEqual([status, code]);
  });

  it('say 502 for positions while the node is gone, and go on listing orders', async () => {
    chain.setRpcFault({ mode: 'down' });
    try {
      expect((await get('/positions')).body['code']).toBe('UPSTREAM_UNAVAILABLE');
      expect((await get('/orders')).status).toBe(200);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    await eventually(
      () => get('/positions'),
      ({ status }) => status === 200,
    );
  });
});

const cursorOf = async (path: string): Promise<string> => String((await get(path)).body['nextCursor']);
