import type { CreateOrderRequest, Order } from '../../client/src/api.js';
import { ORDER, fakeClient, fakeNode, openCall, ordering, reply, transactionOf, type Route } from './fake-venue.js';

const LIMIT: CreateOrderRequest = { market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' };
const open: Route = () => reply({ ...ORDER, status: 'open' });

/** One answer after the other; the last one again and again. */
const inTurn = (...routes: readonly Route[]): Route => {
  let at = 0;
  return (request) => {
    const route = routes[Math.min(at, routes.length - 1)] ?? open;
    at += 1;
    return route(request);
  };
};

describe('a transaction that is sent', () => {
  it('has a hash although the reply to its report is cut', async () => {
    const node = fakeNode();
    const cut: Route = () => ({ status: 200, text: () => Promise.reject(new TypeError('terminated')) });
    const client = fakeClient(node, ordering(open, cut));
    const sent = await client.send(await client.prepare('createOrder', LIMIT));
    expect(sent.hash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(node.sent).toHaveLength(1);
  });

  it.each<readonly [string, Route]>([
    ['is not ready', () => reply({ code: 'NOT_READY', message: 'restarting' }, 503)],
    ['is behind a proxy that cannot reach it', () => ({ status: 502, text: () => Promise.resolve('<html>') })],
    ['cuts its reply', () => ({ status: 200, text: () => Promise.reject(new TypeError('terminated')) })],
    ['cannot be reached', () => Promise.reject(new TypeError('fetch failed'))],
  ])('is waited for while the gateway %s', async (_what, fault) => {
    const node = fakeNode();
    const client = fakeClient(node, ordering(inTurn(fault, open)));
    expect(await client.execute('createOrder', LIMIT)).toMatchObject({ status: 'open' });
    expect(node.sent).toHaveLength(1);
  });

  it('but not while the gateway refuses the question', async () => {
    const client = fakeClient(
      fakeNode(),
      ordering(() => reply({ code: 'ORDER_NOT_FOUND', message: 'none' }, 404)),
    );
    await expect(client.execute('createOrder', LIMIT)).rejects.toMatchObject({ code: 'ORDER_NOT_FOUND' });
  });

  it('is not over because the gateway calls it expired while the node has no receipt', async () => {
    const node = fakeNode();
    node.unminedFor = 2;
    const client = fakeClient(
      node,
      ordering(() => reply({ ...ORDER, status: node.receiptsGiven === 0 ? 'expired' : 'open' })),
    );
    expect(await client.execute('createOrder', LIMIT)).toMatchObject({ status: 'open' });
  });

  it('is not filled before the own node has its receipt', async () => {
    const node = fakeNode();
    node.unminedFor = 2;
    const client = fakeClient(
      node,
      ordering(() => reply({ ...ORDER, status: 'filled' })),
    );
    expect(await client.execute('createOrder', LIMIT)).toMatchObject({ status: 'filled' });
    expect([node.unminedFor, node.receiptsGiven]).toEqual([0, 1]);
  });

  it('is not answered with another order', async () => {
    const client = fakeClient(
      fakeNode(),
      ordering(() => reply({ ...ORDER, id: '999', status: 'filled' })),
    );
    await expect(client.execute('createOrder', LIMIT)).rejects.toMatchObject({ reason: 'ORDER', asked: '1', found: '999' });
  });
});

it('waiting ends after its time although the gateway never answers', async () => {
  const silent: Route = ({ signal }) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('aborted')));
    });
  await expect(fakeClient(fakeNode(), silent).wait('1', { timeoutMs: 100 })).rejects.toThrow('Waited 100 ms for order 1');
});

describe('a reply without a transaction', () => {
  const done: Route = () => reply({ ...ORDER, status: 'filled' });

  it('is refused for an order that was not asked for before', async () => {
    const client = fakeClient(fakeNode(), ordering(done, done, null));
    await expect(client.execute('createOrder', LIMIT)).rejects.toMatchObject({ reason: 'CALLS' });
  });

  it('is taken for an order with a client id whose transaction the own node has, and for no other', async () => {
    const [node, request] = [fakeNode(), { ...LIMIT, clientId: 'again' }];
    const { hash: txHash } = await fakeClient(node, ordering(open)).send(
      await fakeClient(node, ordering(open)).prepare('createOrder', LIMIT),
    );
    const repeat = (order: object): Promise<Order | null> =>
      fakeClient(node, ({ method }) => (method === 'POST' ? reply({ order, transaction: null }, 201) : reply(order)), {
        nodeLagMs: 0,
      }).execute('createOrder', request);
    const named = { ...ORDER, clientId: 'again', status: 'filled' };
    expect(await repeat({ ...named, txHash })).toMatchObject({ status: 'filled' });
    await expect(repeat(named)).rejects.toMatchObject({ reason: 'CALLS' });
    await expect(repeat({ ...named, txHash: `0x${'ab'.repeat(32)}` })).rejects.toMatchObject({ reason: 'CALLS' });
  });

  it('is taken for an order whose broadcast was refused only once that transaction can never be mined, and nothing is like it', async () => {
    const node = fakeNode();
    const rpc: typeof node.rpc = (method, params) =>
      method === 'eth_sendRawTransaction' ? Promise.reject(new Error('insufficient funds')) : node.rpc(method, params);
    const order: Order = { ...ORDER, status: 'expired' };
    const place = ordering(() => reply(order));
    const client = fakeClient(node, (request) => (request.method === 'DELETE' ? reply({ order, transaction: null }) : place(request)), {
      nodeLagMs: 0,
      rpc,
    });
    await expect(client.execute('createOrder', LIMIT)).rejects.toThrow('may be on its way');
    const cancel = () => client.execute('cancelOrder', { id: ORDER.id });
    await expect(cancel()).rejects.toThrow('does not know the transaction');
    // Another transaction of the agent, which takes the nonce.
    node.sent.push('0x00');
    node.trades = { 4: {} };
    await expect(cancel()).rejects.toThrow('the order is still on the chain');
    node.trades = {};
    expect(await cancel()).toMatchObject({ status: 'expired' });
  });

  it('is refused for a close', async () => {
    const position = { id: '5', market: 'BTC/USD', side: 'long', entryPrice: '50000', leverage: '10', collateralSymbol: 'USDC' };
    const client = fakeClient(fakeNode(), ({ path }) => {
      if (path.endsWith('/close')) return reply({ order: { ...ORDER, status: 'filled' }, transaction: null });
      return path.endsWith('/positions') ? reply({ data: [position] }) : reply({ ...ORDER, status: 'filled' });
    });
    await expect(client.execute('closePosition', { id: '5' })).rejects.toMatchObject({ reason: 'CALLS' });
  });
});

it('an order that the gateway prepares honestly is sent once', async () => {
  const node = fakeNode();
  const client = fakeClient(node, ordering(open, open, transactionOf(openCall())));
  expect(await client.execute('createOrder', LIMIT)).toMatchObject({ status: 'open' });
  expect(node.sent).toHaveLength(1);
});
