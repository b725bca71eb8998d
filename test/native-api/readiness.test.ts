import { Wallet, type TypedDataDomain } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import type { TraderReadiness } from '../../core/access/trader-readiness.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { chainTrader } from '../harness/traders/chain-trader.js';
import { agentsOf, authorization, domainOf, signWith } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let domain: TypedDataDomain;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  domain = await domainOf(sandbox);
});
afterAll(() => sandbox.stop());

const readinessOf = async (address: string): Promise<TraderReadiness> => {
  const { status, body } = await sandbox.get(`/v1/arbitrum-sepolia/readiness/${address}`);
  expect(status).toBe(200);
  return body as TraderReadiness;
};
const failing = ({ lines }: TraderReadiness): string[] => lines.filter(({ ok }) => !ok).map(({ check }) => check);
const lineOf = ({ lines }: TraderReadiness, check: string) => lines.find((line) => line.check === check);

describe('the readiness of an address', () => {
  it('is whole for the demo trader, and for its agent, who is answered as the trader', async () => {
    const { trader, agent } = sandbox.controls.accounts;
    const asTrader = await readinessOf(trader.address);
    expect(asTrader.ready).toEqual({ native: true, facade: false });
    expect(failing(asTrader)).toEqual(['relayer']);
    expect([asTrader.delegate, asTrader.agents]).toEqual([
      agent.address,
      [expect.objectContaining({ agent: agent.address, mode: 'self', status: 'active' })],
    ]);
    const asAgent = await readinessOf(agent.address.toLowerCase());
    expect([asAgent.trader, asAgent.ready.native]).toEqual([trader.address, true]);
  });

  it('is whole at the facade for the demo trader whose slot the relayer holds', async () => {
    const asTrader = await readinessOf(sandbox.controls.accounts['hl-trader'].address);
    expect(asTrader.ready).toEqual({ native: false, facade: true });
    expect(asTrader.agents).toEqual([expect.objectContaining({ mode: 'relayed', status: 'active' })]);
    expect(lineOf(asTrader, 'relayer')?.detail).toContain(sandbox.controls.relayer.toLowerCase());
  });

  it('names every missing step of an unknown address', async () => {
    const readiness = await readinessOf(new Wallet(generatePrivateKey()).address);
    expect(failing(readiness)).toEqual(['agent', 'delegation', 'balance', 'allowance', 'gas', 'relayer']);
    expect([readiness.delegate, readiness.agents]).toEqual([null, []]);
    for (const { ok, fix } of readiness.lines) expect(fix === null).toBe(ok);
  });

  it('leads a new trader step by step, with transactions that do what they say', async () => {
    const { privateKey } = await chain.faucet.createTrader({ usdc: '500', eth: '1', approve: false, delegate: null });
    const trader = new Wallet(privateKey);
    const agent = new Wallet(generatePrivateKey());
    const wallet = chainTrader(chain, privateKey);
    const created = await agentsOf(sandbox).create(
      await authorization(domain, signWith(trader, domain), { trader: trader.address, agent: agent.address }),
    );
    expect(created.status).toBe(201);
    expect(failing(await readinessOf(trader.address))).toEqual(['delegation', 'allowance', 'gas', 'relayer']);

    for (const check of ['delegation', 'allowance']) {
      const transaction = lineOf(await readinessOf(trader.address), check)?.fix?.transaction;
      if (!transaction) throw new Error(`${check} offers no transaction`);
      await wallet.send(transaction.to as `0x${string}`, transaction.data as `0x${string}`);
    }
    expect(failing(await readinessOf(trader.address))).toEqual(['gas', 'relayer']);
    await sandbox.post('/sandbox/faucet', { address: agent.address, eth: '0.1' });
    expect((await readinessOf(trader.address)).ready.native).toBe(true);
  });

  it('proposes the balance as allowance, and another amount when it is asked for', async () => {
    const { address } = await chain.faucet.createTrader({ usdc: '500', eth: '1', approve: false, delegate: null });
    const proposed = async (query: string): Promise<unknown> => {
      const { status, body } = await sandbox.get(`/v1/arbitrum-sepolia/readiness/${address}${query}`);
      if (status !== 200) return status;
      const data = lineOf(body as TraderReadiness, 'allowance')?.fix?.transaction?.data ?? '';
      return BigInt(`0x${data.slice(-64)}`);
    };
    expect(await proposed('')).toBe(500_000_000n);
    expect(await proposed('?allowance=12.5')).toBe(12_500_000n);
    expect(await proposed('?allowance=unlimited')).toBe(2n ** 256n - 1n);
    for (const wrong of ['?allowance=1.2345678', '?allowance=-1', '?allowance=all', '?allowance=', '?allowances=1'])
      expect(await proposed(wrong)).toBe(400);
  });

  it('names the delegate when the trader delegates to another address', async () => {
    const other = new Wallet(generatePrivateKey()).address;
    const { address } = await chain.faucet.createTrader({ eth: '1', approve: false, delegate: other as `0x${string}` });
    expect(lineOf(await readinessOf(address), 'delegation')?.detail).toContain(other.toLowerCase());
  });

  it('is refused for what is no address', async () => {
    const { status, body } = await sandbox.get('/v1/arbitrum-sepolia/readiness/0x12');
    expect([status, body]).toEqual([
      400,
      expect.objectContaining({ code: 'VALIDATION_ERROR', details: { issues: [expect.objectContaining({ path: 'address' })] } }),
    ]);
  });

  it('is 502 while the node is gone', async () => {
    await sandbox.post('/sandbox/chain', { action: 'rpc', mode: 'down' });
    const { status, body } = await sandbox.get(`/v1/arbitrum-sepolia/readiness/${sandbox.controls.accounts.trader.address}`);
    await sandbox.post('/sandbox/chain', { action: 'rpc', mode: 'ok' });
    expect([status, body]).toEqual([502, expect.objectContaining({ code: 'UPSTREAM_UNAVAILABLE' })]);
  });
});
