import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import type { ChainControls } from '../../sandbox/controls.js';
import { agentTrader, newAgentTrader, refusal, type AgentTrader, type Answer, type Json } from '../harness/traders/agent-trader.js';
import { startSecondGateway, type SecondGateway } from '../harness/venue/second-gateway.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import { checkExchange } from '../harness/checks/openapi-check.js';
import { windowStart } from '../../core/access/limits.js';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { signRequest } from '../harness/traders/signed-request.js';

/** Two gateways on one database, as behind a balancer: what one lets through, the other knows. */

const IP_LIMIT = 200;
const AGENT_LIMIT = 20;
const WRITE_LIMIT = 6;

let sandbox: TestVenue;
let chain: ChainControls;
let beside: SecondGateway;

beforeAll(async () => {
  sandbox = await startOwnVenue({
    RATE_LIMIT_IP: String(IP_LIMIT),
    RATE_LIMIT_AGENT: String(AGENT_LIMIT),
    RATE_LIMIT_AGENT_WRITES: String(WRITE_LIMIT),
    TRUSTED_PROXIES: '127.0.0.1',
  });
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(0, '60000');
  beside = await startSecondGateway(sandbox);
  await untilBothAreReady();
});
afterAll(async () => {
  await beside.stop();
  await sandbox.stop();
});

const untilBothAreReady = async (): Promise<void> => {
  for (const url of [sandbox.url, beside.url])
    for (let status = 0; status !== 200;) status = (await fetch(`${url}/ready`, { headers: newClient() })).status;
};

let clients = 0;
type Client = Readonly<Record<'X-Forwarded-For', string>>;
/** Another address each time; the proxy in front is trusted. */
const newClient = (): Client => ({ 'X-Forwarded-For': `198.51.${(clients += 1) >> 8}.${clients & 255}` });

/** Until the database has so many requests of a client in the minute, or the minute is over: gateways add theirs in the background. */
const untilCounted = (client: Client, minute: number, requests: number): Promise<unknown> =>
  eventually(
    () => sandbox.gateway.store.admission.addCounts(minute, [{ subject: `ip:${client['X-Forwarded-For']}`, requests: 0 }]),
    ([counted = 0]) => counted >= requests || windowStart(Date.now()) !== minute,
  );

/** The same world, asked through the other gateway. */
const throughBeside = (): TestVenue => ({
  ...sandbox,
  url: beside.url,
  async call(path, init) {
    const response = await fetch(`${beside.url}${path}`, init);
    const body: unknown = await response.json();
    checkExchange(init?.method ?? 'GET', path, response.status, body);
    return { status: response.status, headers: response.headers, body };
  },
});

/** Requests are counted by the minute: where one turned meanwhile, it is done again with another agent or address. */
async function inOneMinute<Result>(work: (minute: number) => Promise<Result>): Promise<Result> {
  for (;;) {
    const minute = windowStart(Date.now());
    const result = await work(minute);
    if (windowStart(Date.now()) === minute) return result;
  }
}

const twoWays = (agent: AgentTrader): readonly AgentTrader[] => [agent, agentTrader(throughBeside(), chain, agent.trader, agent.wallet)];

/** As many requests as asked for, by turns through both and all at once. */
const byTurns = (ways: readonly AgentTrader[], count: number, ask: (way: AgentTrader) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(
    Array.from({ length: Math.ceil(count / ways.length) }, () => ways.map(ask))
      .flat()
      .slice(0, count),
  );

const passed = (answers: readonly Answer[]): Answer[] => answers.filter(({ status }) => status < 300);
const order = (changes: Json = {}): Json => ({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10', ...changes });

describe('two gateways on one database', () => {
  it('share the reads of an agent, to the last one', async () => {
    const answers = await inOneMinute(async () =>
      byTurns(twoWays(await newAgentTrader(sandbox, chain)), AGENT_LIMIT + 10, (way) =>
        way.call('getAccount', 'GET', `/account/${way.trader.account.address}`, undefined, newClient()),
      ),
    );
    expect(passed(answers)).toHaveLength(AGENT_LIMIT);
    for (const answer of answers.filter(({ status }) => status >= 300))
      expect([refusal(answer), answer.body['details']]).toEqual([[429, 'RATE_LIMITED'], expect.objectContaining({ scope: 'agent' })]);
  });

  it('share the writes of an agent, to the last one', async () => {
    const answers = await inOneMinute(async () =>
      byTurns(twoWays(await newAgentTrader(sandbox, chain, { usdc: '100000' })), WRITE_LIMIT + 4, (way) =>
        way.call('createOrder', 'POST', '/orders', order(), newClient()),
      ),
    );
    expect(passed(answers)).toHaveLength(WRITE_LIMIT);
    for (const answer of answers.filter(({ status }) => status >= 300))
      expect([refusal(answer), answer.body['details']]).toEqual([
        [429, 'RATE_LIMITED'],
        expect.objectContaining({ scope: 'agent-writes' }),
      ]);
  });

  it('share the request count of an address, but for what the other lets through before it knows the count', async () => {
    const { here, there } = await inOneMinute(async (minute) => {
      const client = newClient();
      const ask = async (url: string): Promise<number> => (await fetch(`${url}/v1/arbitrum-sepolia`, { headers: client })).status;
      const answers = await Promise.all(Array.from({ length: IP_LIMIT + 20 }, () => ask(sandbox.url)));
      await untilCounted(client, minute, IP_LIMIT);
      let passedThere = 0;
      while ((await ask(beside.url)) === 200) {
        passedThere += 1;
        await untilCounted(client, minute, IP_LIMIT + passedThere);
      }
      return { here: answers, there: passedThere };
    });
    expect(here.filter((status) => status === 200)).toHaveLength(IP_LIMIT);
    // The first one; a second one only where it is counted before the answer to the first count is read.
    expect([1, 2]).toContain(there);
  });

  it('share a daily cap, however the orders are spread', async () => {
    const scope = { ...EVERYTHING, dailySpendCapUsd: '1000' };
    const ways = twoWays(await newAgentTrader(sandbox, chain, { usdc: '100000', scope }));
    const answers = await byTurns(ways, WRITE_LIMIT, (way) => way.call('createOrder', 'POST', '/orders', order(), newClient()));
    const refused = answers.filter(({ status }) => status >= 300);
    expect(refused.map(refusal)).toEqual(refused.map(() => [403, 'SCOPE_SPEND_CAP_EXCEEDED']));
    const { requestedUsd, capUsd } = refused[0]?.body['details'] as { requestedUsd: string; capUsd: string };
    expect(passed(answers)).toHaveLength(Math.floor(Number(capUsd) / Number(requestedUsd)));
  });

  it('make one order of one clientId that arrives at both', async () => {
    const ways = twoWays(await newAgentTrader(sandbox, chain, { usdc: '100000' }));
    const answers = await byTurns(ways, 4, (way) => way.call('createOrder', 'POST', '/orders', order({ clientId: 'once' }), newClient()));
    const ids = answers.map(({ body }) => (body['order'] as Json)['id']);
    expect(new Set(ids).size).toBe(1);
    const other = await ways[1]?.call('createOrder', 'POST', '/orders', order({ clientId: 'once', size: '0.06' }), newClient());
    expect(other && refusal(other)).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
  });

  it('take a signed request once, whichever of them it comes to', async () => {
    const { wallet, trader } = await newAgentTrader(sandbox, chain);
    const path = `/v1/arbitrum-sepolia/account/${trader.account.address}`;
    const headers = {
      ...(await signRequest(wallet, chain.definition, { operationId: 'getAccount', method: 'GET', path })),
      ...newClient(),
    };
    expect((await fetch(`${sandbox.url}${path}`, { headers })).status).toBe(200);
    const again = await fetch(`${beside.url}${path}`, { headers });
    expect([again.status, await again.json()]).toEqual([401, expect.objectContaining({ code: 'NONCE_REUSED' })]);
  });

  it('know an agent the moment the other has registered it', async () => {
    const stranger = agentTrader(throughBeside(), chain, (await newAgentTrader(sandbox, chain)).trader, new Wallet(generatePrivateKey()));
    expect(refusal(await stranger.create(order()))).toEqual([401, 'AGENT_UNKNOWN']);
    const known = await newAgentTrader(sandbox, chain, { usdc: '1000' });
    const [, other] = twoWays(known);
    expect((await other?.create(order()))?.status).toBe(201);
  });
});
