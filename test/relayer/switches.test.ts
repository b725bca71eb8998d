import { Wallet } from 'ethers';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { ChainConfig } from '../../core/config/config.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import type { KnexStore } from '../../core/adapters/postgres/create-store.js';
import type { Address } from '../../core/types.js';
import { runCommand } from '../../relayer/command.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { storeAction } from '../harness/hyperliquid/store-action.js';
import { startSecondGateway, type SecondGateway } from '../harness/venue/second-gateway.js';
import { approveAgent, order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
const TOKEN = 'the-token-of-the-operator';

let sandbox: TestVenue;
beforeAll(async () => void (sandbox = await startOwnVenue({ OPERATOR_TOKEN: TOKEN, RATE_LIMIT_AGENT_WRITES: '1000' })));
afterAll(() => sandbox.stop());
afterEach(() => operate(sandbox.url, 'POST', '/switches', { mode: 'running' }));

async function operate(url: string, method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}/relayer${path}`, {
    method,
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

interface WalletRow {
  readonly mode: string;
  readonly reason: string | null;
  readonly sent: number;
  readonly isEmpty: boolean;
}

async function firstWallet(url = sandbox.url): Promise<WalletRow> {
  const { body } = await operate(url, 'GET', '/switches');
  const row = (body as { chains: { wallets: WalletRow[] }[] }).chains[0]?.wallets[0];
  if (!row) throw new Error('no wallet');
  return row;
}

interface Rotation {
  readonly isDone: boolean;
  readonly waiting: readonly { readonly delegationTx: { readonly to: Address; readonly data: `0x${string}` } }[];
}

/** Rests far below the market: nothing fills it. */
const RESTING = orderAction(order({ p: '30000', s: '0.1', t: { limit: { tif: 'Gtc' } } }));
const RESTED = { status: 'ok', response: { data: { statuses: [{ resting: { oid: expect.any(Number) } }] } } };

const post = async (agent: Wallet, action: Record<string, unknown>, url = sandbox.url) =>
  (await postExchange(url, CHAIN, await signL1(agent, action))).body;

async function newBot(): Promise<{ agent: Wallet; trader: ChainTrader }> {
  const { agentKey, trader } = await newFacadeTrader(sandbox);
  return { agent: new Wallet(agentKey), trader };
}

describe('a paused relayer', () => {
  it('answers bots with the reason, sends nothing, and goes on when it is resumed', async () => {
    const { agent, trader } = await newBot();
    expect(await post(agent, RESTING)).toMatchObject(RESTED);
    const { status, body } = await operate(sandbox.url, 'POST', '/switches', {
      chain: CHAIN,
      mode: 'paused',
      reason: 'maintenance until noon',
    });
    expect([status, body]).toMatchObject([
      200,
      { chains: [{ chain: CHAIN, wallets: [{ mode: 'paused', reason: 'maintenance until noon', isRetiring: false }] }] },
    ]);
    const nonce = await nonceOf();
    const cancel = { type: 'cancel', cancels: [{ a: 0, o: 1 }] };
    const said = expect.stringContaining('The relayer is paused by its operator: maintenance until noon. Nothing was sent');
    for (const action of [RESTING, { type: 'scheduleCancel', time: Date.now() + 60_000 }])
      expect(await post(agent, action)).toEqual({ status: 'err', response: said });
    expect(await post(agent, { type: 'updateLeverage', asset: 0, isCross: true, leverage: 7 })).toMatchObject({ status: 'ok' });
    expect(await post(agent, { type: 'scheduleCancel' })).toMatchObject({ status: 'ok' });
    expect(await post(agent, cancel)).toMatchObject({ status: 'ok' });
    expect(await nonceOf()).toBe(nonce);
    expect(await trader.trades()).toHaveLength(1);
    await operate(sandbox.url, 'POST', '/switches', { mode: 'running' });
    expect(await post(agent, RESTING)).toMatchObject(RESTED);
    expect(await trader.trades()).toHaveLength(2);
  });

  it('is paused for every replica, also for one that starts later, until the operator resumes it', async () => {
    const { agent } = await newBot();
    const beside = await startSecondGateway(sandbox, { relays: true });
    try {
      await eventually(
        () => beside.get('/ready'),
        ({ status }) => status === 200,
      );
      await operate(sandbox.url, 'POST', '/switches', { mode: 'paused', reason: 'the night' });
      await eventually(
        () => modeAt(beside),
        ({ mode }) => mode === 'paused',
      );
      expect(await post(agent, RESTING, beside.url)).toMatchObject({ status: 'err', response: expect.stringContaining('the night') });
      const later = await startSecondGateway(sandbox, { relays: true });
      try {
        await eventually(
          () => modeAt(later),
          ({ mode }) => mode === 'paused',
        );
        expect(await firstWallet(later.url)).toMatchObject({
          mode: 'paused',
          reason: 'the night',
        });
      } finally {
        await later.stop();
      }
      await operate(beside.url, 'POST', '/switches', { mode: 'running' });
      await eventually(
        () => sandbox.gateway.venues.get(CHAIN)?.relayer?.walletMode(relayer()).mode,
        (mode) => mode === 'running',
      );
      expect(await post(agent, RESTING)).toMatchObject(RESTED);
    } finally {
      await beside.stop();
    }
  });

  it('refuses what got into the queue before the switch was seen', async () => {
    const { trader } = await newBot();
    const address = trader.account.address.toLowerCase() as Address;
    await operate(sandbox.url, 'POST', '/switches', { mode: 'paused', reason: 'now' });
    const proof = { actionHash: `0x${'00'.repeat(32)}`, form: 'canonical', network: 'a', nonce: 1n, receivedAt: Date.now() } as const;
    const { id } = await storeAction(sandbox.gateway.store, {
      chain: CHAIN,
      signer: address,
      trader: address,
      envelope: '{}',
      ...proof,
    });
    const request = {
      trader: address,
      purpose: 'action',
      parent: id,
      orderId: null,
      data: '0x',
      gas: 1n,
      context: null,
      notAfter: null,
    } as const;
    const sent = await venue().relayer?.send(request);
    expect(await sent?.handedOver).toMatchObject({ state: 'refused', nonce: null, note: 'the relayer is paused by its operator: now' });
  });
});

const relayer = (): Address => sandbox.controls.relayer.toLowerCase() as Address;
const nonceOf = async (): Promise<number> => (await venue().chain.relay.account(relayer())).nonce;
const modeAt = ({ gateway }: Pick<SecondGateway, 'gateway'>) => {
  const mode = gateway.venues.get(CHAIN)?.relayer?.walletMode(relayer());
  if (!mode) throw new Error('no relayer');
  return mode;
};
function venue() {
  const found = sandbox.gateway.venues.get(CHAIN);
  if (!found) throw new Error('no chain');
  return found;
}

describe('a relayer that drains', () => {
  it('finishes what is under way, takes nothing new, and says when it is empty', async () => {
    const { agent, trader } = await newBot();
    await firstChain(sandbox).pauseMining(true);
    const under = post(agent, RESTING);
    try {
      await eventually(
        () => firstWallet(),
        ({ sent }) => sent === 1,
      );
      const { body } = await operate(sandbox.url, 'POST', '/switches', { wallet: relayer(), mode: 'draining' });
      expect(body).toMatchObject({ chains: [{ wallets: [{ mode: 'draining', isEmpty: false, sent: 1 }] }] });
      expect(await post(agent, RESTING)).toEqual({
        status: 'err',
        response: expect.stringContaining('finishes what it has and takes nothing new'),
      });
    } finally {
      await firstChain(sandbox).pauseMining(false);
    }
    expect(await under).toMatchObject(RESTED);
    await eventually(
      () => firstWallet(),
      ({ isEmpty }) => isEmpty,
    );
    expect(await trader.trades()).toHaveLength(1);
  });
});

describe('a relayer that is not configured to flatten', () => {
  it('signs no close for a schedule, however well it is made', async () => {
    const { agent, trader } = await newBot();
    const address = trader.account.address.toLowerCase() as Address;
    const oracle = venue().feed.lastPrice(0)?.oracle ?? 0n;
    const dear = String((oracle * 105n) / 100n / 10n ** 10n);
    expect(await post(agent, orderAction(order({ p: dear, s: '0.1' })))).toMatchObject({
      response: { data: { statuses: [{ filled: {} }] } },
    });
    const [position] = await eventually(
      () => sandbox.gateway.store.account.openPositions(CHAIN, address),
      ({ length }) => length === 1,
    );
    if (!position) throw new Error('no position');
    const { tradeIndex } = position;
    expect(await post(agent, { type: 'scheduleCancel', time: Date.now() + 3_600_000 })).toMatchObject({ status: 'ok' });
    const actions = (sandbox.gateway.store as KnexStore).db('relay_actions').where({ signer: agent.address.toLowerCase() });
    const [{ id } = { id: 0n }] = await actions.orderBy('id', 'desc').select<{ id: bigint }[]>('id');
    const inner = encodeIntent({ kind: 'close', tradeIndex, expectedPrice: oracle, slippageP: null }, address);
    const sent = await venue().relayer?.send({
      trader: address,
      purpose: 'scheduled-cancel',
      parent: id,
      orderId: null,
      data: wrapFor(relayer(), address, inner),
      gas: 3_000_000n,
      context: { kind: 'flatten', tradeIndex, expectedPrice: oracle },
      notAfter: null,
    });
    expect(await sent?.handedOver).toMatchObject({ state: 'refused', note: 'it is not what the signed action means' });
    expect(await trader.trades()).toHaveLength(1);
  });
});

describe("the operator's words", () => {
  it.each<[string, unknown, number]>([
    ['a mode that is none', { mode: 'off' }, 400],
    ['a chain that is not served', { chain: 'nowhere', mode: 'paused' }, 404],
    ['a foreign wallet', { wallet: `0x${'12'.repeat(20)}`, mode: 'paused' }, 422],
    ['a reason of two lines', { mode: 'paused', reason: 'a\nb' }, 400],
    ['a misspelt field', { mode: 'paused', walet: 'x' }, 400],
  ])('with %s change nothing', async (_, body, status) => {
    expect((await operate(sandbox.url, 'POST', '/switches', body)).status).toBe(status);
    expect(await firstWallet()).toMatchObject({ mode: 'running' });
  });
});

describe('a rotation', () => {
  let beside: SecondGateway;
  const keys = [generatePrivateKey(), generatePrivateKey()] as const;
  const [old, next] = keys.map((key) => privateKeyToAccount(key).address.toLowerCase() as Address) as [Address, Address];

  beforeAll(async () => {
    for (const wallet of [old, next]) await firstChain(sandbox).faucet.fund(wallet, { eth: '5' });
    const two = (each: ChainConfig): ChainConfig => ({ ...each, relayer: { keys: () => keys, maxFeePerGas: 10n ** 13n } });
    beside = await startSecondGateway(
      { ...sandbox, config: { ...sandbox.config, chains: sandbox.config.chains.map(two) } },
      { relays: true },
    );
    await eventually(
      () => beside.get('/ready'),
      ({ status }) => status === 200,
    );
  });
  afterAll(() => beside.stop());

  async function traderOf(delegate: Address): Promise<{ trader: ChainTrader; agent: Wallet }> {
    const trader = await newTrader(firstChain(sandbox), { delegate });
    const agent = new Wallet(generatePrivateKey());
    const approval = await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' });
    expect(await postExchange(beside.url, CHAIN, approval)).toMatchObject({ body: { status: 'ok' } });
    return { trader, agent };
  }
  const assigned = ({ account }: ChainTrader) =>
    beside.gateway.venues.get(CHAIN)?.relayer?.walletFor(account.address.toLowerCase() as Address);

  it('keeps its traders until they have delegated to the successor, lists them, and ends when the last has', async () => {
    const { trader, agent } = await traderOf(old);
    expect(await assigned(trader)).toBe(old);
    const { status, body } = await operate(beside.url, 'POST', '/rotation', { wallet: old, isRetiring: true });
    const address = trader.account.address.toLowerCase();
    expect([status, body]).toMatchObject([
      200,
      { isRetiring: true, successors: [next], traders: 1, isDone: false, waiting: [{ trader: address }] },
    ]);
    // Still served by the wallet it has delegated to.
    expect(await post(agent, RESTING, beside.url)).toMatchObject(RESTED);
    const newcomer = await newTrader(firstChain(sandbox), {});
    expect(await assigned(newcomer)).toBe(next);
    expect((await beside.get(`/v1/${CHAIN}`)).body).toMatchObject({ relayer: expect.stringMatching(new RegExp(next, 'i')) });
    const [asked] = (body as Rotation).waiting;
    if (!asked) throw new Error('no trader is waiting');
    await trader.send(asked.delegationTx.to, asked.delegationTx.data);
    const moved = await eventually(
      async () => post(agent, RESTING, beside.url),
      (said) => (said as { status: string }).status === 'ok',
    );
    expect(moved).toMatchObject(RESTED);
    expect(await assigned(trader)).toBe(next);
    const after = await eventually(
      async () => (await operate(beside.url, 'GET', `/rotation?wallet=${old}`)).body as Rotation,
      ({ isDone }) => isDone,
    );
    expect(after).toMatchObject({ traders: 0, waiting: [], openJobs: 0 });
    expect(await trader.trades()).toHaveLength(2);
  });

  it('lets traders approve with the tag of either wallet, and take their agents away even when the wallet of the tag is gone', async () => {
    const master = new Wallet((await newTrader(firstChain(sandbox), {})).privateKey);
    const tag = async (): Promise<string> => ((await beside.get(`/v1/${CHAIN}`)).body as { agentNameTag: string }).agentNameTag;
    const approve = async (agent: string, name: string, url = beside.url) =>
      (await postExchange(url, CHAIN, await approveAgent(master, agent, name))).body;
    const [zeroAddress, ok] = ['0x0000000000000000000000000000000000000000', { status: 'ok' }];
    await operate(beside.url, 'POST', '/rotation', { wallet: old, isRetiring: false });
    const before = await tag();
    for (const name of [`${before} one`, `${before} two`]) expect(await approve(Wallet.createRandom().address, name)).toMatchObject(ok);
    await operate(beside.url, 'POST', '/rotation', { wallet: old, isRetiring: true });
    expect(await tag()).not.toBe(before);
    expect(await approve(Wallet.createRandom().address, `${before} three`)).toMatchObject(ok);
    expect(await approve(zeroAddress, `${before} one`)).toMatchObject(ok);
    // The gateway of the sandbox has neither of the wallets.
    const named = { status: 'err', response: expect.stringContaining('Agent name must start with') };
    expect(await approve(Wallet.createRandom().address, `${before} four`, sandbox.url)).toMatchObject(named);
    expect(await approve(zeroAddress, `${before} four`, sandbox.url)).toMatchObject(named);
    expect(await approve(zeroAddress, `${before} two`, sandbox.url)).toMatchObject(ok);
    const { body } = await sandbox.post(`/hl/${CHAIN}/info`, { type: 'extraAgents', user: master.address });
    expect(body).toMatchObject([{ name: `${before} three` }]);
  });

  it('never leaves the relayer without a wallet that stays, and can be taken back', async () => {
    expect(await operate(beside.url, 'POST', '/rotation', { wallet: next, isRetiring: true })).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('is the only wallet that stays') },
    });
    expect((await operate(beside.url, 'POST', '/rotation', { wallet: old, isRetiring: false })).body).toMatchObject({ isRetiring: false });
  });

  it('is done when the last of more traders than fit on a page has delegated', async () => {
    const { relay } = sandbox.gateway.store;
    const { trader } = await traderOf(old);
    expect(await assigned(trader)).toBe(old);
    // Who left without a word comes first in the list, and fills a page of it.
    const silent = Array.from({ length: 1_001 }, (_, at) => `0x${(at + 1).toString(16).padStart(40, '0')}` as const);
    await Promise.all(silent.map((each) => relay.assignWallet(CHAIN, each, old)));
    const page = async (after = ''): Promise<Rotation> =>
      (await operate(beside.url, 'GET', `/rotation?wallet=${old}${after && `&after=${after}`}`)).body as Rotation;
    expect(await page()).toMatchObject({ isDone: false, traders: 1_002, waiting: [], next: silent[999] });
    const last = await page(silent[999]);
    expect(last).toMatchObject({ isDone: false, waiting: [{ trader: trader.account.address.toLowerCase() }], next: null });
    const { delegationTx } = last.waiting[0] ?? {};
    if (delegationTx) await trader.send(delegationTx.to, delegationTx.data);
    const out: string[] = [];
    await runCommand(['rotate', '--wallet', old, '--json'], {
      environment: { GATEWAY_URL: beside.url, OPERATOR_TOKEN: TOKEN },
      readText: () => '',
      clock: systemClock,
      write: (text) => void out.push(text),
      complain: (text) => void out.push(text),
    });
    expect(JSON.parse(out.join(''))).toMatchObject({ isDone: true, traders: 1_002, waiting: [], next: null });
    await operate(beside.url, 'POST', '/rotation', { wallet: old, isRetiring: false });
  });

  it('leaves traders to a wallet that another replica runs, and gives those of one that is gone to the next', async () => {
    const { trader } = await traderOf(old);
    expect(await assigned(trader)).toBe(old);
    const rest = (each: ChainConfig): ChainConfig => ({ ...each, relayer: { keys: () => [keys[1]], maxFeePerGas: 10n ** 13n } });
    const without = await startSecondGateway(
      { ...sandbox, config: { ...sandbox.config, chains: sandbox.config.chains.map(rest) } },
      { relays: true },
    );
    const walletThere = () => without.gateway.venues.get(CHAIN)?.relayer?.walletFor(trader.account.address.toLowerCase() as Address);
    try {
      expect(await walletThere()).toBe(old);
      await beside.stop();
      expect(await walletThere()).toBe(next);
    } finally {
      await without.stop();
    }
  });
});
