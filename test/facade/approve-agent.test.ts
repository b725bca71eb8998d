import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { encodePacked, keccak256 } from 'viem/utils';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { moveTime } from '../harness/time/move-time.js';
import { approveAgent, nextNonce, postExchange, signL1, type ExchangeAnswer, type ExchangeBody } from '../harness/hyperliquid/exchange.js';
import { agentsOf, authorization, domainOf, revocation, signWith } from '../harness/traders/master-wallet.js';
import { venueDatabase } from '../harness/venue/venue-database.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const TEST_NET = 'arbitrum-sepolia';
const MAIN_NET = 'base';
const NOBODY = '0x0000000000000000000000000000000000000000';
const OK = { status: 200, body: { status: 'ok', response: { type: 'default' } } };
const err = (response: unknown) => ({ status: 200, body: { status: 'err', response } });

let sandbox: TestVenue;
beforeAll(async () => void (sandbox = await startOwnVenue({ SANDBOX_CHAINS: `${TEST_NET},${MAIN_NET}` })));
afterAll(() => sandbox.stop());

const post = (body: ExchangeBody, chain = TEST_NET): Promise<ExchangeAnswer> => postExchange(sandbox.url, chain, body);
const newKey = (): Wallet => new Wallet(generatePrivateKey());

function chainOf(slug: string) {
  const found = sandbox.controls.chains.find(({ definition }) => definition.slug === slug);
  if (!found) throw new Error(`no ${slug}`);
  return found;
}

async function newMaster(chain = TEST_NET, delegate?: `0x${string}`): Promise<{ master: Wallet; wallet: ChainTrader }> {
  const wallet = await newTrader(chainOf(chain), { ...(delegate && { delegate }) });
  return { master: new Wallet(wallet.privateKey), wallet };
}

const tagOf = async (chain: string): Promise<string> => ((await sandbox.get(`/v1/${chain}`)).body as { agentNameTag: string }).agentNameTag;

const TESTNET = { network: 'Testnet' } as const;

/** A known signer is answered with the name of the refused action, an unknown one that it does not exist; no nonce is spent. */
async function isKnown(agent: Wallet, chain = TEST_NET): Promise<boolean> {
  const { body } = await post(await signL1(agent, { type: 'claimRewards' }), chain);
  return (body as { response: string }).response === 'Staking is not supported.';
}

async function agentView(agent: Wallet, chain = TEST_NET) {
  const { body } = await sandbox.get(`/v1/${chain}/agents/${agent.address}`);
  return body as { agent: Record<string, unknown>; delegationTx: { to: `0x${string}`; data: `0x${string}` } | null };
}

describe('an approval', () => {
  it('makes an agent of the facade, and brings the transaction that delegates to the relayer', async () => {
    const { master, wallet } = await newMaster();
    const agent = newKey();
    expect(await isKnown(agent)).toBe(false);
    const { body } = await post(await approveAgent(master, agent.address, null, TESTNET));
    const { delegationTx } = body as { delegationTx: { to: `0x${string}`; data: `0x${string}`; chainId: number } };
    expect(body).toMatchObject(OK.body);
    expect(delegationTx).toMatchObject({ to: chainOf(TEST_NET).definition.diamond, chainId: 421614 });
    expect(await isKnown(agent)).toBe(true);
    expect((await agentView(agent)).agent).toMatchObject({
      trader: master.address,
      mode: 'relayed',
      status: 'pending_delegation',
      scope: { markets: 'all', maxLeverage: null, dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' },
    });
    await wallet.send(delegationTx.to, delegationTx.data);
    await eventually(
      async () => (await agentView(agent)).agent['status'],
      (status) => status === 'active',
    );
    const again = await post(await approveAgent(master, agent.address, null, TESTNET));
    expect(again.body).toMatchObject({ ...OK.body, delegationTx: null });
  });

  it('means the same with a name of null, without one and with an empty one', async () => {
    const { master } = await newMaster();
    for (const change of [{ agentName: null }, {}, { agentName: '' }]) {
      const agent = newKey();
      const body = await approveAgent(master, agent.address, null, TESTNET);
      const { agentName, ...action } = body.action;
      expect(agentName).toBeNull();
      expect(await post({ ...body, action: { ...action, ...change } })).toMatchObject(OK);
      expect(await isKnown(agent)).toBe(true);
    }
  });

  it('may be signed on the domain of any chain', async () => {
    const { master } = await newMaster();
    for (const signatureChainId of ['0x66eee', '0x1', '0xa4b1'])
      expect(await post(await approveAgent(master, newKey().address, null, { ...TESTNET, signatureChainId }))).toMatchObject(OK);
  });

  it('takes the tag of the deployment from the chain and the relayer', async () => {
    const hash = keccak256(encodePacked(['uint256', 'address'], [8453n, sandbox.controls.relayer]));
    expect(await tagOf(MAIN_NET)).toBe(`gw${hash.slice(2, 8)}`);
    expect(await tagOf(TEST_NET)).not.toBe(await tagOf(MAIN_NET));
  });

  it('that could have been made for Hyperliquid is refused with the rule, and registers no agent', async () => {
    const { master } = await newMaster(MAIN_NET);
    const agent = newKey();
    const tag = await tagOf(MAIN_NET);
    for (const [name, network] of [
      [null, 'Mainnet'],
      ['bot', 'Mainnet'],
      [null, 'Testnet'],
      [await tagOf(TEST_NET), 'Testnet'],
    ] as const)
      expect(await post(await approveAgent(master, agent.address, name, { network }), MAIN_NET)).toMatchObject(
        err(expect.stringContaining(`Agent name must start with "${tag}"`)),
      );
    expect(await isKnown(agent, MAIN_NET)).toBe(false);
    expect(await post(await approveAgent(master, agent.address, `${tag}bot`), MAIN_NET)).toMatchObject(OK);
    expect(await isKnown(agent, MAIN_NET)).toBe(true);
  });

  it('made for Hyperliquid mainnet is refused on a test network too, unless it carries the tag', async () => {
    const { master } = await newMaster();
    const agent = newKey();
    expect(await post(await approveAgent(master, agent.address, 'bot'))).toMatchObject(
      err(expect.stringContaining('"Testnet" needs no tag')),
    );
    expect(await isKnown(agent)).toBe(false);
    expect(await post(await approveAgent(master, agent.address, await tagOf(TEST_NET)))).toMatchObject(OK);
  });

  it('holds for one chain, once', async () => {
    const { master } = await newMaster();
    await chainOf(MAIN_NET).faucet.fund(master.address as `0x${string}`, { eth: '1' });
    const agent = newKey();
    const body = await approveAgent(master, agent.address, await tagOf(TEST_NET), TESTNET);
    expect(await post(body)).toMatchObject(OK);
    expect(await post(body)).toMatchObject(err(`Invalid nonce: duplicate nonce ${body.nonce}`));
    expect(await post(body, MAIN_NET)).toMatchObject(err(expect.stringContaining('Agent name must start with')));
    expect(await isKnown(agent, MAIN_NET)).toBe(false);
  });

  it('shares its nonces with the approvals of all other chains', async () => {
    const { master } = await newMaster();
    await chainOf(MAIN_NET).faucet.fund(master.address as `0x${string}`, { eth: '1' });
    const nonce = nextNonce();
    expect(await post(await approveAgent(master, newKey().address, await tagOf(TEST_NET), { nonce }))).toMatchObject(OK);
    expect(await post(await approveAgent(master, newKey().address, await tagOf(MAIN_NET), { nonce }), MAIN_NET)).toMatchObject(
      err(`Invalid nonce: duplicate nonce ${nonce}`),
    );
  });

  it('whose envelope names another nonce is refused', async () => {
    const { master } = await newMaster();
    const body = await approveAgent(master, newKey().address, null, TESTNET);
    expect(await post({ ...body, nonce: body.nonce + 1 })).toMatchObject(err(expect.stringMatching(/^Invalid nonce: /)));
  });

  it('of a wallet that owns nothing is refused: a wrong signature recovers to such an address', async () => {
    const master = newKey();
    const agent = newKey();
    expect(await post(await approveAgent(master, agent.address, null, TESTNET))).toMatchObject(
      err(expect.stringContaining(`Must deposit before performing actions. User: ${master.address.toLowerCase()}`)),
    );
    const owner = (await newMaster()).master;
    expect(await post(await approveAgent(owner, agent.address, null, TESTNET))).toMatchObject(OK);
  });

  it('has a name of sixteen characters at most', async () => {
    const { master } = await newMaster();
    expect(await post(await approveAgent(master, newKey().address, 'x'.repeat(17), TESTNET))).toMatchObject(
      err(expect.stringContaining('16')),
    );
    expect(await post(await approveAgent(master, newKey().address, 'x'.repeat(16), TESTNET))).toMatchObject(OK);
  });
});

describe('the agents of a master', () => {
  it('are replaced by those of the same name', async () => {
    const { master } = await newMaster();
    const [first, second, named] = [newKey(), newKey(), newKey()];
    await post(await approveAgent(master, named.address, 'bot', TESTNET));
    await post(await approveAgent(master, first.address, null, TESTNET));
    await post(await approveAgent(master, second.address, null, TESTNET));
    expect(await Promise.all([first, second, named].map((agent) => isKnown(agent)))).toEqual([false, true, true]);
    expect((await agentView(first)).agent['status']).toBe('revoked');
    expect(await post(await signL1(first, { type: 'order', orders: [], grouping: 'na' }))).toMatchObject(
      err(expect.stringContaining(`User or API Wallet ${first.address.toLowerCase()} does not exist.`)),
    );
  });

  it('are three with names, and one without', async () => {
    const { master } = await newMaster();
    for (const name of ['one', 'two', 'three', null])
      expect(await post(await approveAgent(master, newKey().address, name, TESTNET))).toMatchObject(OK);
    expect(await post(await approveAgent(master, newKey().address, 'four', TESTNET))).toMatchObject(
      err('Too many extra agents for cumulative volume traded. Current limit is 3'),
    );
    expect(await post(await approveAgent(master, newKey().address, 'three', TESTNET))).toMatchObject(OK);
  });

  it('are removed for good by an approval of the zero address', async () => {
    const { master } = await newMaster();
    const [named, plain] = [newKey(), newKey()];
    await post(await approveAgent(master, named.address, 'bot', TESTNET));
    await post(await approveAgent(master, plain.address, null, TESTNET));
    expect(await post(await approveAgent(master, NOBODY, 'bot', TESTNET))).toMatchObject(OK);
    expect([await isKnown(named), await isKnown(plain)]).toEqual([false, true]);
    expect(await post(await approveAgent(master, NOBODY, null, TESTNET))).toMatchObject(OK);
    expect(await isKnown(plain)).toBe(false);
    expect(await post(await approveAgent(master, named.address, 'bot', TESTNET))).toMatchObject(err('Extra agent already used.'));
  });

  it('are not removed by a wallet that has none and owns nothing, and nothing is kept of it', async () => {
    const master = newKey();
    const signer = master.address.toLowerCase();
    expect(await post(await approveAgent(master, NOBODY, 'bot', TESTNET))).toMatchObject(
      err(expect.stringContaining(`Must deposit before performing actions. User: ${signer}`)),
    );
    const database = await venueDatabase(sandbox);
    const { rows } = await database.query('select signer from signer_nonces where signer = $1', [signer]);
    await database.end();
    expect(rows).toEqual([]);
  });

  it('are not removed by a copy of what was made for Hyperliquid', async () => {
    const { master } = await newMaster();
    const agent = newKey();
    await post(await approveAgent(master, agent.address, 'bot', TESTNET));
    expect(await post(await approveAgent(master, NOBODY, 'bot'))).toMatchObject(err(expect.stringContaining('Agent name must start with')));
    expect(await isKnown(agent)).toBe(true);
  });

  it('never serve another master while they are active, on whichever chain', async () => {
    const [{ master }, { master: other }] = [await newMaster(TEST_NET, sandbox.controls.relayer), await newMaster()];
    await chainOf(MAIN_NET).faucet.fund(other.address as `0x${string}`, { eth: '1' });
    const agent = newKey();
    expect(await post(await approveAgent(master, agent.address, null, TESTNET))).toMatchObject(OK);
    expect(await post(await approveAgent(other, agent.address, null, TESTNET))).toMatchObject(err('Extra agent already used.'));
    expect(await post(await approveAgent(other, agent.address, await tagOf(MAIN_NET)), MAIN_NET)).toMatchObject(
      err('Extra agent already used.'),
    );
    expect((await agentView(agent)).agent['trader']).toBe(master.address);
    await post(await approveAgent(master, NOBODY, null, TESTNET));
    expect(await post(await approveAgent(other, agent.address, null, TESTNET))).toMatchObject(OK);
  });

  it('never serve another master who registered them natively on another chain before', async () => {
    const [{ master }, { master: other }] = [await newMaster(TEST_NET, sandbox.controls.relayer), await newMaster(MAIN_NET)];
    const agent = newKey();
    expect(await post(await approveAgent(master, agent.address, null, TESTNET))).toMatchObject(OK);
    const domain = await domainOf(sandbox, MAIN_NET);
    const claim = { trader: other.address, agent: agent.address };
    const native = await agentsOf(sandbox, MAIN_NET).create(await authorization(domain, signWith(other, domain), claim));
    expect(native.status).toBe(201);
    expect(await post(await approveAgent(other, agent.address, await tagOf(MAIN_NET)), MAIN_NET)).toMatchObject(
      err('Extra agent already used.'),
    );
    expect(await isKnown(agent, MAIN_NET)).toBe(false);
  });

  it('never serve another master once they signed an accepted action, also after they were removed', async () => {
    const [{ master }, { master: other }] = [await newMaster(TEST_NET, sandbox.controls.relayer), await newMaster()];
    const agent = newKey();
    expect(await post(await approveAgent(master, agent.address, null, TESTNET))).toMatchObject(OK);
    expect(await post(await signL1(agent, { type: 'scheduleCancel' }))).toMatchObject(OK);
    await post(await approveAgent(master, NOBODY, null, TESTNET));
    expect(await post(await approveAgent(other, agent.address, null, TESTNET))).toMatchObject(err('Extra agent already used.'));
    const domain = await domainOf(sandbox);
    const claim = { trader: other.address, agent: agent.address };
    const native = await agentsOf(sandbox).create(await authorization(domain, signWith(other, domain), claim));
    expect([native.status, native.body]).toMatchObject([403, { code: 'TRADER_MISMATCH' }]);
  });

  it('are not kept from their master by another trader that registered them first, on any chain and front end', async () => {
    const [{ master }, { master: stranger }] = [await newMaster(), await newMaster()];
    const agent = newKey();
    const domain = await domainOf(sandbox, MAIN_NET);
    const squat = await authorization(domain, signWith(stranger, domain), { trader: stranger.address, agent: agent.address });
    expect((await agentsOf(sandbox, MAIN_NET).create(squat)).status).toBe(201);
    expect(await post(await approveAgent(stranger, agent.address, null, TESTNET))).toMatchObject(OK);
    expect(await post(await approveAgent(master, agent.address, null, TESTNET))).toMatchObject(OK);
    expect((await agentView(agent)).agent).toMatchObject({ trader: master.address, mode: 'relayed' });
    const here = await domainOf(sandbox);
    const native = await authorization(here, signWith(stranger, here), { trader: stranger.address, agent: agent.address });
    expect((await agentsOf(sandbox).create(native)).status).toBe(201);
    expect((await agentView(agent)).agent).toMatchObject({ trader: stranger.address, mode: 'self' });
  });

  it('are not taken over at the other front end while they are active, unless they agree', async () => {
    const [{ master }, { master: other }] = [await newMaster(TEST_NET, sandbox.controls.relayer), await newMaster()];
    const agent = newKey();
    await post(await approveAgent(master, agent.address, null, TESTNET));
    const domain = await domainOf(sandbox);
    const claim = { trader: other.address, agent: agent.address };
    const taken = await agentsOf(sandbox).create(await authorization(domain, signWith(other, domain), claim));
    expect([taken.status, taken.body]).toMatchObject([403, { code: 'TRADER_MISMATCH' }]);
    expect(await isKnown(agent)).toBe(true);
    const agreed = await agentsOf(sandbox).create(await authorization(domain, signWith(other, domain), { ...claim, agentWallet: agent }));
    expect(agreed.status).toBe(201);
    expect(await isKnown(agent)).toBe(false);
  });

  it('are in the journal of their master', async () => {
    const { master } = await newMaster();
    const [first, second] = [newKey(), newKey()];
    for (const agent of [first, second]) await post(await approveAgent(master, agent.address, null, TESTNET));
    const entries = await sandbox.gateway.store.journal.after(TEST_NET, master.address.toLowerCase() as `0x${string}`, 0n, 10);
    const changes = entries.flatMap(({ fact }) => (fact.kind === 'agent' ? [[fact.agent.agent, fact.agent.revokedAt === null]] : []));
    const [one, two] = [first.address.toLowerCase(), second.address.toLowerCase()];
    expect(changes).toEqual([
      [one, true],
      [one, false],
      [two, true],
    ]);
  });

  it('go to one of two masters who approve the same at once', async () => {
    const masters = await Promise.all([newMaster(TEST_NET, sandbox.controls.relayer), newMaster(TEST_NET, sandbox.controls.relayer)]);
    const agent = newKey();
    const bodies = await Promise.all(masters.map(({ master }) => approveAgent(master, agent.address, null, TESTNET)));
    const answers = await Promise.all(bodies.map((body) => post(body)));
    expect(answers.map(({ body }) => (body as { status: string }).status).sort()).toEqual(['err', 'ok']);
  });

  it('may be the same on several chains', async () => {
    const { master } = await newMaster();
    await chainOf(MAIN_NET).faucet.fund(master.address as `0x${string}`, { eth: '1' });
    const agent = newKey();
    expect(await post(await approveAgent(master, agent.address, await tagOf(TEST_NET)))).toMatchObject(OK);
    expect(await post(await approveAgent(master, agent.address, await tagOf(MAIN_NET)), MAIN_NET)).toMatchObject(OK);
    expect([await isKnown(agent), await isKnown(agent, MAIN_NET)]).toEqual([true, true]);
  });
});

describe('the master itself', () => {
  it('signs actions only after it approved itself, and nothing it signed before counts', async () => {
    const { master } = await newMaster();
    const early = await signL1(master, { type: 'noop' });
    expect(await isKnown(master)).toBe(false);
    expect(await post(await approveAgent(master, newKey().address, 'bot', TESTNET))).toMatchObject(OK);
    expect(await post(await signL1(master, { type: 'claimRewards' }))).toMatchObject(err(expect.stringContaining('is a master wallet')));
    expect(await post(await approveAgent(master, master.address, 'self', TESTNET))).toMatchObject(OK);
    expect(await isKnown(master)).toBe(true);
    expect(await post(early)).toMatchObject(err(expect.stringContaining(`Invalid nonce: nonce too low ${early.nonce}`)));
    expect(await post(await signL1(master, { type: 'noop' }))).toMatchObject(OK);
  });

  it('is its own, also when another master claimed it before', async () => {
    const [master, { master: squatter }] = [newKey(), await newMaster()];
    expect(await post(await approveAgent(squatter, master.address, null, TESTNET))).toMatchObject(OK);
    await chainOf(TEST_NET).faucet.fund(master.address as `0x${string}`, { eth: '1' });
    expect(await post(await approveAgent(master, master.address, null, TESTNET))).toMatchObject(OK);
    expect((await agentView(master)).agent['trader']).toBe(master.address);
    expect(await post(await approveAgent(squatter, master.address, null, TESTNET))).toMatchObject(err('Extra agent already used.'));
  });

  it('is no agent of another once it can trade or has agents', async () => {
    const [{ master: able }, { master: squatter }, chain] = [await newMaster(), await newMaster(), chainOf(TEST_NET)];
    expect(await post(await approveAgent(squatter, able.address, null, TESTNET))).toMatchObject(err('Extra agent already used.'));
    const poor = newKey();
    await chain.faucet.fund(poor.address as `0x${string}`, { eth: '1' });
    expect(await post(await approveAgent(poor, newKey().address, null, TESTNET))).toMatchObject(OK);
    expect(await post(await approveAgent(squatter, poor.address, null, TESTNET))).toMatchObject(err('Extra agent already used.'));
    expect([await isKnown(able), await isKnown(poor)]).toEqual([false, false]);
  });

  it('is answered as itself, also where another trader approved it as an agent before it owned anything', async () => {
    const [{ master: stranger }, master] = [await newMaster(), newKey()];
    const ask = async (type: string) => (await sandbox.post(`/hl/${TEST_NET}/info`, { type, user: master.address })).body;
    expect(await post(await approveAgent(stranger, master.address, 'evil', TESTNET))).toMatchObject(OK);
    expect(await ask('userRole')).toEqual({ role: 'agent', data: { user: stranger.address.toLowerCase() } });
    await chainOf(TEST_NET).faucet.fund(master.address as `0x${string}`, { eth: '1' });
    expect(await post(await approveAgent(master, newKey().address, 'bot', TESTNET))).toMatchObject(OK);
    expect(await ask('userRole')).toEqual({ role: 'user' });
    expect(await ask('extraAgents')).toMatchObject([{ name: 'bot' }]);
  });

  it('is a user as soon as it has an allowance or a delegate of its own; what it was sent proves nothing', async () => {
    const [{ master: stranger }, chain] = [await newMaster(), chainOf(TEST_NET)];
    const roleOf = async (user: string) => (await sandbox.post(`/hl/${TEST_NET}/info`, { type: 'userRole', user })).body;
    const isAgent = { role: 'agent', data: { user: stranger.address.toLowerCase() } };
    for (const step of ['allowance', 'delegate'] as const) {
      const victim = newKey();
      expect(await post(await approveAgent(stranger, victim.address, step, TESTNET))).toMatchObject(OK);
      await chain.faucet.fund(victim.address as `0x${string}`, { eth: '1', usdc: '100' });
      expect(await roleOf(victim.address)).toEqual(isAgent);
      const delegate = step === 'delegate' ? (newKey().address as `0x${string}`) : null;
      await chain.faucet.equip(victim.privateKey as `0x${string}`, { eth: '1', usdc: '100', approve: step === 'allowance', delegate });
      expect(await roleOf(victim.address)).toEqual({ role: 'user' });
    }
  });

  it('may remove itself and come back', async () => {
    const { master } = await newMaster();
    await post(await approveAgent(master, master.address, null, TESTNET));
    await post(await approveAgent(master, NOBODY, null, TESTNET));
    expect(await isKnown(master)).toBe(false);
    expect(await post(await approveAgent(master, master.address, null, TESTNET))).toMatchObject(OK);
    expect(await isKnown(master)).toBe(true);
  });
});

describe('a scheduled cancel', () => {
  const HOUR_MS = 3_600_000;
  const schedules = async (trader: string): Promise<number> => {
    const database = await venueDatabase(sandbox);
    const { rows } = await database.query('select 1 from scheduled_cancels where trader = $1', [trader.toLowerCase()]);
    await database.end();
    return rows.length;
  };
  const schedule = async (agent: Wallet, time: number) => post(await signL1(agent, { type: 'scheduleCancel', time }));

  it('lies between five seconds and seven days ahead', async () => {
    const [{ master }, agent] = [await newMaster(TEST_NET, sandbox.controls.relayer), newKey()];
    await post(await approveAgent(master, agent.address, null, TESTNET));
    const soon = err('Scheduled cancel time must be at least 5 seconds ahead.');
    const late = err('Scheduled cancel time must be at most 7 days ahead.');
    expect(await schedule(agent, Date.now() + 4_000)).toMatchObject(soon);
    for (const ahead of [7 * 24 * HOUR_MS + 60_000, 1e14]) expect(await schedule(agent, Date.now() + ahead)).toMatchObject(late);
    expect(await schedules(master.address)).toBe(0);
    expect(await schedule(agent, Date.now() + 7 * 24 * HOUR_MS - 60_000)).toMatchObject(OK);
  });

  it.each<[string, (master: Wallet, agent: Wallet) => Promise<unknown>]>([
    ['is removed', async (master) => post(await approveAgent(master, NOBODY, 'bot', TESTNET))],
    ['is replaced', async (master) => post(await approveAgent(master, newKey().address, 'bot', TESTNET))],
    [
      'is revoked natively',
      async (master, agent) => {
        const sign = signWith(master, await domainOf(sandbox));
        return agentsOf(sandbox).revoke(agent.address, await revocation(sign, master.address, agent.address));
      },
    ],
  ])('ends with the agent that set it, when that %s', async (_how, remove) => {
    const [{ master }, agent] = [await newMaster(TEST_NET, sandbox.controls.relayer), newKey()];
    await post(await approveAgent(master, agent.address, 'bot', TESTNET));
    expect(await schedule(agent, Date.now() + HOUR_MS)).toMatchObject(OK);
    expect(await schedules(master.address)).toBe(1);
    expect(await remove(master, agent)).toMatchObject({ status: 200 });
    expect(await schedules(master.address)).toBe(0);
    const [trader, signer] = [master, agent].map(({ address }) => address.toLowerCase() as `0x${string}`);
    if (!trader || !signer) throw new Error('no wallets');
    // An action that was let in before the removal and comes after it.
    const late = { chain: TEST_NET, trader, agent: signer, action: 1n, dueAt: Date.now() + HOUR_MS } as const;
    expect(await sandbox.gateway.store.exchange.schedule(late)).toBe(false);
    expect(await schedules(master.address)).toBe(0);
  });
});

// The last of the file: it moves the time of the venue, and the others sign with that of the machine.
describe('an approval with an end', () => {
  it('ends when its name says so', async () => {
    const { master } = await newMaster();
    const agent = newKey();
    const past = await approveAgent(master, agent.address, `bot valid_until ${Date.now() - 1}`, TESTNET);
    expect(await post(past)).toMatchObject(err('Agent valid_until already expired.'));
    const endsAt = sandbox.clock.now() + 60_000;
    expect(await post(await approveAgent(master, agent.address, `bot valid_until ${endsAt}`, TESTNET))).toMatchObject(OK);
    expect((await agentView(agent)).agent).toMatchObject({ name: 'bot', scope: { expiresAt: endsAt } });
    await moveTime(sandbox, 60_000);
    await eventually(
      () => isKnown(agent),
      (known) => !known,
    );
    expect(
      await post(await approveAgent(master, agent.address, `bot valid_until ${sandbox.clock.now() + 600_000}`, TESTNET)),
    ).toMatchObject(OK);
    expect(await isKnown(agent)).toBe(true);
  });
});
