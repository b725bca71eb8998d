import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { createFaultProxy } from '../../sandbox/fault-proxy.js';
import { BUSY_AGENTS, newAgentTrader, refusal, type AgentTrader } from '../harness/traders/agent-trader.js';
import { createTestDatabase } from '../harness/database/test-database.js';
import { readyOf, without } from '../harness/venue/chain-facts.js';
import { eventually } from '../harness/time/eventually.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startSecondGateway, type SecondGateway } from '../harness/venue/second-gateway.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { agentsOf, authorization, domainOf, signWith } from '../harness/traders/master-wallet.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { closeFaultyNodes } from '../harness/servers/faulty-node.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { startTamperingProxy } from '../harness/servers/tampering-proxy.js';

const SLUG = 'arbitrum-sepolia';
const UPDATE_LEVERAGE = '0x0bce9aaa';
const SET_DELEGATE = '0x604755cf';
const NOTES = [
  `the Diamond does not serve updateLeverage (${UPDATE_LEVERAGE}): changing leverage and margin is off`,
  `the Diamond does not serve setTradingDelegate (${SET_DELEGATE}): delegating to an agent is off`,
];

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let position: string;

beforeAll(async () => {
  sandbox = await startOwnVenue({ ...BUSY_AGENTS, SANDBOX_CHAINS: `${SLUG},polygon` });
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(0, '60000');
  agent = await newAgentTrader(sandbox, chain);
  await agent.place({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' }, 'filled');
  position = String((await agent.position())['id']);
});
afterEach(closeFaultyNodes);
afterAll(() => sandbox.stop());

const notesOf = async (from: Pick<SecondGateway, 'get'> = sandbox) => (await readyOf(from)).chains[SLUG]?.notes;

/** Registers an agent of the same trader. */
async function register({ address }: { readonly address: string }) {
  const domain = await domainOf(sandbox, SLUG);
  const sign = signWith(new Wallet(agent.trader.privateKey), domain);
  return agentsOf(sandbox, SLUG).create(await authorization(domain, sign, { trader: agent.trader.account.address, agent: address }));
}

/** A node that came back is asked again what its contracts serve, but not sooner than this after the last time. */
const SOONEST_MS = 5_000;

/** The node is gone for a moment, as far as the gateway can see. */
async function loseNode(): Promise<void> {
  chain.setRpcFault({ mode: 'down' });
  await eventually(
    () => readyOf(sandbox),
    ({ chains }) => chains[SLUG]?.ready === false,
  );
  sandbox.clock.move(SOONEST_MS);
  chain.setRpcFault({ mode: 'ok' });
  await eventually(
    () => readyOf(sandbox),
    ({ ready }) => ready,
  );
}

describe('a gateway in front of contracts that are as expected', () => {
  it('has nothing to note', async () => {
    expect(await readyOf(sandbox)).toMatchObject({ ready: true, chains: { [SLUG]: { notes: [] }, polygon: { notes: [] } } });
  });
});

describe('a contract that lost a function while its node was away', () => {
  it('turns off exactly the writes that need it, on both front ends, and says so', async () => {
    const bot = await newFacadeTrader(sandbox);
    const send = async (action: Record<string, unknown>) =>
      (await postExchange(sandbox.url, SLUG, await signL1(new Wallet(bot.agentKey), action))).body;
    const buy = order({ a: 0, b: true, p: '63000', s: '0.02', r: false, t: { limit: { tif: 'Ioc' } } });
    expect(JSON.stringify(await send({ type: 'order', orders: [buy], grouping: 'na' }))).toContain('filled');
    await without(sandbox, [UPDATE_LEVERAGE, SET_DELEGATE], async () => {
      await loseNode();
      expect(await eventually(notesOf, (notes) => notes?.length === 2)).toEqual(NOTES);
      expect((await readyOf(sandbox)).chains['polygon']?.notes).toEqual([]);
      const refused = await agent.adjust(position, { leverage: '5' });
      expect([refusal(refused), refused.body['message']]).toEqual([
        [422, 'UNSUPPORTED'],
        `The contracts on ${SLUG} do not serve updateLeverage, which this needs.`,
      ]);
      expect(await register(new Wallet(generatePrivateKey()))).toMatchObject({
        status: 422,
        body: { code: 'UNSUPPORTED', message: expect.stringContaining('setTradingDelegate') },
      });
      expect((await register(agent.wallet)).status).toBe(201);
      expect((await agent.adjust(position, { tp: '71000' })).status).toBe(200);
      expect((await agent.close(position)).status).toBe(200);
      expect(await send({ type: 'updateIsolatedMargin', asset: 0, isBuy: true, ntli: 30_000_000 })).toEqual({
        status: 'err',
        response: expect.stringContaining('do not serve updateLeverage'),
      });
      const sell = order({ a: 0, b: false, p: '57000', s: '0.02', r: true, t: { limit: { tif: 'Ioc' } } });
      expect(JSON.stringify(await send({ type: 'order', orders: [sell], grouping: 'na' }))).toContain('filled');
    });
    await loseNode();
    await eventually(notesOf, (notes) => notes?.length === 0);
    expect((await agent.adjust(position, { leverage: '5' })).status).toBe(200);
  });
});

describe('a node of another chain', () => {
  it('closes that chain alone', async () => {
    const url = await startTamperingProxy(chain.rpcUrl, (call, answer) =>
      call.method === 'eth_chainId' ? { ...answer, result: '0x1' } : answer,
    );
    const chains = sandbox.config.chains.map((config) => (config.chain.slug === SLUG ? { ...config, rpcUrls: [url], wsUrls: [] } : config));
    const other = await startSecondGateway({ ...sandbox, config: { ...sandbox.config, chains } });
    try {
      const reason = `the node serves chain id 1, but ${SLUG} is 421614`;
      const { chains } = await eventually(
        () => readyOf(other),
        ({ chains }) => chains['polygon']?.ready === true && JSON.stringify(chains[SLUG]?.reasons).includes(reason),
      );
      expect(chains[SLUG]).toMatchObject({ ready: false, notes: [] });
      expect((await other.get('/health')).status).toBe(200);
      expect((await other.get('/v1/polygon/markets')).status).toBe(200);
    } finally {
      await other.stop();
    }
  });
});

describe('a gateway that ends while a node is asked again what its contracts serve', () => {
  it('waits for the answer: nothing of it goes on afterwards', async () => {
    const proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
    const clock = createShiftedClock();
    const other = await startSecondGateway(sandbox, { clock, hosts: { rpcUrls: [proxy.url] } });
    const steps: string[] = [];
    try {
      await eventually(
        () => other.gateway.venues.get(SLUG)?.state.head ?? null,
        (head) => head !== null,
      );
      let answer: () => void = () => undefined;
      const held = new Promise<undefined>((resolve) => (answer = () => resolve(undefined)));
      proxy.onRequest((body) => {
        if (!JSON.stringify(body).includes('eth_getCode')) return undefined;
        steps.push('asked');
        return held;
      });
      clock.move(11 * 60_000);
      await eventually(
        () => steps.length,
        (asked) => asked > 0,
      );
      // Longer than everything else takes to end.
      systemClock.after(1_500, () => {
        steps.push('answered');
        answer();
      });
      await other.stop();
      steps.push('ended');
      expect(steps.slice(-2)).toEqual(['answered', 'ended']);
    } finally {
      await other.stop();
      await proxy.close();
    }
  });
});

describe('a chain whose events have to be confirmed', () => {
  it('is followed that many blocks behind its head, and is ready', async () => {
    const database = await createTestDatabase();
    const chains = sandbox.config.chains
      .filter(({ chain: { slug } }) => slug === SLUG)
      .map((config) => ({ ...config, confirmations: 7, startBlock: 1n }));
    const config = { ...sandbox.config, chains, database: { kind: 'server' as const, url: database.url } };
    const other = await startSecondGateway({ ...sandbox, config });
    await chain.pauseMining(true);
    try {
      const state = other.gateway.venues.get(SLUG)?.state;
      const behind = (): bigint | null =>
        state?.head && state.followed.block !== null ? state.head.block.number - state.followed.block : null;
      await eventually(
        () => readyOf(other),
        ({ ready }) => ready,
      );
      await eventually(behind, (blocks) => blocks === 7n);
      const before = state?.followed.block ?? 0n;
      await chain.mine(3);
      await eventually(
        () => state?.followed.block,
        (block) => block === before + 3n,
      );
      expect(behind()).toBe(7n);
    } finally {
      await chain.pauseMining(false);
      await other.stop();
      await database.drop();
    }
  });
});
