import { Wallet, type TypedDataDomain } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import type { ChainControls } from '../../sandbox/controls.js';
import { masterFormsOf, signFor } from '../harness/traders/contract-signature.js';
import { createContractWallets, type ContractWallets } from '../harness/traders/contract-wallet.js';
import { deployCode, LOOP } from '../harness/traders/deploy-code.js';
import { agentsOf, authorization, domainOf, keyIssue, revocation, signWith } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { Reply, TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let domain: TypedDataDomain;
let agents: ReturnType<typeof agentsOf>;
let wallets: ContractWallets;
let forms: Awaited<ReturnType<typeof masterFormsOf>>;
let funder: string;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  domain = await domainOf(sandbox);
  agents = agentsOf(sandbox);
  forms = await masterFormsOf(sandbox);
  const { privateKey } = await chain.faucet.createTrader({ eth: '10', approve: false, delegate: null });
  funder = privateKey;
  wallets = await createContractWallets(chain, privateKey);
});
afterEach(() => chain.setRpcFault({ mode: 'ok' }));
afterAll(async () => {
  wallets.close();
  await sandbox.stop();
});

const byOwner = (owner: Wallet, trader: string) => signFor(owner, domain, forms, trader);
const newWallet = (): Wallet => new Wallet(generatePrivateKey());
const expectError = (reply: Reply, status: number, code: string): void =>
  expect({ status: reply.status, code: (reply.body as { code?: string }).code }).toEqual({ status, code });

describe('a contract wallet', () => {
  it('authorises, revokes and asks for keys by its own verdict (ERC-1271)', async () => {
    const [owner, agent] = [newWallet(), newWallet()];
    const trader = await wallets.deploy(owner.address);
    const sign = byOwner(owner, trader);
    const created = await agents.create(await authorization(domain, sign, { trader, agent: agent.address }));
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ agent: { trader, status: 'pending_delegation' } });
    const key = await sandbox.post('/v1/arbitrum-sepolia/api-keys', await keyIssue(sign, trader, 'vault'));
    expect([key.status, (key.body as { trader: string }).trader]).toEqual([200, trader]);
    expect((await agents.revoke(agent.address, await revocation(sign, trader, agent.address))).status).toBe(200);
  });

  it('is not spoken for by a message that its owner signed for the own account', async () => {
    const owner = newWallet();
    const trader = await wallets.deploy(owner.address);
    const body = await keyIssue(signWith(owner, domain), owner.address, 'mine');
    expectError(await sandbox.post('/v1/arbitrum-sepolia/api-keys', { ...body, trader }), 401, 'INVALID_SIGNATURE');
    expect((await sandbox.post('/v1/arbitrum-sepolia/api-keys', body)).status).toBe(200);
    const agent = newWallet().address;
    const plain = await authorization(domain, signWith(owner, domain), { trader, agent });
    expectError(await agents.create(plain), 401, 'INVALID_SIGNATURE');
    expectError(await agents.revoke(agent, await revocation(signWith(owner, domain), trader, agent)), 401, 'INVALID_SIGNATURE');
  });

  it('finds in the card of the chain that its messages end with the trader, which those of a key need not', () => {
    for (const { key, contract } of Object.values(forms)) expect(contract).toEqual([...key, { name: 'trader', type: 'address' }]);
    expect(forms).toMatchObject({
      ApiKeyIssue: { optional: ['expiresAt'], key: [{ name: 'label' }, { name: 'timestamp' }, { name: 'expiresAt' }] },
      ApiKeyRevocation: { optional: [], key: [{ name: 'label' }, { name: 'timestamp' }] },
    });
    expect(Object.keys(forms)).toHaveLength(4);
  });

  it('accepts no signature of another wallet, and no message twice', async () => {
    const [owner, agent] = [newWallet(), newWallet()];
    const trader = await wallets.deploy(owner.address);
    const forged = await authorization(domain, byOwner(newWallet(), trader), { trader, agent: agent.address });
    expectError(await agents.create(forged), 401, 'INVALID_SIGNATURE');
    const body = await authorization(domain, byOwner(owner, trader), { trader, agent: agent.address });
    expect((await agents.create(body)).status).toBe(201);
    expectError(await agents.create(body), 401, 'NONCE_REUSED');
  });

  it('that is not deployed yet brings its factory along (ERC-6492)', async () => {
    const [owner, agent] = [newWallet(), newWallet()];
    const { address: trader, wrap } = wallets.foresee(owner.address);
    const body = await authorization(domain, byOwner(owner, trader), { trader, agent: agent.address });
    expectError(await agents.create(body), 401, 'INVALID_SIGNATURE');
    const created = await agents.create({ ...body, signature: wrap(body.signature) });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ agent: { trader } });
  });

  it('cannot be made up: a factory that does not lead to the trader is refused', async () => {
    const [owner, agent] = [newWallet(), newWallet()];
    const trader = newWallet().address;
    const body = await authorization(domain, byOwner(owner, trader), { trader, agent: agent.address });
    expectError(await agents.create({ ...body, signature: wallets.foresee(owner.address).wrap(body.signature) }), 401, 'INVALID_SIGNATURE');
    const other = wallets.foresee(newWallet().address);
    expectError(await agents.create({ ...body, trader: other.address, signature: other.wrap(body.signature) }), 401, 'INVALID_SIGNATURE');
  });

  it('that is a contract without a verdict, such as the Diamond, signs nothing', async () => {
    const body = await authorization(domain, signWith(newWallet(), domain), {
      trader: chain.definition.diamond,
      agent: newWallet().address,
    });
    for (const signature of [body.signature, '0x', `0x${'ab'.repeat(1_000)}`])
      expectError(await agents.create({ ...body, signature }), 401, 'INVALID_SIGNATURE');
  });

  it('whose code loops for ever is refused when its gas is used up, and the node counts as healthy all the while', async () => {
    const trader = await deployCode(chain, funder, LOOP);
    const body = await authorization(domain, signWith(newWallet(), domain), { trader, agent: newWallet().address });
    const troubles = async () => {
      const { body: readiness } = await sandbox.get('/ready');
      const { endpoints } = (readiness as { chains: Record<string, { endpoints: { failures: number; state: string }[] }> }).chains[
        chain.definition.slug
      ] ?? { endpoints: [] };
      return endpoints.map(({ failures, state }) => ({ failures, state }));
    };
    const before = await troubles();
    for (const reply of await Promise.all([1, 2, 3].map(() => agents.create(body)))) expectError(reply, 401, 'INVALID_SIGNATURE');
    const ready = await sandbox.get('/ready');
    expect([ready.status, sandbox.log.entries.filter(({ event }) => event === 'chain.unavailable')]).toEqual([200, []]);
    expect(await troubles()).toEqual(before);
  });

  it('is not judged while the node is away: 502, nothing stored, and the same message works afterwards', async () => {
    const [owner, agent] = [newWallet(), newWallet()];
    const trader = await wallets.deploy(owner.address);
    const foreseen = wallets.foresee(owner.address);
    const deployed = await authorization(domain, byOwner(owner, trader), { trader, agent: agent.address });
    const undeployed = await authorization(domain, byOwner(owner, foreseen.address), { trader: foreseen.address, agent: agent.address });
    chain.setRpcFault({ mode: 'down' });
    expectError(await agents.create(deployed), 502, 'UPSTREAM_UNAVAILABLE');
    expectError(await agents.create({ ...undeployed, signature: foreseen.wrap(undeployed.signature) }), 502, 'UPSTREAM_UNAVAILABLE');
    chain.setRpcFault({ mode: 'ok' });
    expectError(await agents.get(agent.address), 404, 'AGENT_NOT_FOUND');
    expect((await agents.create(deployed)).status).toBe(201);
  });
});
