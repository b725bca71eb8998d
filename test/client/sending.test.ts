import { httpRpc, type Rpc } from '../../client/src/rpc.js';
import type { CreateOrderRequest } from '../../client/src/api.js';
import type { ChainControls } from '../../sandbox/controls.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';
import { newClientTrader } from './client-trader.js';
import { inCalls, startLyingServer, type LyingServer } from './lying-gateway.js';

const LIMIT: CreateOrderRequest = { market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' };
let sandbox: TestVenue;
let chain: ChainControls;
let gateway: LyingServer;
beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  gateway = await startLyingServer(sandbox.url);
});
afterAll(async () => {
  await gateway.stop();
  await sandbox.stop();
});

it('a broadcast whose answer is lost, and that is repeated, places one order', async () => {
  const node = httpRpc(chain.rpcUrl, (url, init) => fetch(url, init));
  const lost = new Set(['eth_sendRawTransaction', 'eth_getTransactionByHash']);
  const rpc: Rpc = async (method, params) => {
    const result = await node(method, params);
    if (lost.delete(method)) throw new Error('no answer');
    return result;
  };
  const trader = await newClientTrader(sandbox, chain);
  const client = trader.at({ rpc });
  const prepared = await client.prepare('createOrder', { ...LIMIT, clientId: 'once' });
  await expect(client.send(prepared)).rejects.toThrow();
  const order = await client.wait(await client.send(prepared));
  expect(order).toMatchObject({ status: 'open', clientId: 'once' });
  expect((await client.listOpenOrders()).data).toHaveLength(1);
  expect(trader.signed()).toBe(1);
});

it('a new price in place is refused: the contract would keep the collateral', async () => {
  const trader = await newClientTrader(sandbox, chain);
  const client = trader.at({ url: gateway.url });
  const order = await client.execute('createOrder', LIMIT);
  const id = order?.id ?? '';
  gateway.lie = inCalls((calls) => {
    const [cancel] = calls;
    if (cancel?.functionName !== 'cancelOpenOrder') return calls;
    return [{ functionName: 'updateOpenOrder', args: [cancel.args[0], 25_000n * 10n ** 10n, 0n, 0n, 1_000] }];
  });
  await expect(client.execute('updateOrder', { id, price: '25000' })).rejects.toMatchObject({ reason: 'SIZE' });
  await expect(client.execute('updateOrder', { id, price: '25000', size: '0.02' })).rejects.toMatchObject({ reason: 'SIZE' });
  gateway.lie = () => null;
  // What was prepared for the first order may still be sent, so the honest change is one of another order.
  const other = await client.execute('createOrder', LIMIT);
  const honest = { id: other?.id ?? '', price: '25000', size: '0.04' };
  expect(await client.execute('updateOrder', honest)).toMatchObject({ price: '25000', size: '0.04' });
});
