import ccxt from 'ccxt';
import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { WebSocket } from 'ws';
import { agentsOf, authorization, domainOf, signWith } from '../harness/traders/master-wallet.js';
import { approveAgent, order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { agentTrader, newAgentTrader, type AgentTrader } from '../harness/traders/agent-trader.js';
import { chainTrader } from '../harness/traders/chain-trader.js';
import { signRequest } from '../harness/traders/signed-request.js';
import { MARKET, tradingVenue } from '../harness/venue/trading-venue.js';
import type { TestVenue } from '../harness/venue/own-venue.js';

/** The mistakes of the first five minutes: each answer says what to do. */
const MINUTE_MS = 60_000;
const TESTNET = { network: 'Testnet' } as const;

let sandbox: TestVenue;

beforeAll(async () => ({ sandbox } = await tradingVenue()));
afterAll(() => sandbox.stop());

const newKey = (): Wallet => new Wallet(generatePrivateKey());
const post = (body: unknown) => postExchange(sandbox.url, FACADE_CHAIN, body);
const errorOf = ({ body }: { body: unknown }): string => {
  const { response } = body as { response: string | { data: { statuses: { error?: string }[] } } };
  return typeof response === 'string' ? response : (response.data.statuses[0]?.error ?? '');
};

interface Equipment {
  readonly usdc?: string;
  readonly approve?: boolean;
  readonly isDelegated?: boolean;
}

const newWallet = async ({ usdc = '10000', approve = true, isDelegated = true }: Equipment): Promise<Wallet> => {
  const delegate = isDelegated ? sandbox.controls.relayer : null;
  return new Wallet((await firstChain(sandbox).faucet.createTrader({ usdc, eth: '1', approve, delegate })).privateKey);
};

describe('an order on the facade', () => {
  const refusal = async (equipment: Equipment): Promise<{ master: Wallet; text: string }> => {
    const [master, agent] = [await newWallet(equipment), newKey()];
    expect(await post(await approveAgent(master, agent.address, null, TESTNET))).toMatchObject({ body: { status: 'ok' } });
    return { master, text: errorOf(await post(await signL1(agent, orderAction(order({ p: '66000' }))))) };
  };

  it('without funds says how much is missing, and where it belongs', async () => {
    const { text } = await refusal({ usdc: '0' });
    expect(text).toMatch(
      /^Insufficient margin to place order\. The order takes [\d.]+ USDC from the trader's wallet, which holds 0: send USDC to it, or order less\. asset=0$/,
    );
  });

  it('without an allowance says where the transaction is that gives one', async () => {
    const { text, master } = await refusal({ approve: false });
    expect(text).toMatch(/which lets the contracts take 0: let the trader approve more; GET \/v1\/\{chain\}\/readiness\/\{address\} has/);
    const { body } = await sandbox.get(`/v1/${FACADE_CHAIN}/readiness/${master.address}`);
    const { lines } = body as { lines: { check: string; ok: boolean; fix: { transaction: unknown } | null }[] };
    expect(lines.find(({ check }) => check === 'allowance')).toMatchObject({
      ok: false,
      fix: { transaction: { data: expect.any(String) } },
    });
  });

  it('without a delegation names the call, and brings the transaction', async () => {
    const { text } = await refusal({ isDelegated: false });
    expect(text).toContain(`let the trader send setTradingDelegate(${sandbox.controls.relayer.toLowerCase()}) first`);
  });

  it('by a clock that is off by a minute is taken, as on Hyperliquid; where time counts the answer says the difference', async () => {
    const { agentKey } = await newFacadeTrader(sandbox);
    const agent = new Wallet(agentKey);
    const nonce = Date.now() - MINUTE_MS;
    expect(await post(await signL1(agent, { type: 'noop' }, { nonce }))).toMatchObject({ body: { status: 'ok' } });
    const late = await signL1(agent, orderAction(), { expiresAfter: Date.now() - MINUTE_MS });
    expect(errorOf(await post(late))).toMatch(
      /^Action already expired\. Its expiresAfter \d+ is 6\d\.\d s behind the server's clock, \d+: set the/,
    );
    const scheduled = await signL1(agent, { type: 'scheduleCancel', time: Date.now() - MINUTE_MS });
    expect(errorOf(await post(scheduled))).toMatch(/at least 5 seconds ahead\. The time \d+ is 6\d\.\d s behind the server's clock/);
    const old = await signL1(agent, { type: 'noop' }, { nonce: Date.now() - 3 * 86_400_000 });
    expect(errorOf(await post(old))).toMatch(/^Invalid nonce: nonce too low .* is 2592\d\d\.\d s behind the server's clock/);
    const seconds = await signL1(agent, { type: 'noop' }, { nonce: Math.floor(Date.now() / 1000) });
    expect(errorOf(await post(seconds))).toMatch(/^Invalid nonce: nonce too low .* is in seconds: it has to be in milliseconds/);
  });

  it('signed with another network word says which two there are', async () => {
    const { agentKey } = await newFacadeTrader(sandbox);
    const text = errorOf(await post(await signL1(new Wallet(agentKey), orderAction(), { source: 'Testnet' })));
    expect(text).toMatch(
      /^User or API Wallet 0x\w+ does not exist\. Signed by agent .* neither "a" nor "b": sign with "a" as on mainnet, or/,
    );
    const master = await newWallet({});
    const signed = await approveAgent(master, newKey().address, null, TESTNET);
    const other = { ...signed, action: { ...signed.action, hyperliquidChain: 'testnet' } };
    expect((await post(other)).body).toMatchObject({ message: expect.stringContaining('hyperliquidChain: must be Mainnet or Testnet') });
  });

  it('approved with one network word and sent with the other says which fields to compare', async () => {
    const { agentNameTag } = (await sandbox.get(`/v1/${FACADE_CHAIN}`)).body as { agentNameTag: string };
    const signed = await approveAgent(await newWallet({}), newKey().address, agentNameTag, TESTNET);
    const text = errorOf(await post({ ...signed, action: { ...signed.action, hyperliquidChain: 'Mainnet' } }));
    expect(text).toMatch(/^Must deposit before performing actions\. .* compare hyperliquidChain, signatureChainId and nonce\./);
  });
});

describe('an order on the native API', () => {
  const self = async (equipment: Equipment): Promise<AgentTrader> => {
    const wallet = await newWallet({ ...equipment, isDelegated: false });
    const domain = await domainOf(sandbox);
    const body = await authorization(domain, signWith(wallet, domain), { trader: wallet.address, agent: wallet.address });
    expect((await agentsOf(sandbox, FACADE_CHAIN).create(body)).status).toBe(201);
    const chain = firstChain(sandbox);
    return agentTrader(sandbox, chain, chainTrader(chain, wallet.privateKey as `0x${string}`), wallet);
  };
  const said = async (agent: AgentTrader): Promise<unknown> => (await agent.create(MARKET)).body['message'];

  it('without funds, or without an allowance, says what to do', async () => {
    expect(await said(await self({ usdc: '0' }))).toMatch(
      /^[\d.]+ USDC is needed; the trader holds 0 and lets the contracts take any amount: send USDC to the trader, or order less\.$/,
    );
    expect(await said(await self({ approve: false }))).toMatch(
      /the trader holds 10000 and lets the contracts take 0: the trader has to send details\.approvalTx first\.$/,
    );
  });

  it('by an agent that is unknown, or not delegated, says what the trader has to do', async () => {
    const chain = firstChain(sandbox);
    const [trader, agent, domain] = [await newWallet({ isDelegated: false }), newKey(), await domainOf(sandbox)];
    const bot = agentTrader(sandbox, chain, chainTrader(chain, trader.privateKey as `0x${string}`), agent);
    expect(await said(bot)).toMatch(
      /is registered on this chain: let the trader sign an AgentAuthorization .* POST \/v1\/\{chain\}\/agents\.$/,
    );
    const body = await authorization(domain, signWith(trader, domain), { trader: trader.address, agent: agent.address });
    await agentsOf(sandbox, FACADE_CHAIN).create(body);
    expect(await said(bot)).toMatch(/^The trading delegate of 0x\w+ is not set; the trader has to send details\.delegationTx first\.$/);
  });

  it('by a clock that is off says by how much', async () => {
    const { wallet, trader } = await newAgentTrader(sandbox, firstChain(sandbox));
    const path = `/v1/${FACADE_CHAIN}/account/${trader.account.address}/positions`;
    const read = async (timestamp: number): Promise<unknown> => {
      const signed = { operationId: 'listPositions', method: 'GET', path, timestamp };
      const { body } = await sandbox.get(path, await signRequest(wallet, firstChain(sandbox).definition, signed));
      return (body as { message: string }).message;
    };
    expect(await read(Date.now() - MINUTE_MS)).toMatch(
      /^The timestamp \d+ is 6\d\.\d s behind the server's clock, \d+: set the clock of the client\. At most 30 s are accepted\.$/,
    );
    expect(await read(Date.now() + 2 * MINUTE_MS)).toMatch(/ is 1[12]\d\.\d s ahead of the server's clock/);
    expect(await read(Math.floor(Date.now() / 1000))).toMatch(/ is in seconds: it has to be in milliseconds, now \d+\./);
  });
});

describe('a wrong base URL', () => {
  const bodyOf = async (path: string, method = 'POST'): Promise<[number, string]> => {
    const body = method === 'POST' ? { body: JSON.stringify({ type: 'meta' }) } : {};
    const response = await fetch(`${sandbox.url}${path}`, { method, headers: { 'Content-Type': 'application/json' }, ...body });
    return [response.status, await response.text()];
  };
  const upgrade = (path: string): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${sandbox.url.replace('http', 'ws')}${path}`);
      socket.on('open', () => reject(new Error(`${path} was opened`)));
      socket.on('error', () => undefined);
      socket.on('unexpected-response', (_request, response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve([response.statusCode ?? 0, text]));
      });
    });

  it.each([
    ['/hl/info', 'The URL names no chain; served: arbitrum-sepolia.'],
    ['/hl//exchange', 'The URL names no chain; served: arbitrum-sepolia.'],
    ['/hl', 'ends with the chain: /hl/arbitrum-sepolia'],
    ['/hl/arbitrum-sepolia', 'is a base URL: POST /hl/arbitrum-sepolia/info'],
    ['/hl/base/info', 'There is no chain "base" here; served: arbitrum-sepolia.'],
    ['/HL/arbitrum-sepolia/info', 'small letters: /hl/arbitrum-sepolia'],
    ['/info', 'info is at /hl/arbitrum-sepolia/info.'],
    ['/exchange', 'exchange is at /hl/arbitrum-sepolia/exchange.'],
    ['/arbitrum-sepolia/info', 'info is at /hl/arbitrum-sepolia/info.'],
  ])('of a bot, %s, is answered with the right one', async (path, sentence) => {
    const [status, text] = await bodyOf(path);
    expect(status).toBe(404);
    expect(text).toContain(sentence);
  });

  it.each([['/hl/arbitrum-sepolia/info/'], ['/hl/arbitrum-sepolia//info'], ['//hl/arbitrum-sepolia/info']])(
    'of a bot with a slash too many, %s, is understood',
    async (path) => expect((await bodyOf(path))[0]).toBe(200),
  );

  it.each([
    ['/v1', 404, 'ends with the chain: /v1/arbitrum-sepolia'],
    ['/v1/base/markets', 404, 'served: arbitrum-sepolia.'],
    ['/v1/arbitrum-sepolia/markets/', 422, 'single slashes and none at the end: /v1/arbitrum-sepolia/markets.'],
    ['/v1/arbitrum-sepolia//markets', 422, 'single slashes and none at the end: /v1/arbitrum-sepolia/markets.'],
    ['//v1/arbitrum-sepolia/markets', 404, 'single slashes and none at the end: /v1/arbitrum-sepolia/markets.'],
    ['/v1/arbitrum-sepolia/info', 422, 'info is at /hl/arbitrum-sepolia/info.'],
    ['/v1/arbitrum-sepolia/nothing', 422, 'GET /docs lists every operation.'],
    ['/v1/arbitrum-sepolia/ws', 422, '/v1/arbitrum-sepolia/ws is a WebSocket: ask for an upgrade.'],
    ['/arbitrum-sepolia/markets', 404, 'The native API is at /v1/arbitrum-sepolia'],
    ['/markets', 404, 'The native API is at /v1/{chain}'],
  ])('of the native API, %s, is answered with the right one', async (path, status, sentence) => {
    expect(await bodyOf(path, 'GET')).toEqual([status, expect.stringContaining(sentence)]);
  });

  it.each([
    ['/ws', '/hl/{chain}/ws'],
    ['/hl/ws', '/hl/arbitrum-sepolia'],
    ['/hl/base/ws', 'served: arbitrum-sepolia'],
    ['/hl/arbitrum-sepolia', 'WS /hl/arbitrum-sepolia/ws'],
  ])('of a stream, %s, is answered with the right one', async (path, sentence) => {
    expect(await upgrade(path)).toEqual([404, expect.stringContaining(sentence)]);
  });
});

describe("ccxt's setSandboxMode", () => {
  const base = (): string => `${sandbox.url}/hl/${FACADE_CHAIN}`;

  it('leads away from here unless the address stands under test as well', () => {
    const urls = { api: { public: base(), private: base() } };
    const lost = new ccxt.hyperliquid({ urls });
    lost.setSandboxMode(true);
    expect(lost.urls.api).toMatchObject({ public: 'https://api.hyperliquid-testnet.xyz' });
  });

  it('is harmless then: the bot trades here, signing as on testnet', async () => {
    const { address, agentKey } = await newFacadeTrader(sandbox);
    const urls = { public: base(), private: base() };
    const bot = new ccxt.hyperliquid({
      walletAddress: address,
      privateKey: agentKey,
      enableRateLimit: false,
      timeout: 110_000, // its own 10 s are too few on a busy machine
      urls: { api: urls, test: urls },
    });
    bot.setSandboxMode(true);
    await bot.loadMarkets();
    const opened = await bot.createOrder('BTC/USDC:USDC', 'limit', 'buy', 0.02, 40_000);
    expect(await bot.fetchOpenOrders('BTC/USDC:USDC')).toMatchObject([{ id: opened.id }]);
  });
});
