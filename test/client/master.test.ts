import { generatePrivateKey } from 'viem/accounts';
import { agentFromKey, newAgentKey, type Signer, type TypedData } from '../../client/src/agent.js';
import type { Hex } from '../../client/src/api.js';
import { createClient, type Client } from '../../client/src/create-client.js';
import { VerificationError } from '../../client/src/errors.js';
import { approvalBody, approvalTypedData, verifyApproval, type AgentApproval } from '../../client/src/facade-approval.js';
import {
  agentRequest,
  apiKeyRequest,
  masterTransaction,
  masterTypedData,
  verifyMasterTransaction,
  verifyTypedData,
  type MasterDomain,
  type MasterTransactionWish,
  type MasterWish,
} from '../../client/src/master.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';

const THIEF: Hex = '0x00000000000000000000000000000000000bad01';
const SCOPE = { markets: ['BTC/USD'], maxLeverage: '20', dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' } as const;

let sandbox: TestVenue;
let chain: ChainControls;
let client: Client;
let domain: MasterDomain;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  client = createClient({ url: sandbox.url, chain: 'arbitrum-sepolia', rpc: chain.rpcUrl });
  domain = { serviceName: (await client.getChainInfo()).signing.domain.name, chain: client.chain };
});
afterAll(() => sandbox.stop());

const walletOf = (trader: ChainTrader): Signer => agentFromKey(trader.privateKey);

function reasonOf(act: () => void): string {
  try {
    act();
    return 'accepted';
  } catch (error) {
    if (error instanceof VerificationError) return error.reason;
    throw error;
  }
}

describe('the master wallet', () => {
  it('authorises an agent, delegates to it, issues an API key and revokes both, with what the client makes', async () => {
    const trader = await newTrader(chain, { usdc: '1000' });
    const [wallet, agent] = [walletOf(trader), agentFromKey(newAgentKey())];
    const wish = { type: 'AgentAuthorization', agent: agent.address, name: 'bot', scope: SCOPE, timestamp: Date.now() } as const;
    const signature = await wallet.signTypedData(masterTypedData(domain, wish));
    const { agent: made, delegationTx } = await client.createAgent(agentRequest(wish, { trader: wallet.address, signature }));
    expect(made).toMatchObject({ status: 'pending_delegation', name: 'bot', scope: { markets: ['BTC/USD'], maxLeverage: '20' } });
    if (delegationTx === null) throw new Error('there is nothing to delegate with');
    verifyMasterTransaction(client.chain, { type: 'delegate', agent: agent.address }, delegationTx);
    await trader.send(delegationTx.to, delegationTx.data);
    expect((await client.getAgent({ address: agent.address })).agent.status).toBe('active');

    const key = { type: 'ApiKeyIssue', label: 'page', timestamp: Date.now(), expiresAt: Date.now() + 3_600_000 } as const;
    const issued = await client.issueApiKey(
      apiKeyRequest(key, { trader: wallet.address, signature: await wallet.signTypedData(masterTypedData(domain, key)) }),
    );
    expect(issued.apiKey).toEqual(expect.any(String));
    const removal = { type: 'ApiKeyRevocation', label: 'page', timestamp: Date.now() } as const;
    const removed = await client.deleteApiKey({
      ...{ trader: wallet.address, label: 'page', timestamp: removal.timestamp },
      signature: await wallet.signTypedData(masterTypedData(domain, removal)),
    });
    expect(removed.deleted).toBe(true);

    const end = { type: 'AgentRevocation', agent: agent.address, timestamp: Date.now() } as const;
    const { revocationTx } = await client.revokeAgent({
      ...{ address: agent.address, trader: wallet.address, timestamp: end.timestamp },
      signature: await wallet.signTypedData(masterTypedData(domain, end)),
    });
    if (revocationTx === null) throw new Error('there is nothing to send');
    verifyMasterTransaction(client.chain, { type: 'undelegate' }, revocationTx);
  });

  it('approves exactly what readiness proposes', async () => {
    const { address } = await chain.faucet.createTrader({ usdc: '1000', approve: false, delegate: null });
    const { lines } = await client.getReadiness({ address, allowance: '250.5' });
    const fix = lines.find(({ check }) => check === 'allowance')?.fix?.transaction;
    if (!fix) throw new Error('there is nothing to approve');
    const usdc = (await client.getMarket({ symbol: 'BTC-USD' })).collaterals.find(({ symbol }) => symbol === 'USDC');
    const wish = { type: 'approve', token: usdc?.address ?? THIEF, amount: 250_500_000n } as const;
    expect(reasonOf(() => verifyMasterTransaction(client.chain, wish, fix))).toBe('accepted');
    expect(fix).toEqual(masterTransaction(client.chain, wish));
  });

  it('approves an agent of the other API with what the client makes', async () => {
    const trader = await newTrader(chain, { usdc: '1000' });
    const approval: AgentApproval = {
      ...{ signatureChainId: client.chain.chainId, network: 'Testnet', name: 'bot', nonce: Date.now() },
      agent: agentFromKey(generatePrivateKey()).address,
    };
    const signature = await walletOf(trader).signTypedData(approvalTypedData(approval));
    const reply = await fetch(`${sandbox.url}/hl/arbitrum-sepolia/exchange`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(approvalBody(approval, signature)),
    });
    expect(await reply.json()).toMatchObject({ status: 'ok', response: { type: 'default' } });
    expect(reasonOf(() => verifyApproval(approvalTypedData({ ...approval, agent: THIEF }), approval))).toBe('MESSAGE');
    expect(reasonOf(() => verifyApproval(approvalTypedData({ ...approval, network: 'Mainnet' }), approval))).toBe('MESSAGE');
  });
});

describe('typed data from elsewhere is refused', () => {
  const wish: MasterWish = {
    type: 'AgentAuthorization',
    agent: '0x00000000000000000000000000000000000000aa',
    scope: SCOPE,
    timestamp: 1_794_873_544_000,
  };
  const honest = (): TypedData => masterTypedData(domain, wish);
  const said = (message: Record<string, unknown>) => (): TypedData => ({ ...honest(), message: { ...honest().message, ...message } });
  const domained = (change: Partial<TypedData['domain']>) => (): TypedData => ({ ...honest(), domain: { ...honest().domain, ...change } });
  const fields = (): readonly { name: string; type: string }[] => honest().types['AgentAuthorization'] ?? [];

  it.each<readonly [string, string, () => TypedData]>([
    ['names another agent', 'MESSAGE', said({ agent: THIEF })],
    ['allows all markets', 'MESSAGE', said({ markets: '*' })],
    ['allows more leverage', 'MESSAGE', said({ maxLeverage: '150' })],
    ['has no leverage bound', 'MESSAGE', said({ maxLeverage: '' })],
    ['expires later', 'MESSAGE', said({ expiresAt: '9999999999999' })],
    ['has another name', 'MESSAGE', said({ name: 'other' })],
    ['has another time', 'MESSAGE', said({ timestamp: '1794873544001' })],
    ['says more', 'MESSAGE', said({ spender: THIEF })],
    ['is for another chain', 'DOMAIN', domained({ chainId: 42161 })],
    ['is for another contract', 'DOMAIN', domained({ verifyingContract: THIEF })],
    ['is for another service', 'DOMAIN', domained({ name: 'USD Coin' })],
    ['is of another version', 'DOMAIN', domained({ version: '2' })],
    ['is a permit', 'PRIMARY_TYPE', () => ({ ...honest(), primaryType: 'Permit' })],
    [
      'has another field',
      'TYPES',
      () => ({ ...honest(), types: { AgentAuthorization: [...fields(), { name: 'spender', type: 'address' }] } }),
    ],
    ['has its fields in another order', 'TYPES', () => ({ ...honest(), types: { AgentAuthorization: [...fields()].reverse() } })],
    ['brings another type along', 'TYPES', () => ({ ...honest(), types: { ...honest().types, Permit: [] } })],
  ])('when it %s', (_what, reason, data) => {
    expect(reasonOf(() => verifyTypedData(data(), domain, wish))).toBe(reason);
  });

  it('but not when it is what the user wants, also as a wallet writes it', () => {
    expect(reasonOf(() => verifyTypedData(honest(), domain, wish))).toBe('accepted');
    const asNumbers = { ...honest(), message: { ...honest().message, timestamp: BigInt(wish.timestamp), expiresAt: 0 } };
    expect(reasonOf(() => verifyTypedData(asNumbers, domain, wish))).toBe('accepted');
    const withDomain = (fields: readonly { name: string; type: string }[]) => ({
      ...honest(),
      types: { ...honest().types, EIP712Domain: fields },
    });
    const whole = [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ];
    expect(reasonOf(() => verifyTypedData(withDomain(whole), domain, wish))).toBe('accepted');
    for (const fields of [[], whole.slice(0, 1), whole.slice(0, 3)])
      expect(reasonOf(() => verifyTypedData(withDomain(fields), domain, wish))).toBe('TYPES');
  });
});

describe('a transaction for the master wallet is refused', () => {
  const delegate: MasterTransactionWish = { type: 'delegate', agent: '0x00000000000000000000000000000000000000aa' };
  const approve: MasterTransactionWish = { type: 'approve', token: '0x00000000000000000000000000000000000000bb', amount: 100n };
  const of = (wish: MasterTransactionWish) => masterTransaction(client.chain, wish);

  it.each<readonly [string, string, MasterTransactionWish, () => Parameters<typeof verifyMasterTransaction>[2]]>([
    ['when it goes elsewhere', 'TO', delegate, () => ({ ...of(delegate), to: THIEF })],
    ['when it sets a fee', 'FIELD', delegate, () => ({ ...of(delegate), maxFeePerGas: '0xffffffffffff' }) as never],
    ['when it is for another chain', 'CHAIN_ID', delegate, () => ({ ...of(delegate), chainId: 1 })],
    ['when it has a value', 'VALUE', delegate, () => ({ ...of(delegate), value: '1' })],
    ['when it names another delegate', 'DELEGATE', delegate, () => of({ type: 'delegate', agent: THIEF })],
    ['when it calls another function', 'FUNCTION', delegate, () => of({ type: 'undelegate' })],
    ['when it approves more', 'AMOUNT', approve, () => of({ ...approve, amount: 2n ** 256n - 1n })],
    ['when it approves another token', 'TO', approve, () => of({ ...approve, token: THIEF })],
    [
      'when it approves another address',
      'TO',
      approve,
      () => ({ ...of(approve), data: masterTransaction({ ...client.chain, diamond: THIEF }, approve).data }),
    ],
    ['when bytes follow the call', 'ENCODING', approve, () => ({ ...of(approve), data: `${of(approve).data}00` })],
  ])('%s', (_what, reason, wish, given) => {
    expect(reasonOf(() => verifyMasterTransaction(client.chain, wish, given()))).toBe(reason);
  });
});
