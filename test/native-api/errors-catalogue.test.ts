import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { CATALOGUE, type ErrorCode } from '../../core/errors.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, refusal, type AgentTrader, type Answer, type Json } from '../harness/traders/agent-trader.js';
import { newTrader } from '../harness/traders/chain-trader.js';
import { diamondCall } from '../harness/diamond/diamond-calls.js';
import { eventually, until } from '../harness/time/eventually.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { agentsOf, domainOf, EVERYTHING, revocation, signWith, type ScopeBody } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { setClassOpen } from '../harness/venue/market-hours.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { signRequest } from '../harness/traders/signed-request.js';

/** Each code of the catalogue, brought about by what a client or the world can do, and answered with its own status. */

const WRITE_LIMIT = 24;
let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

beforeAll(async () => {
  sandbox = await startOwnVenue({ RATE_LIMIT_AGENT_WRITES: String(WRITE_LIMIT) });
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(0, '60000');
  agent = await newAgentTrader(sandbox, chain, { usdc: '1000000' });
});
afterAll(() => sandbox.stop());

const V1 = '/v1/arbitrum-sepolia';
const order = (changes: Json = {}): Json => ({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10', ...changes });
const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> => call(path, { headers });
const call = async (path: string, init: RequestInit): Promise<Answer> => {
  const { status, headers, body } = await sandbox.call(path, init);
  return { status, headers, body: body as Json };
};
const account = (): string => `${V1}/account/${agent.trader.account.address}`;
const signed = (wallet: Wallet, options: { timestamp?: number } = {}): Promise<Record<string, string>> =>
  signRequest(wallet, chain.definition, { operationId: 'getAccount', method: 'GET', path: account(), ...options });
const scoped = async (scope: Partial<ScopeBody>, body: Json): Promise<Answer> =>
  (await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, ...scope } })).create(body);
const NOBODY = 'ord_00000000-0000-7000-8000-000000000000';

async function twice(): Promise<Answer> {
  const headers = await signed(agent.wallet);
  await get(account(), headers);
  return get(account(), headers);
}

async function revoked(): Promise<Answer> {
  const own = await newAgentTrader(sandbox, chain);
  const { privateKey, account: trader } = own.trader;
  const sign = signWith(new Wallet(privateKey), await domainOf(sandbox));
  await agentsOf(sandbox).revoke(own.wallet.address, await revocation(sign, trader.address, own.wallet.address));
  return own.create(order());
}

async function expired(): Promise<Answer> {
  const expiresAt = Date.now() + 3_000;
  const own = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, expiresAt } });
  await until(() => Date.now() > expiresAt);
  return own.create(order());
}

async function undelegated(): Promise<Answer> {
  const own = await newAgentTrader(sandbox, chain);
  await own.trader.send(chain.definition.diamond, diamondCall('removeTradingDelegate', []));
  return own.create(order());
}

async function canceledThenChanged(): Promise<Answer> {
  const id = String(done(await agent.create(order({ type: 'limit', price: '50000' }))).order['id']);
  await agent.cancel(id);
  return agent.update(id, { price: '51000' });
}

async function conflict(): Promise<Answer> {
  await agent.create(order({ clientId: 'one' }));
  return agent.create(order({ clientId: 'one', size: '0.06' }));
}

async function shut(): Promise<Answer> {
  setClassOpen(sandbox, 9, false);
  await eventually(
    () => get(`${V1}/markets/EUR-USD`),
    ({ body }) => body['isOpen'] === false,
  );
  const answer = await agent.create(order({ market: 'EUR/USD', size: '1000' }));
  setClassOpen(sandbox, 9, true);
  return answer;
}

async function submittedElsewhere(): Promise<Answer> {
  const id = String(done(await agent.create(order())).order['id']);
  return agent.submit(id, await (await newTrader(chain)).open({ tradeType: 1 }));
}

async function crowded(): Promise<Answer> {
  const own = await newAgentTrader(sandbox, chain);
  // Again where the minute turned between them.
  const refused = await eventually(
    async () => (await Promise.all(Array.from({ length: WRITE_LIMIT + 1 }, () => own.cancel(NOBODY)))).find(({ status }) => status !== 404),
    (found) => found !== undefined,
  );
  return refused ?? own.cancel(NOBODY);
}

async function nodeGone(): Promise<Answer> {
  chain.setRpcFault({ mode: 'down' });
  try {
    return await agent.create(order());
  } finally {
    chain.setRpcFault({ mode: 'ok' });
  }
}

async function notLoaded(): Promise<Answer> {
  const beside = await startSecondGateway(sandbox, { hosts: { backendUrl: 'http://127.0.0.1:9' } });
  const { status, headers, body } = await beside.get(`${V1}/markets`);
  await beside.stop();
  return { status, headers, body: body as Json };
}

/** Typed by the catalogue's keys: a new code without a way to it does not compile. */
const WAYS: Readonly<Record<ErrorCode, (() => Promise<Answer>) | string>> = {
  VALIDATION_ERROR: () => get(`${V1}/readiness/0x12`),
  UNAUTHENTICATED: () => get(account()),
  INVALID_SIGNATURE: async () =>
    get(account(), { ...(await signed(new Wallet(agent.trader.privateKey))), 'X-Service-Agent': agent.wallet.address }),
  TIMESTAMP_OUT_OF_WINDOW: async () => get(account(), await signed(agent.wallet, { timestamp: Date.now() - 120_000 })),
  NONCE_REUSED: twice,
  AGENT_UNKNOWN: async () => get(account(), await signed(new Wallet(generatePrivateKey()))),
  API_KEY_UNKNOWN: () => get(account(), { 'X-Service-Api-Key': 'dgk_unknown' }),
  AGENT_NOT_DELEGATED: undelegated,
  AGENT_EXPIRED: expired,
  AGENT_REVOKED: revoked,
  SCOPE_READ_ONLY: () => scoped({ permissions: 'read' }, order()),
  SCOPE_MARKET_NOT_ALLOWED: () => scoped({ markets: ['ETH/USD'] }, order()),
  SCOPE_LEVERAGE_EXCEEDED: () => scoped({ maxLeverage: '5' }, order()),
  SCOPE_SPEND_CAP_EXCEEDED: () => scoped({ dailySpendCapUsd: '10' }, order()),
  TRADER_MISMATCH: () => agent.call('getAccount', 'GET', `/account/${new Wallet(generatePrivateKey()).address}`),
  CHAIN_NOT_FOUND: () => get('/v1/solana/markets'),
  MARKET_NOT_FOUND: () => get(`${V1}/markets/NOPE-USD`),
  ORDER_NOT_FOUND: () => agent.cancel(NOBODY),
  POSITION_NOT_FOUND: () => agent.close('pos_none'),
  AGENT_NOT_FOUND: () => get(`${V1}/agents/${new Wallet(generatePrivateKey()).address}`),
  IDEMPOTENCY_CONFLICT: conflict,
  ORDER_NOT_MODIFIABLE: canceledThenChanged,
  PRECISION_ERROR: () => agent.create(order({ size: '0.123456785' })),
  LEVERAGE_OUT_OF_RANGE: () => agent.create(order({ leverage: '1000' })),
  SIZE_BELOW_MINIMUM: () => agent.create(order({ size: '0.0001' })),
  MARKET_CLOSED: shut,
  COLLATERAL_NOT_SUPPORTED: () => agent.create(order({ collateral: 'DOGE' })),
  SIMULATION_REVERTED: async () => (await newAgentTrader(sandbox, chain, { usdc: '10' })).create(order()),
  SUBMISSION_MISMATCH: submittedElsewhere,
  UNSUPPORTED: () => get(`${V1}/nothing`),
  RATE_LIMITED: crowded,
  INTERNAL: 'nothing a client can send brings it about; limits.test.ts breaks an operation of its own',
  UPSTREAM_UNAVAILABLE: nodeGone,
  NOT_READY: notLoaded,
  CHAIN_READ_ONLY: 'answered by the facade alone, see its tests',
};

const reachable = Object.entries(WAYS).flatMap(([code, way]) => (typeof way === 'string' ? [] : [[code as ErrorCode, way] as const]));

describe('over HTTP', () => {
  it.each(reachable)('%s is answered with its status and a sentence', async (code, way) => {
    const answer = await way();
    expect(refusal(answer)).toEqual([CATALOGUE[code].status, code]);
    expect(answer.body['message']).toEqual(expect.stringMatching(/^.{10,}$/));
  });
});
