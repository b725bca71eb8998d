import { Wallet, type TypedDataDomain } from 'ethers';
import type { ChainControls } from '../../sandbox/controls.js';
import { chainTrader } from '../harness/traders/chain-trader.js';
import { price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { agentsOf, authorization, domainOf, EVERYTHING, signWith } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { Reply, TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { signRequest } from '../harness/traders/signed-request.js';

let sandbox: TestVenue;
let chain: ChainControls;
let domain: TypedDataDomain;

const BASE = '/v1/arbitrum-sepolia';

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  domain = await domainOf(sandbox);
  await sandbox.post('/sandbox/price', { market: 'BTC/USD', price: '60000' });
});
afterAll(() => sandbox.stop());

const agent = (): Wallet => new Wallet(sandbox.controls.accounts.agent.privateKey);
const trader = (): string => sandbox.controls.accounts.trader.address;

async function signed(wallet: Wallet, operationId: string, path: string): Promise<Reply> {
  return sandbox.get(path, await signRequest(wallet, chain.definition, { operationId, method: 'GET', path }));
}

describe('the demo agent, authorised and delegated from the start', () => {
  it('reads everything of its trader by signature', async () => {
    const wallet = chainTrader(chain, sandbox.controls.accounts.trader.privateKey);
    await wallet.open({ openPrice: price(60_000) });
    const positions = await eventually(
      () => signed(agent(), 'listPositions', `${BASE}/account/${trader()}/positions`),
      ({ body }) => (body as { data: unknown[] }).data.length === 1,
    );
    expect(positions.body).toMatchObject({ data: [{ market: 'BTC/USD', side: 'long', collateralSymbol: 'USDC', leverage: '10' }] });
    const reads: [string, string][] = [
      ['getAccount', ''],
      ['listOpenOrders', '/orders'],
      ['listOrderHistory', '/orders/history?limit=5'],
      ['listFills', '/fills?limit=5'],
    ];
    for (const [operation, path] of reads)
      expect([operation, (await signed(agent(), operation, `${BASE}/account/${trader()}${path}`)).status]).toEqual([operation, 200]);
    const account = await signed(agent(), 'getAccount', `${BASE}/account/${trader().toLowerCase()}`);
    expect(account.body).toMatchObject({
      address: trader(),
      agents: [{ agent: sandbox.controls.accounts.agent.address, status: 'active' }],
    });
  });

  it('reads no other trader, and nothing with a signature made for another operation or query', async () => {
    const stranger = sandbox.controls.accounts['hl-trader'].address;
    const foreign = await signed(agent(), 'listPositions', `${BASE}/account/${stranger}/positions`);
    expect([foreign.status, foreign.body]).toEqual([403, expect.objectContaining({ code: 'TRADER_MISMATCH' })]);
    const path = `${BASE}/account/${trader()}/fills?limit=5`;
    const wrongOperation = await signed(agent(), 'listOrders', path);
    const headers = await signRequest(agent(), chain.definition, { operationId: 'listFills', method: 'GET', path });
    const wrongQuery = await sandbox.get(path.replace('limit=5', 'limit=6'), headers);
    for (const reply of [wrongOperation, wrongQuery])
      expect([reply.status, reply.body]).toEqual([401, expect.objectContaining({ code: 'INVALID_SIGNATURE' })]);
    expect((await sandbox.get(path, headers)).status).toBe(200); // the refused one spent no nonce
    expect((await sandbox.get(path, headers)).body).toMatchObject({ code: 'NONCE_REUSED' });
  });
});

describe('an agent whose time is over', () => {
  it('is answered AGENT_EXPIRED, also for reads', async () => {
    const { privateKey, address } = await chain.faucet.createTrader({ eth: '1', approve: false, delegate: null });
    const wallet = new Wallet(privateKey);
    const scope = { ...EVERYTHING, expiresAt: Date.now() - 1 };
    const created = await agentsOf(sandbox).create(
      await authorization(domain, signWith(wallet, domain), { trader: address, agent: address, scope }),
    );
    expect(created.body).toMatchObject({ agent: { status: 'expired' } });
    const reply = await signed(wallet, 'getAccount', `${BASE}/account/${address}`);
    expect([reply.status, reply.body]).toEqual([
      403,
      expect.objectContaining({ code: 'AGENT_EXPIRED', details: expect.objectContaining({ expiresAt: scope.expiresAt }) }),
    ]);
  });
});
