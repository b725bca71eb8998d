import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { ACTIONS } from '../../facade/actions/index.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { hlSocket } from '../harness/hyperliquid/socket.js';
import { approveAgent, nextNonce, postExchange, signL1, signUserSigned } from '../harness/hyperliquid/exchange.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const CHAIN = 'arbitrum-sepolia';
const CUSTODY = 'Custody actions are not available: funds never leave the wallet.';
const VAULTS = 'Vaults are not supported.';
const SUB_ACCOUNTS = 'Sub-accounts are not supported.';
const STAKING = 'Staking is not supported.';
const UNSUPPORTED = 'Unsupported action.';
const MULTI_SIG = 'Multi-sig is not supported.';
const BY_TYPE: ReadonlySet<string> = new Set([CUSTODY, VAULTS, SUB_ACCOUNTS]);

let sandbox: TestVenue;
let trader: ChainTrader;
let master: Wallet;
let agent: Wallet;

beforeAll(async () => {
  sandbox = await sharedVenue();
  const [chain] = sandbox.controls.chains;
  if (!chain) throw new Error('no chain');
  trader = await newTrader(chain, { delegate: sandbox.controls.relayer });
  master = new Wallet(trader.privateKey);
  agent = new Wallet(generatePrivateKey());
  await post(await approveAgent(master, agent.address, null, { network: 'Testnet' }));
});
afterAll(() => sandbox.stop());

const post = (body: unknown) => postExchange(sandbox.url, CHAIN, body);
const err = (response: unknown) => ({ status: 200, body: { status: 'err', response } });

const DESTINATION = '0x000000000000000000000000000000000000dEaD';

/** Signed by the master: type, signed name, fields, values, sentence. */
const BY_MASTER: readonly (readonly [string, readonly [string, ...string[]], Record<string, unknown>, string])[] = [
  ['usdSend', ['UsdSend', 'string destination', 'string amount'], { destination: DESTINATION, amount: '100' }, CUSTODY],
  ['withdraw3', ['Withdraw', 'string destination', 'string amount'], { destination: DESTINATION, amount: '100' }, CUSTODY],
  [
    'spotSend',
    ['SpotSend', 'string destination', 'string token', 'string amount'],
    { destination: DESTINATION, token: 'USDC:0x6d1e7cde53ba9467b783cb7c530ce054', amount: '1' },
    CUSTODY,
  ],
  ['usdClassTransfer', ['UsdClassTransfer', 'string amount', 'bool toPerp'], { amount: '1', toPerp: true }, CUSTODY],
  [
    'sendAsset',
    [
      'SendAsset',
      'string destination',
      'string sourceDex',
      'string destinationDex',
      'string token',
      'string amount',
      'string fromSubAccount',
    ],
    { destination: DESTINATION, sourceDex: '', destinationDex: 'spot', token: 'USDC', amount: '1', fromSubAccount: '' },
    CUSTODY,
  ],
  [
    'sendToEvmWithData',
    [
      'SendToEvmWithData',
      'string token',
      'string amount',
      'string sourceDex',
      'string destinationRecipient',
      'string addressEncoding',
      'uint32 destinationChainId',
      'uint64 gasLimit',
      'bytes data',
    ],
    {
      token: 'USDC',
      amount: '1',
      sourceDex: '',
      destinationRecipient: DESTINATION,
      addressEncoding: 'hex',
      destinationChainId: 42161,
      gasLimit: 200000,
      data: '0x',
    },
    CUSTODY,
  ],
  ['cDeposit', ['CDeposit', 'uint64 wei'], { wei: 5 }, STAKING],
  ['cWithdraw', ['CWithdraw', 'uint64 wei'], { wei: 5 }, STAKING],
  [
    'tokenDelegate',
    ['TokenDelegate', 'address validator', 'uint64 wei', 'bool isUndelegate'],
    { validator: DESTINATION, wei: 5, isUndelegate: false },
    STAKING,
  ],
  ['linkStakingUser', ['LinkStakingUser', 'address user', 'bool isFinalize'], { user: DESTINATION, isFinalize: true }, STAKING],
  ['stakingLinkDisableTradingUser', ['StakingLinkDisableTradingUser', 'address tradingUser'], { tradingUser: DESTINATION }, STAKING],
  ['convertToMultiSigUser', ['ConvertToMultiSigUser', 'string signers'], { signers: '{"authorizedUsers":[],"threshold":1}' }, MULTI_SIG],
];
const WITH_TIME = new Set(['usdSend', 'withdraw3', 'spotSend']);

/** Signed by the agent. */
const BY_AGENT: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ['agentSendAsset', { destination: DESTINATION, amount: '1' }, CUSTODY],
  ['vaultTransfer', { vaultAddress: DESTINATION, isDeposit: true, usd: 1_000_000 }, VAULTS],
  ['createVault', { name: 'mine', description: '', initialUsd: 100, nonce: 1 }, VAULTS],
  ['vaultModify', { vaultAddress: DESTINATION, allowDeposits: true }, VAULTS],
  ['vaultDistribute', { vaultAddress: DESTINATION, usd: 1 }, VAULTS],
  ['createSubAccount', { name: 'sub' }, SUB_ACCOUNTS],
  ['subAccountModify', { subAccountUser: DESTINATION, name: 'sub' }, SUB_ACCOUNTS],
  ['subAccountTransfer', { subAccountUser: DESTINATION, isDeposit: true, usd: 1 }, SUB_ACCOUNTS],
  ['subAccountSpotTransfer', { subAccountUser: DESTINATION, isDeposit: true, token: 'USDC', amount: '1' }, SUB_ACCOUNTS],
  ['claimRewards', {}, STAKING],
  ['topUpIsolatedOnlyMargin', { asset: 0, leverage: '2' }, 'Asset not strict isolated'],
  ['reserveRequestWeight', { weight: 10 }, 'Request weight cannot be reserved here.'],
  ['borrowLend', { operation: 'supply', token: 0, amount: '1' }, UNSUPPORTED],
  ['hip3LiquidatorTransfer', { dex: 'x', ntl: 1 }, UNSUPPORTED],
  ['gossipPriorityBid', { slotId: 1, ip: '1.1.1.1', maxGas: 1 }, UNSUPPORTED],
  ['userOutcome', { outcome: 1 }, UNSUPPORTED],
  ['spotDeploy', { registerToken2: { spec: {} } }, UNSUPPORTED],
  ['perpDeploy', { registerAsset: {} }, UNSUPPORTED],
  ['finalizeEvmContract', { token: 1 }, UNSUPPORTED],
  ['activateOutcomeDeployer', {}, UNSUPPORTED],
  ['authorizeAqav2Role', {}, UNSUPPORTED],
  ['CSignerAction', { unjailSelf: null }, UNSUPPORTED],
  ['CValidatorAction', { unregister: null }, UNSUPPORTED],
  ['validatorL1Stream', { riskFreeRate: '0.05' }, UNSUPPORTED],
];

describe('what does not exist here', () => {
  it('is refused by its name, and leaves every balance as it was', async () => {
    const before = [await trader.usdc(), await trader.client.getBalance({ address: trader.account.address })];
    for (const [type, fields, values, text] of BY_MASTER) {
      const nonceField = WITH_TIME.has(type) ? 'time' : 'nonce';
      const body = await signUserSigned(master, [type, ...fields], values, { nonceField });
      expect([type, await post(body)]).toMatchObject([type, err(text)]);
    }
    for (const [type, values, text] of BY_AGENT)
      expect([type, await post(await signL1(agent, { type, ...values }))]).toMatchObject([type, err(text)]);
    expect([await trader.usdc(), await trader.client.getBalance({ address: trader.account.address })]).toEqual(before);
    expect(await trader.trades()).toEqual([]);
  });

  it('is all of the table: nothing is refused that is not tested here', () => {
    const refused = [...ACTIONS.values()].filter(({ verdict }) => verdict.kind === 'refused').map(({ type }) => type);
    expect([...BY_MASTER.map(([type]) => type), ...BY_AGENT.map(([type]) => type), 'multiSig'].sort()).toEqual(refused.sort());
  });

  it('is refused in its own answer where clients look for it there', async () => {
    const twap = { a: 0, b: true, s: '1', r: false, m: 30, t: false };
    expect(await post(await signL1(agent, { type: 'twapOrder', twap }))).toMatchObject({
      status: 200,
      body: { status: 'ok', response: { type: 'twapOrder', data: { status: { error: 'TWAP orders are not supported.' } } } },
    });
    expect(await post(await signL1(agent, { type: 'twapCancel', a: 0, t: 1 }))).toMatchObject({
      body: { status: 'ok', response: { type: 'twapCancel', data: { status: { error: 'TWAP orders are not supported.' } } } },
    });
  });

  it('is refused to many signers together as well', async () => {
    const action = {
      type: 'multiSig',
      signatureChainId: '0x66eee',
      signatures: [],
      payload: { multiSigUser: DESTINATION, outerSigner: DESTINATION, action: { type: 'noop' } },
    };
    const { signature, nonce } = await signL1(agent, { type: 'noop' });
    expect(await post({ action, signature, nonce })).toMatchObject(err(MULTI_SIG));
  });

  it('is refused by its type where it would move funds, with any signer and any signature, on both transports', async () => {
    const stranger = new Wallet(generatePrivateKey());
    const socket = await hlSocket(sandbox.url);
    const named = [
      ...BY_MASTER.map(([type, , values, text]) => [type, values, text] as const),
      ...BY_AGENT,
      ['spotUser', { classTransfer: { usdc: 1, toPerp: true } }, CUSTODY] as const,
    ].filter(([, , text]) => BY_TYPE.has(text));
    for (const [type, values, text] of named) {
      // No client of today packs `type` last, but signers of old SDKs are recovered from such a form, and were reported as unknown.
      const body = { ...(await signL1(stranger, { ...values, type })), action: { type, ...values } };
      expect([type, await post(body)]).toMatchObject([type, err(text)]);
      expect([type, await socket.post('action', body)]).toMatchObject([type, { payload: { status: 'err', response: text } }]);
    }
    await socket.close();
  });

  it('is otherwise not even named to signers that are unknown', async () => {
    const stranger = new Wallet(generatePrivateKey());
    for (const [type, values] of BY_AGENT.filter(([, , text]) => !BY_TYPE.has(text)))
      expect(await post(await signL1(stranger, { type, ...values }))).toMatchObject(
        err(expect.stringContaining(`User or API Wallet ${stranger.address.toLowerCase()} does not exist.`)),
      );
  });

  it('spends no nonce', async () => {
    const nonce = nextNonce();
    expect(await post(await signL1(agent, { type: 'vaultTransfer' }, { nonce }))).toMatchObject(err(VAULTS));
    expect(await post(await signL1(agent, { type: 'noop' }, { nonce }))).toMatchObject({ body: { status: 'ok' } });
  });

  it('is named before anything else about the account, also without a delegate', async () => {
    const [chain] = sandbox.controls.chains;
    if (!chain) throw new Error('no chain');
    const poor = new Wallet((await newTrader(chain)).privateKey);
    const itsAgent = new Wallet(generatePrivateKey());
    await post(await approveAgent(poor, itsAgent.address, null, { network: 'Testnet' }));
    expect(await post(await signL1(itsAgent, { type: 'createSubAccount', name: 'x' }))).toMatchObject(err(SUB_ACCOUNTS));
  });
});

describe('what changes nothing here', () => {
  const DONE = { status: 200, body: { status: 'ok', response: { type: 'default' } } };

  it.each<[string, Record<string, unknown>]>([
    ['noop', {}],
    ['setReferrer', { code: 'X' }],
    ['registerReferrer', { code: 'X' }],
    ['setDisplayName', { displayName: 'me' }],
    ['evmUserModify', { usingBigBlocks: true }],
    ['agentSetAbstraction', { abstraction: 'i' }],
    ['spotUser', { toggleSpotDusting: { optOut: true } }],
  ])('%s is accepted', async (type, values) => {
    const body = await signL1(agent, { type, ...values });
    expect(await post(body)).toMatchObject(DONE);
    expect(await post(body)).toMatchObject(err(`Invalid nonce: duplicate nonce ${body.nonce}`));
  });

  it('is refused where it would change something', async () => {
    for (const [type, values, text] of [
      ['agentSetAbstraction', { abstraction: 'u' }, UNSUPPORTED],
      ['agentEnableDexAbstraction', {}, UNSUPPORTED],
      ['spotUser', { classTransfer: { usdc: 1, toPerp: true } }, CUSTODY],
    ] as const)
      expect([type, await post(await signL1(agent, { type, ...values }))]).toMatchObject([type, err(text)]);
  });

  it.each<[string, string, string, unknown, unknown]>([
    ['userDexAbstraction', 'UserDexAbstraction', 'bool enabled', false, true],
    ['userSetAbstraction', 'UserSetAbstraction', 'string abstraction', 'disabled', 'unifiedAccount'],
    ['userPortfolioMargin', 'UserPortfolioMargin', 'bool enabled', false, true],
  ])('%s can only be switched off', async (type, name, field, off, on) => {
    const [, key = ''] = field.split(' ');
    const sign = (value: unknown) => signUserSigned(master, [type, name, 'address user', field], { user: master.address, [key]: value });
    expect(await post(await sign(off))).toMatchObject(DONE);
    expect(await post(await sign(on))).toMatchObject(err(UNSUPPORTED));
  });
});
