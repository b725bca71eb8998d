import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Wallet } from 'ethers';
import { decodeFunctionData, formatUnits, getAddress, parseEventLogs, zeroAddress, type Hex } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { controlCall } from '../harness/diamond/diamond-calls.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { eventually } from '../harness/time/eventually.js';
import { BUSY_AGENTS, newAgentTrader, type Json, type Prepared } from '../harness/traders/agent-trader.js';
import { operatorOf } from '../harness/venue/operator.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { domainOf, keyIssue, signWith } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const TOKEN = 'a-token-of-sixteen-or-more';
const OPERATOR = getAddress('0x00000000000000000000000000000000000a11ce');
const NATIVE = getAddress('0x0000000000000000000000000000000000000b0b');
const ALLY = getAddress('0x00000000000000000000000000000000000a11e5');

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  sandbox = await startOwnVenue({
    OPERATOR_TOKEN: TOKEN,
    REFERRER_ARBITRUM_SEPOLIA: OPERATOR,
    REFERRER_NATIVE_ARBITRUM_SEPOLIA: NATIVE,
    ...BUSY_AGENTS,
  });
  chain = firstChain(sandbox);
});
afterAll(() => sandbox.stop());

const control = (data: Hex) => operatorOf(chain).send(data);
const whitelist = (referrer: `0x${string}`) => control(controlCall('sandboxSetReferrer', [referrer, true]));
const asOperator = async (query: string): Promise<Json> =>
  (await sandbox.call(`/relayer/${query}`, { headers: { Authorization: `Bearer ${TOKEN}` } })).body as Json;
const line = async (address: string, check: string): Promise<{ ok: boolean; detail: string } | undefined> => {
  const { body } = await sandbox.get(`/v1/${FACADE_CHAIN}/readiness/${address}`);
  return (body as { lines: { check: string; ok: boolean; detail: string }[] }).lines.find((each) => each.check === check);
};

/** The referrer that an opening names, in a bare call or a delegated one. */
function referrerIn(data: Hex): string {
  const { functionName, args } = decodeFunctionData({ abi: diamondAbi, data });
  if (functionName === 'delegatedTradingAction') return referrerIn(args[1]);
  if (functionName === 'multicall') return referrerIn(args[0].at(-1) ?? '0x');
  if (functionName !== 'openTrade') throw new Error(`no opening: ${functionName}`);
  return args[2];
}

async function buy(who: FacadeTrader, wire: Partial<Parameters<typeof order>[0]> = {}): Promise<Hex> {
  const asked = order({ a: 0, b: true, p: '90000', s: '0.05', r: false, t: { limit: { tif: 'Ioc' } }, ...wire });
  const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(who.agentKey), orderAction(asked)));
  const [status] = (body as { response: { data: { statuses: Record<string, { oid: number }>[] } } }).response.data.statuses;
  const oid = status?.['filled']?.oid ?? status?.['resting']?.oid;
  if (oid === undefined) throw new Error(`not placed: ${JSON.stringify(body)}`);
  const stored = await sandbox.gateway.store.orders.find(FACADE_CHAIN, who.address.toLowerCase() as `0x${string}`, BigInt(oid));
  return stored?.hashes.at(-1) ?? '0x';
}

async function proofOf(who: FacadeTrader, hash: Hex): Promise<Record<string, string>> {
  const sign = signWith(new Wallet(who.trader.privateKey), await domainOf(sandbox));
  const { body } = await sandbox.post(`/v1/${FACADE_CHAIN}/api-keys`, await keyIssue(sign, who.address, 'proofs'));
  const headers = { 'X-Service-Api-Key': (body as { apiKey: string }).apiKey };
  return (await sandbox.get(`/v1/${FACADE_CHAIN}/account/${who.address}/proofs/${hash}`, headers)).body as Record<string, string>;
}

const SCRIPT = path.resolve(import.meta.dirname, '../../scripts/verify-proof.mjs');
async function problemsOf(proof: unknown): Promise<string[]> {
  const verifier = (await import(pathToFileURL(SCRIPT).href)) as { problemsOf: (proof: unknown) => Promise<string[]> };
  return verifier.problemsOf(proof);
}

async function rewardsOf(trader: `0x${string}`) {
  const { client } = operatorOf(chain);
  const logs = parseEventLogs({
    abi: diamondAbi,
    eventName: ['ReferrerRewardDistributed', 'AllyRewardDistributed', 'ReferrerRegistered'],
    logs: await client.getLogs({ address: chain.definition.diamond, fromBlock: 0n }),
  });
  return logs.filter(({ args }) => args.trader === getAddress(trader));
}

const usd = (amount: bigint): string => formatUnits(amount, 18);

describe('a referrer that the protocol has not whitelisted', () => {
  it('is reported to the operator at the start, and to traders before they trade', async () => {
    const { body } = await sandbox.get('/ready');
    const { notes } = (body as { chains: Record<string, { notes: string[] }> }).chains[FACADE_CHAIN] ?? { notes: [] };
    for (const referrer of [OPERATOR, NATIVE])
      expect(notes).toContain(
        `the protocol has not whitelisted ${referrer.toLowerCase()} as a referrer: openings name it, and it earns nothing`,
      );
    expect(sandbox.log.entries.filter(({ event }) => event === 'chain.differs')).toHaveLength(1);
    expect((await sandbox.get(`/v1/${FACADE_CHAIN}`)).body).toMatchObject({ referrer: OPERATOR, nativeReferrer: NATIVE });
    const { address } = await newFacadeTrader(sandbox);
    const future = await line(address, 'referrer');
    expect(future?.ok).toBe(true);
    expect(future?.detail).toMatch(
      /^The trader has no referrer: an opening through the facade makes 0x0+a11ce the referrer; one through the native API/,
    );
    expect(future?.detail).toContain('has not whitelisted');
  });

  it('is ignored by the contract', async () => {
    const who = await newFacadeTrader(sandbox);
    const proof = await proofOf(who, await buy(who));
    expect(referrerIn(proof['data'] as Hex)).toBe(OPERATOR);
    expect(await rewardsOf(who.address)).toEqual([]);
  });
});

describe('a whitelisted referrer', () => {
  let who: FacadeTrader;
  beforeAll(async () => {
    for (const referrer of [OPERATOR, NATIVE]) await whitelist(referrer);
    who = await newFacadeTrader(sandbox);
  });

  it('is named by the openings that the relayer sends, and the proof says so', async () => {
    const proof = await proofOf(who, await buy(who));
    expect(referrerIn(proof['data'] as Hex)).toBe(OPERATOR);
    expect(JSON.parse(proof['context'] ?? '{}')).toMatchObject({ context: { referrer: OPERATOR.toLowerCase() } });
    expect(await problemsOf(proof)).toEqual([]);
    for (const referrer of [undefined, ALLY]) {
      const context = JSON.parse(proof['context'] ?? '{}') as { context: Record<string, unknown> };
      const other = { ...context, context: { ...context.context, referrer } };
      expect((await problemsOf({ ...proof, context: JSON.stringify(other) })).join()).toContain('as the referrer');
    }
  });

  it('is named where a resting order is changed', async () => {
    const bot = await newFacadeTrader(sandbox);
    const wire = { a: 0, b: true, p: '40000', s: '0.05', r: false, t: { limit: { tif: 'Gtc' } } };
    const cloid = '0x000000000000000000000000000000a1';
    await buy(bot, { ...wire, c: cloid });
    const action = { type: 'modify', oid: cloid, order: order({ ...wire, p: '41000', c: cloid }) };
    const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(bot.agentKey), action));
    expect(body).toMatchObject({ status: 'ok' });
    const [changed] = await sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address.toLowerCase() as Hex);
    const stored = await sandbox.gateway.store.orders.find(FACADE_CHAIN, bot.address.toLowerCase() as Hex, changed?.id ?? 0n);
    const proof = await proofOf(bot, stored?.hashes.at(-1) ?? '0x');
    expect(JSON.parse(proof['context'] ?? '{}')).toMatchObject({ kind: 'replace' });
    expect(referrerIn(proof['data'] as Hex)).toBe(OPERATOR);
    expect(await problemsOf(proof)).toEqual([]);
  });

  it('earns a part of every fee, which stands beside the gas by trader and by day', async () => {
    await control(controlCall('sandboxSetReferrerAlly', [OPERATOR, ALLY]));
    await buy(who, { b: false, p: '30000', r: true });
    await control(controlCall('sandboxSetReferrerAlly', [OPERATOR, zeroAddress]));
    const logs = await rewardsOf(who.address);
    const earned = logs.filter(({ eventName }) => eventName === 'ReferrerRewardDistributed').map(({ args }) => args) as {
      amountGns: bigint;
      amountValueUsd: bigint;
      volumeUsd: bigint;
    }[];
    expect(earned).toHaveLength(2);
    const sum = (field: 'amountGns' | 'amountValueUsd' | 'volumeUsd'): bigint => earned.reduce((total, args) => total + args[field], 0n);
    const figures = { gns: usd(sum('amountGns')), usd: usd(sum('amountValueUsd')), volumeUsd: usd(sum('volumeUsd')) };
    expect(sum('amountValueUsd')).toBeGreaterThan(0n);
    const trader = who.address.toLowerCase();
    const costs = await eventually(
      () => asOperator(`costs?chain=${FACADE_CHAIN}&by=trader`),
      ({ rows }) => (rows as { key: string; earned: Json }[]).some(({ key, earned: { gns } }) => key === trader && gns === figures.gns),
    );
    expect((costs['rows'] as { key: string }[]).find(({ key }) => key === trader)).toMatchObject({ transactions: 2, earned: figures });
    expect(costs['earned']).toMatchObject({ referrers: [OPERATOR.toLowerCase(), NATIVE.toLowerCase()], registered: 2, ...figures });
    const byDay = await asOperator(`earnings?chain=${FACADE_CHAIN}&by=day`);
    expect(byDay['rows']).toEqual([{ key: new Date(sandbox.gateway.clock.now()).toISOString().slice(0, 10), ...figures }]);
    expect((await asOperator(`earnings?chain=${FACADE_CHAIN}&referrer=${ALLY}`))['rows']).toMatchObject([{ key: trader }]);
  });

  it('stays the referrer of the trader, and readiness says so', async () => {
    expect((await line(who.address, 'referrer'))?.detail).toBe(`The referrer of the trader is ${OPERATOR.toLowerCase()}, and stays so.`);
  });

  it('claims, which the ledger shows', async () => {
    await control(controlCall('sandboxClaimReferrerRewards', [OPERATOR]));
    const { earned } = (await eventually(
      () => asOperator(`costs?chain=${FACADE_CHAIN}`),
      (body) => (body['earned'] as Json)['claimedGns'] !== '0',
    )) as { earned: Json };
    expect(earned['claimedGns']).toBe(earned['gns']);
  });

  it('loses what a reorganisation takes back', async () => {
    const other = await newFacadeTrader(sandbox);
    const trader = other.address.toLowerCase();
    const keys = async (): Promise<string[]> =>
      ((await asOperator(`earnings?chain=${FACADE_CHAIN}`))['rows'] as { key: string }[]).map(({ key }) => key);
    const hash = await buy(other);
    await eventually(keys, (found) => found.includes(trader));
    const { client } = other.trader;
    const { blockNumber } = await client.getTransactionReceipt({ hash });
    await reorgAway(chain, client, blockNumber);
    await eventually(keys, (found) => !found.includes(trader));
  });
});

describe('an order of an agent that pays its own gas', () => {
  const limit = { market: 'BTC/USD', side: 'long', type: 'limit', size: '0.05', leverage: '10', price: '40000' };

  it.each([
    ['names the referrer of the settings when it names none', {}, NATIVE],
    ['names its own', { referrer: ALLY }, ALLY],
    ['names none when it says so', { referrer: zeroAddress }, zeroAddress],
  ])('%s', async (_title, named, expected) => {
    const agent = await newAgentTrader(sandbox, chain);
    const { status, body } = await agent.create({ ...limit, ...named });
    expect(status).toBe(201);
    expect(referrerIn((body['transaction'] as Prepared).data)).toBe(expected);
  });

  it('is the same order when the referrer of the settings is written out, and another when it is not that one', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const named = { ...limit, clientId: 'referred' };
    const first = await agent.create(named);
    const again = await agent.create({ ...named, referrer: NATIVE });
    expect([again.status, again.body['order']]).toEqual([201, first.body['order']]);
    expect(await agent.create({ ...named, referrer: ALLY })).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_CONFLICT' } });
  });

  it('takes no referrer where it only reduces', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const { status, body } = await agent.create({
      market: 'BTC/USD',
      side: 'short',
      type: 'market',
      size: '1',
      reduceOnly: true,
      referrer: ALLY,
    });
    expect([status, body['code']]).toEqual([400, 'VALIDATION_ERROR']);
  });
});
