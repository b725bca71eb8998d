import { Wallet } from 'ethers';
import { BUSY_AGENTS, newAgentTrader, type AgentTrader } from '../harness/traders/agent-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { openDatabaseLine, type DatabaseProxy } from '../harness/process/database-proxy.js';
import { createTestDatabase, type TestDatabase } from '../harness/database/test-database.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** What a request costs the database that all replicas share: counted on the wire, between a running gateway and its server. */

const REQUESTS = 40;
const BOT_ORDERS = 6;
const BASE = '/v1/arbitrum-sepolia';

let database: TestDatabase;
let proxy: DatabaseProxy;
let sandbox: TestVenue;
let agent: AgentTrader;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await openDatabaseLine(database.url);
  sandbox = await startOwnVenue({ ...BUSY_AGENTS, SANDBOX_BLOCK_MS: '500', DATABASE_URL: proxy.url });
  agent = await newAgentTrader(sandbox, firstChain(sandbox));
});
afterAll(async () => {
  await sandbox.stop();
  await proxy.close();
  await database.drop();
});

/** Statements that ran with every request. Statements of the gateway's own timers run less often than that. */
async function perRequest(ask: () => Promise<{ readonly status: number }>): Promise<string[]> {
  await ask();
  proxy.roundTrips();
  for (let turn = 0; turn < REQUESTS; turn += 1) expect((await ask()).status).toBe(200);
  const counts = new Map<string, number>();
  for (const text of proxy.roundTrips()) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].flatMap(([text, count]) => Array.from({ length: Math.floor(count / REQUESTS) }, () => text));
}

/** Nonce and limits. */
const isAdmission = (text: string): boolean => text.includes('insert into nonces');

const signed = (operationId: string, path: string) => (): Promise<{ status: number }> => agent.call(operationId, 'GET', path);

describe('a gateway without requests costs the database', () => {
  const isLook = (text: string): boolean => text.includes('from relay_switches') && text.includes('from scheduled_cancels');
  /** Blocks come every half second here: two statements a second, and more while the relayer's wallet was used lately. */
  const MOST_A_SECOND = 7;
  const SECONDS = 8;

  it('one look a second at what is due, and little more', async () => {
    proxy.roundTrips();
    const asked: string[] = [];
    await eventually(
      () => asked.push(...proxy.roundTrips()),
      () => asked.filter(isLook).length > SECONDS,
    );
    expect(asked.length).toBeLessThan(SECONDS * MOST_A_SECOND);
  });
});

describe('a request costs the database', () => {
  it.each(['', '/markets', '/prices', '/markets/BTC-USD/book'])('nothing when it is public: %s', async (path) => {
    const found = await sandbox.get(`${BASE}${path}`);
    if (found.status !== 200) throw new Error(`${path} answers ${found.status}`);
    expect(await perRequest(() => sandbox.get(`${BASE}${path}`))).toEqual([]);
  });

  it.each([
    ['getAccount', '', 1],
    ['listPositions', '/positions', 1],
    ['listOpenOrders', '/orders', 2],
    ['listEvents', '/events', 1],
  ] as const)('one round trip for admission when it is signed, and one for each read: %s', async (operationId, path, reads) => {
    const asked = await perRequest(signed(operationId, `/account/${agent.trader.account.address}${path}`));
    expect(asked.filter(isAdmission)).toHaveLength(1);
    expect(asked.filter((text) => !isAdmission(text))).toHaveLength(reads);
  });

  it('less than that when many come at once: they are admitted in batches', async () => {
    proxy.roundTrips();
    const ask = signed('listPositions', `/account/${agent.trader.account.address}/positions`);
    const answers = await Promise.all(Array.from({ length: REQUESTS }, ask));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(proxy.roundTrips().filter(isAdmission).length).toBeLessThan(REQUESTS / 2);
  });

  describe("for a bot's order until it is in the relayer's queue", () => {
    let price = 30_000;
    const place = async (): Promise<unknown> => {
      const bot = new Wallet(sandbox.controls.accounts['hl-agent'].privateKey);
      const wire = order({ p: String((price += 1)), t: { limit: { tif: 'Gtc' } } });
      return (await postExchange(sandbox.url, 'arbitrum-sepolia', await signL1(bot, orderAction(wire)))).body;
    };
    const tripsTo = (table: RegExp, asked: readonly string[]): number => asked.filter((text) => table.test(text)).length;
    /** Only the two statements of an order touch these tables. */
    const ITS_TABLES = /insert into (?:signer_nonces|relay_actions|exchange_orders|relay_jobs)|from (?:leverage_settings|relay_wallets)/;

    it('two round trips: one admits and stores the action, one places the order with its job', async () => {
      expect(await place()).toMatchObject({ status: 'ok' });
      proxy.roundTrips();
      for (let count = 0; count < BOT_ORDERS; count += 1) expect(JSON.stringify(await place())).toContain('"resting"');
      const asked = proxy.roundTrips();
      expect(tripsTo(/insert into signer_nonces/, asked)).toBe(BOT_ORDERS);
      expect(tripsTo(/insert into relay_jobs/, asked)).toBe(BOT_ORDERS);
      expect(tripsTo(ITS_TABLES, asked)).toBe(2 * BOT_ORDERS);
    });

    it('less than that when many come at once: they are sent in batches', async () => {
      await place();
      proxy.roundTrips();
      const answers = await Promise.all(Array.from({ length: BOT_ORDERS }, place));
      expect(JSON.stringify(answers).split('"resting"')).toHaveLength(BOT_ORDERS + 1);
      expect(tripsTo(ITS_TABLES, proxy.roundTrips())).toBeLessThan(2 * BOT_ORDERS);
    });

    it('three more where rules bind: one locks and reads them, one counts, one places', async () => {
      const { rules } = sandbox.gateway.store;
      await rules.put({ chain: '*', trader: '*', rules: { dailyTransactions: 1_000 }, updatedAt: Date.now() });
      try {
        await place();
        proxy.roundTrips();
        for (let count = 0; count < BOT_ORDERS; count += 1) expect(JSON.stringify(await place())).toContain('"resting"');
        const asked = proxy.roundTrips();
        const isCount = (text: string): boolean => text.includes('exists (select from relay_jobs job');
        expect(tripsTo(/^begin[^]*pg_advisory_xact_lock[^]*relay_rules/, asked)).toBe(BOT_ORDERS);
        expect(asked.filter((text) => isCount(text) && !text.includes('insert into'))).toHaveLength(BOT_ORDERS);
        // The first finds that there are rules and stores nothing.
        expect(tripsTo(/insert into relay_jobs/, asked)).toBe(2 * BOT_ORDERS);
      } finally {
        await rules.remove('*', '*');
      }
    });
  });
});
