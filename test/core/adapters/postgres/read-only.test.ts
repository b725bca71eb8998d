import { Wallet } from 'ethers';
import type { KnexStore } from '../../../../core/adapters/postgres/create-store.js';
import { DEFAULT_LIMITS } from '../../../../core/config/database.js';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { openDatabase } from '../../../../core/adapters/postgres/open-database.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import type { Lease } from '../../../../core/ports/stores/tracking.js';
import { newAgentTrader, BUSY_AGENTS, type AgentTrader } from '../../../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../../../harness/diamond/chain-checker.js';
import { createEmptyTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { eventually, until } from '../../../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader } from '../../../harness/traders/facade-trader.js';
import { firstChain } from '../../../harness/venue/first-chain.js';
import { postExchange, signL1 } from '../../../harness/hyperliquid/exchange.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { startOwnVenue, type TestVenue } from '../../../harness/venue/own-venue.js';

/** Defaults as some servers, databases and roles have them: none of them may make a difference. */
const ODD_DEFAULTS = [
  "default_transaction_isolation = 'serializable'",
  "search_path = ''",
  "timezone = 'Asia/Kathmandu'",
  "datestyle = 'SQL, DMY'",
  "intervalstyle = 'sql_standard'",
  'standard_conforming_strings = off',
  'transform_null_equals = on',
  'array_nulls = off',
  "bytea_output = 'escape'",
  // Long enough for the statement that replaces them, on a slow machine too.
  "statement_timeout = '2s'",
  "lock_timeout = '2s'",
  "idle_in_transaction_session_timeout = '2s'",
  "idle_session_timeout = '2s'",
];

let database: TestDatabase;
/** Connects to another database of the server, as its administrator does. */
let administrator: KnexStore['db'];
let sandbox: TestVenue;
let agent: AgentTrader;

const name = (): string => new URL(database.url).pathname.slice(1);
const setDefault = (setting: string): Promise<unknown> => administrator.raw(`alter database ${name()} set ${setting}`);
const endConnections = (): Promise<unknown> =>
  administrator.raw('select pg_terminate_backend(pid) from pg_stat_activity where datname = ?', [name()]);

let elsewhere: { readonly own: TestDatabase; readonly store: KnexStore };

beforeAll(async () => {
  const own = await createEmptyTestDatabase();
  elsewhere = { own, store: await openDatabase({ kind: 'server', url: own.url, clock: systemClock, log: createRecordedLog() }) };
  administrator = elsewhere.store.db;
  database = await createEmptyTestDatabase();
  for (const setting of ODD_DEFAULTS) await setDefault(setting);
  sandbox = await startOwnVenue({ ...BUSY_AGENTS, DATABASE_URL: database.url });
  agent = await newAgentTrader(sandbox, firstChain(sandbox));
});
afterAll(async () => {
  await (sandbox as TestVenue | undefined)?.stop();
  await elsewhere.store.close();
  await database.drop();
  await elsewhere.own.drop();
});

const ORDER = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.01', leverage: '10' };
const stored = async (): Promise<string> => {
  const client = await openReader();
  const { rows } = await client.raw<{ rows: { figures: string }[] }>(
    `select concat_ws(' ', (select count(*) from public.orders), (select count(*) from public.journal),
      (select count(*) from public.relay_actions), (select count(*) from public.order_tags)) as figures`,
  );
  await client.destroy();
  return rows[0]?.figures ?? '';
};

/** Reads without our own pool, which refuses a database that takes no writes. */
async function openReader(): Promise<KnexStore['db']> {
  const { default: knex } = await import('knex');
  return knex({ client: 'pg', connection: { connectionString: database.url, options: '-c statement_timeout=0' } });
}

describe('a gateway whose database has defaults of its own', () => {
  it('has its own bounds of time', async () => {
    const pool = connectDatabase({ url: database.url, log: createRecordedLog(), limits: { ...DEFAULT_LIMITS, connectMs: 60_000 } });
    try {
      const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout'];
      const { rows } = await pool.raw<{ rows: { bounds: string }[] }>(
        `select concat_ws(' ', ${names.map((setting) => `current_setting('${setting}')`).join(', ')}) as bounds`,
      );
      expect(rows).toEqual([{ bounds: '10s 5s 5s 0' }]);
    } finally {
      await pool.destroy();
    }
  });

  it('trades as on any other', async () => {
    await agent.place(ORDER, 'filled');
    await expectViewEqualsChain(sandbox.gateway, firstChain(sandbox).definition.slug, agent.trader);
  });
});

describe('a gateway whose database takes no writes for a while', () => {
  it('answers 503, stores nothing by halves, and recovers by itself', async () => {
    const bot = await newFacadeTrader(sandbox);
    await setDefault('default_transaction_read_only = on');
    await endConnections();
    const before = await stored();

    const refused = await eventually(
      () => agent.create(ORDER),
      ({ status }) => status !== 201,
    );
    expect(refused).toMatchObject({ status: 503, body: { code: 'NOT_READY' } });
    expect(refused.headers.get('retry-after')).toBe('1');
    const action = {
      type: 'order',
      orders: [{ a: 0, b: true, p: '99999', s: '0.01', r: false, t: { limit: { tif: 'Ioc' } } }],
      grouping: 'na',
    };
    const signed = await signL1(new Wallet(bot.agentKey), action);
    const turnedAway = await postExchange(sandbox.url, FACADE_CHAIN, signed);
    expect(turnedAway).toMatchObject({ status: 503 });
    expect((await sandbox.get('/ready')).body).toMatchObject({ ready: false, database: { ready: false } });
    expect(await stored()).toBe(before);

    await setDefault('default_transaction_read_only = off');
    await eventually(
      () => sandbox.get('/ready'),
      ({ status }) => status === 200,
    );
    const order = await agent.place(ORDER, 'filled');
    expect(order).toMatchObject({ status: 'filled' });
    expect(await postExchange(sandbox.url, FACADE_CHAIN, signed)).toMatchObject({ status: 200, body: { status: 'ok' } });
    await expectViewEqualsChain(sandbox.gateway, firstChain(sandbox).definition.slug, agent.trader);
    await expectViewEqualsChain(sandbox.gateway, firstChain(sandbox).definition.slug, bot.trader);
  });
});

describe('connections to a server that takes no writes any more', () => {
  it('are closed by every user, also by lease holders and journal listeners', async () => {
    const own = await createEmptyTestDatabase();
    const log = createRecordedLog();
    const store = await openDatabase({ kind: 'server', url: own.url, poolSize: 1, clock: systemClock, log });
    try {
      const lease: Lease | null = await store.tracking.lease('base');
      await store.journal.listen(() => undefined);
      const pids = async (): Promise<number[]> => {
        const { rows } = await administrator.raw<{ rows: { pid: number }[] }>('select pid from pg_stat_activity where datname = ?', [
          new URL(own.url).pathname.slice(1),
        ]);
        return rows.map(({ pid }) => pid);
      };
      const before = await eventually(pids, (found) => found.length >= 3);

      await store.db.raw('set default_transaction_read_only = on'); // the one connection of the pool
      await expect(store.ping()).rejects.toMatchObject({ code: 'NOT_READY' });
      await expect(store.transaction((trx) => trx('backfilled_traders').insert(ROW))).rejects.toMatchObject({ code: 'NOT_READY' });

      await eventually(pids, (found) => found.every((pid) => !before.includes(pid)));
      await until(() => lease?.isHeld() === false);
      await eventually(
        () => store.transaction((trx) => trx('backfilled_traders').insert(ROW)).then(String, String),
        (said) => !said.includes('Not ready'),
      );
      expect(await store.db('backfilled_traders').pluck('trader')).toEqual([ROW.trader]);
    } finally {
      await store.close();
      await own.drop();
    }
  });
});

const ROW = { chain: 'base', trader: '0xt', block_number: 1 };
