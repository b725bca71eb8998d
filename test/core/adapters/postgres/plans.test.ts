import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { DUE_WORK } from '../../../../core/adapters/postgres/due-work.js';
import { TAKE_DUE } from '../../../../core/adapters/postgres/exchange-store.js';
import type { Statement } from '../../../../core/adapters/postgres/statement.js';
import {
  HOLES,
  LANE,
  MINED_BLOCKS,
  OPEN,
  QUEUED,
  REFUSE,
  RESET_LANE,
  SET_STATE,
  SETTLE as SETTLE_JOBS,
  SETTLED_IN,
  UNRECLAIMED,
} from '../../../../core/adapters/postgres/relay-sql.js';
import { SETTLE, SPENT } from '../../../../core/adapters/postgres/spend-store.js';
import { FACTS, FIRST_OF_CLOID, LIVE_CLOIDS } from '../../../../core/adapters/postgres/exchange-sql.js';
import { LOAD_EVENTS, LOAD_TRIGGERS } from '../../../../core/adapters/postgres/trigger-fold.js';
import { AT_PLACES, LIVE, NEWEST, OF_OWNERS } from '../../../../core/adapters/postgres/trigger-store.js';
import { fillsSql, TAPE } from '../../../../core/adapters/postgres/history-store.js';
import { FILLS_AFTER } from '../../../../core/adapters/postgres/net-position-unit.js';
import { countFor, SENT_BEFORE } from '../../../../core/adapters/postgres/rules-store.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

const ROWS = 40_000;
const [CHAIN, WALLET, TRADER] = ['base', '0xw', '0xt'];
/** Has a book full of orders that rest, and one under way. */
const MAKER = '0xm';
/** Has one stop loss, and asked for others again and again that were refused. */
const REPEATER = '0xr';
const REFUSED = 2_000;

let database: TestDatabase;
let db: Knex;

/** A long past: one trader, one wallet, a second for each transaction. */
const PAST = [
  `insert into relay_jobs (chain, wallet, trader, purpose, data, gas, context, state, is_over, nonce, created_at, mined_block)
   select '${CHAIN}', '${WALLET}', '${TRADER}', 'no-op', repeat('0', 500), 1, 'null', 'mined', true, n, n * 1000, n from generate_series(1, ${ROWS}) n`,
  `insert into orders (id, chain, trader, order_key, status, is_live, state)
   select n, '${CHAIN}', '${TRADER}', 'request:' || n, case when n = 5 then 'timed_out' else 'filled' end, n = 5, jsonb_build_object('pad', repeat('0', 500))
   from generate_series(1, ${ROWS}) n`,
  `insert into orders (id, chain, trader, order_key, status, is_live, state)
   select ${ROWS} + n, '${CHAIN}', '${MAKER}', 'rests:' || n, case when n = 5 then 'pending' else 'open' end, true, jsonb_build_object('tradeIndex', n)
   from generate_series(1, ${ROWS}) n`,
  `insert into chain_events (chain, event_key, trader, kind, block_number, log_index, is_fill, event)
   select '${CHAIN}', 'event ' || n, '${TRADER}', 'executed', n, 0, true,
     jsonb_build_object('place', jsonb_build_object('at', n * 1000), 'action', 'open', 'terms', jsonb_build_object('pairIndex', n % 3), 'pad', repeat('0', 500))
   from generate_series(1, ${ROWS}) n`,
  `insert into relay_actions (chain, signer, trader, envelope, action_hash, form, network, nonce, received_at)
   values ('${CHAIN}', '0xs', '${TRADER}', '{}', '0x', 'canonical', 'a', 1, 1)`,
  `insert into relay_lanes (chain, wallet, next_nonce) values ('${CHAIN}', '${WALLET}', ${ROWS} + 1)`,
  `insert into exchange_orders (chain, oid, trader, agent, action, item, cloid, pair_index, manner, terms, created_at)
   select '${CHAIN}', n, '${TRADER}', '0xa', max(id), 0, 'cloid ' || n, 0, 'market', '{}', n from relay_actions, generate_series(1, ${ROWS}) n group by n`,
  `insert into exchange_orders (chain, oid, trader, agent, action, item, cloid, pair_index, manner, terms, created_at)
   select '${CHAIN}', 2 * ${ROWS} + n, '${MAKER}', '0xa', max(id), 0, 'the same', 0, 'market', '{}', n from relay_actions, generate_series(1, ${ROWS}) n group by n`,
  `insert into exchange_legs (chain, oid, seq, role, order_id, size_base)
   select '${CHAIN}', n, 1, 'open', n, 1 from generate_series(1, ${ROWS}) n`,
  `insert into triggers (chain, trader, key, owner, origin, leg, kind, job, price, asked_at, asked_place, place, state, changed_block)
   select '${CHAIN}', '${TRADER}', 'bot/' || n || '/1', n, 'bot', 1, 'sl', n, 1, n, 'trade:' || n / 10, 'trade:' || n / 10,
     case when n > ${ROWS} - 10 then 'standing' else 'over' end, n from generate_series(1, ${ROWS}) n`,
  `insert into trigger_bases (chain, trader, block_number, standing) values ('${CHAIN}', '${TRADER}', ${ROWS} - 20, '[]')`,
  `insert into positions (chain, trader, trade_index, is_open) select '${CHAIN}', '${TRADER}', n, n = ${ROWS} from generate_series(1, ${ROWS}) n`,
  `insert into scheduled_cancels (chain, trader, agent, action, due_at, fired_at)
   select '${CHAIN}', '0x' || n, '0xa', max(id), n * 1000, case when n % 2 = 0 then n end from relay_actions, generate_series(1, ${ROWS}) n group by n`,
  `insert into spend_reservations (chain, agent, trader, day, id, usd)
   select '${CHAIN}', '0xa', '${TRADER}', n / 100, n || grown.mark, 1 from generate_series(1, ${ROWS}) n
   join (values ('', 1), ('/2', 20)) as grown (mark, every) on n % every = 0`,
  `insert into relay_jobs (chain, wallet, trader, purpose, data, gas, context, state, is_over, created_at)
   select '${CHAIN}', '0xv', '${REPEATER}', 'no-op', '0x', 1, 'null', 'refused', true, n from generate_series(1, ${REFUSED}) n`,
  `insert into triggers (chain, trader, key, owner, origin, leg, kind, job, price, asked_at, asked_place, place, state, changed_block)
   select chain, trader, 'bot/' || id || '/1', id, 'bot', 1, 'sl', id, 1, created_at, 'trade:1', null, 'asked', null::bigint
   from relay_jobs where trader = '${REPEATER}'
   union all select '${CHAIN}', '${REPEATER}', 'bot/1/1', 1, 'bot', 1, 'sl', null, 1, 0, 'trade:1', 'trade:1', 'standing', 1`,
  `insert into positions (chain, trader, trade_index, is_open, state) values ('${CHAIN}', '${REPEATER}', 1, true, '{"sl": {"$n": "1"}}')`,
  'analyze',
];

beforeAll(async () => {
  database = await createTestDatabase();
  await usePlansOfProduction();
  // Without the gateway's bounds: writing the past may take longer than they allow.
  db = connectDatabase({ url: database.url, log: createRecordedLog(), limits: null });
  await db.transaction(async (past) => {
    for (const statement of PAST) await past.raw(statement);
  });
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

/** The server of the tests plans every statement once, whatever its values. */
async function usePlansOfProduction(): Promise<void> {
  const own = connectDatabase({ url: database.url, log: createRecordedLog() });
  await own.raw(`alter database ${new URL(database.url).pathname.slice(1)} set plan_cache_mode = auto`);
  await own.destroy();
}

describe('what is asked every second, or before every opening', () => {
  const statements: Record<string, [string, Record<string, unknown>]> = {
    'the open jobs of a wallet': [OPEN.named, { wallet: WALLET }],
    'blocks that a reorganisation may still undo': [MINED_BLOCKS.named, { wallet: WALLET, blocks: 64 }],
    'what was in blocks that are gone': [SETTLED_IN.named, { wallet: WALLET, numbers: [ROWS], hashes: ['0x'], nonce: ROWS - 64 }],
    'unanswered requests': [UNRECLAIMED.named, { triedBefore: 0, now: 5_000 }],
    'cancels that are due, tried before or not': [TAKE_DUE, { now: 5_000, againAt: 6_000 }],
    'what an agent has spent on a day': [SPENT, { agent: '0xa', trader: TRADER, day: 7 }],
    "the day's loss": [countFor(['maxDailyLossUsd']).named, { trader: TRADER, day: (ROWS - 100) * 1000 }],
  };

  it.each(Object.keys(statements))('%s: is found by an index, however long the past is', async (name) => {
    const [sql, values] = statements[name] ?? ['', {}];
    const { rows } = await db.raw<{ rows: Record<'QUERY PLAN', string>[] }>(`explain ${sql}`, { chain: CHAIN, ...values } as never);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan.match(/Seq Scan on (?:orders|relay_jobs|chain_events|scheduled_cancels)|Gather/g)).toBeNull();
    // The newest of all is one row, whatever is behind it. Elsewhere the planner expects little, and stays with the index as the past grows.
    const expected = [...plan.matchAll(/(?:Index Scan(?: Backward)? using|Heap Scan on) .* rows=(\d+)/g)].map(([, count]) => Number(count));
    expect(expected.length).toBeGreaterThan(0);
    expect(Math.max(...expected)).toBeLessThan(ROWS / 10);
  });
});

describe('what is asked with every order of a bot', () => {
  it('looks at what is under way for its trader, and not at what rests', async () => {
    const { rows } = await db.raw<{ rows: Record<'QUERY PLAN', string>[] }>(`explain (analyze, timing off) ${FACTS.named}`, {
      chain: CHAIN,
      trader: MAKER,
    });
    const looks = rows.map((row) => row['QUERY PLAN']).filter((step) => /(?:Scan|on) .*orders/.test(step));
    expect(looks.join()).toContain('orders_busy');
    for (const look of looks) expect(look).toMatch(/actual rows=1(?:\.\d+)? loops=1/);
  });
});

describe('what is asked by a cloid', () => {
  it('looks at few orders, though all of the bot had the same', async () => {
    const { rows } = await db.raw<{ rows: Record<'QUERY PLAN', string>[] }>(
      `explain (analyze, timing off) select from exchange_orders o where o.chain = :chain and ${FIRST_OF_CLOID}`,
      { chain: CHAIN, trader: MAKER, cloid: 'the same', limit: 5 },
    );
    const looks = rows
      .map((row) => /(?:Scan|on) .*actual rows=(\d+)\S* loops=(\d+)/.exec(row['QUERY PLAN']))
      .filter((look) => look !== null);
    expect(looks.length).toBeGreaterThan(0);
    expect(Math.max(...looks.map(([, found, loops]) => Number(found) * Number(loops)))).toBeLessThan(ROWS / 10);
  });
});

describe('what is asked about triggers', () => {
  async function explain(sql: string, values: object): Promise<string[]> {
    const asked = `explain (analyze, buffers, timing off) ${sql}`;
    const { rows } = await db.raw<{ rows: Record<'QUERY PLAN', string>[] }>(asked, { chain: CHAIN, ...values } as never);
    return rows.map((row) => row['QUERY PLAN']);
  }

  const reads: [string, Statement, object][] = [
    ['those that are live', LIVE, {}],
    ['all that an order ever had', OF_OWNERS, { owners: '{1}' }],
    ['those of the newest orders', NEWEST, { limit: 100 }],
    ['those of some trades', AT_PLACES, { places: '{trade:1}' }],
    ['those that events may be about', LOAD_TRIGGERS, { bases: '[]', hashes: '{0x1}', openings: '{1}' }],
  ];

  it.each(reads)('%s: are found by an index, however many there were', async (_, { named }, values) => {
    const plan = await explain(named, { trader: TRADER, ...values });
    expect(plan.join('\n')).not.toMatch(/Seq Scan on (?:orders|triggers|relay_jobs|chain_events|exchange_orders)/);
  });

  it.each(reads)('%s: what was refused is not read to find what is live', async (_, { named }, values) => {
    const plan = await explain(named, { trader: REPEATER, ...values });
    // Of the whole statement, as the outermost step comes first.
    const pages = plan.map((step) => /Buffers: shared hit=(\d+)/.exec(step)?.[1]).find((hit) => hit !== undefined);
    expect(Number(pages)).toBeLessThan(REFUSED);
  });

  it('the events of a fold are those since the newest base', async () => {
    const plan = await explain(LOAD_EVENTS.named, { traders: `{${TRADER}}` });
    expect(plan.join('\n')).toMatch(/Index Scan .* on chain_events .*actual rows=20(?:\.\d+)? /);
  });
});

describe('what is asked about fills', () => {
  const LIMIT = 50;

  it.each([
    ['the newest of a trader', fillsSql('desc'), { trader: TRADER, from: 0, to: ROWS * 1000, limit: LIMIT }],
    ['those since a time', fillsSql('asc'), { trader: TRADER, from: ROWS * 500, to: ROWS * 1000, limit: LIMIT }],
    ['the newest of a market', TAPE, { pairIndex: 1, limit: LIMIT }],
    ['those to fold next', FILLS_AFTER.named, { trader: TRADER, block: ROWS / 2, logIndex: 0, id: 0, limit: LIMIT }],
  ])('%s: reads the fills of the page, however many there are', async (_, sql, values) => {
    const { rows } = await db.raw<{ rows: Record<'QUERY PLAN', string>[] }>(`explain (analyze, timing off) ${sql}`, {
      chain: CHAIN,
      ...values,
    } as never);
    const looks = rows
      .map((row) => /(?:Scan|on) .*chain_events.*actual rows=(\d+)\S* loops=(\d+)/.exec(row['QUERY PLAN']))
      .filter((look) => look !== null);
    expect(looks.length).toBeGreaterThan(0);
    expect(Math.max(...looks.map(([, found, loops]) => Number(found) * Number(loops)))).toBeLessThanOrEqual(LIMIT + 1);
  });
});

describe('what follows every change of an order', () => {
  it('finds what it has reserved by an index, with all that it grew by, however much others have', async () => {
    const plan = await db.transaction(async (trx) => {
      const { rows: steps } = await trx.raw<{ rows: Record<'QUERY PLAN', string>[] }>(`explain (analyze, timing off) ${SETTLE.named}`, {
        chain: CHAIN,
        ids: '{20,21}',
        holding: '{}',
      });
      return steps.map((row) => row['QUERY PLAN']);
    });
    const looks = plan.filter((step) => step.includes('on spend_reservations'));
    expect(looks.join()).not.toContain('Seq Scan');
    const found = looks.flatMap((step) => (step.includes('Scan') ? [Number(/actual rows=(\d+)/.exec(step)?.[1])] : []));
    expect(Math.max(...found)).toBe(2);
  });
});

describe('what is prepared by its name, and planned once for all values', () => {
  /** The server plans for the values at hand this often, and compares. */
  const TIMES = 7;
  const statements: Record<string, [Statement, Record<string, string>]> = {
    'the open jobs of a wallet': [OPEN, {}],
    'jobs without a nonce': [QUEUED, { limit: '100', perTrader: '40', forExits: '20' }],
    'the state of a lane': [LANE, {}],
    'nonces that nothing was sent with': [HOLES, { from: `${ROWS - 5}`, below: `${ROWS}` }],
    'the next nonce of a lane': [RESET_LANE, { nonce: `${ROWS + 1}` }],
    'blocks that a reorganisation may still undo': [MINED_BLOCKS, { blocks: '64' }],
    'what was in blocks that are gone': [SETTLED_IN, { numbers: `{${ROWS}}`, hashes: '{0x}', nonce: `${ROWS - 64}` }],
    'unanswered requests': [UNRECLAIMED, { triedBefore: '0', now: '5000' }],
    'all that is due': [DUE_WORK, { triedBefore: '0', now: '5000', wallets: `{${WALLET}}`, sent: '{}' }],
    'the end of a job that is refused': [REFUSE, { id: `${ROWS}`, note: '', reason: 'policy' }],
    'the state of a job': [SET_STATE, { id: `${ROWS}`, state: 'refused', over: 'true', note: '', reason: 'policy', at: '1' }],
    'the end of jobs that are mined': [
      SETTLE_JOBS,
      { settled: JSON.stringify([{ id: String(ROWS), state: 'reverted', mined: null, block: '1' }]) },
    ],
    'names of orders that still live': [LIVE_CLOIDS, { cloids: '{cloid 1,cloid 2}' }],
    'the triggers of orders': [OF_OWNERS, { owners: '{1,2}' }],
    'triggers that are live': [LIVE, {}],
  };

  it.each(Object.keys(statements))('%s: is found by an index, however long the past is', async (name) => {
    const [asked, given] = statements[name] ?? [OPEN, {}];
    const values: Record<string, string> = { chain: CHAIN, wallet: WALLET, trader: TRADER, ...given };
    const execute = `explain execute asked (${asked.names.map((each) => `'${values[each] ?? ''}'`).join(', ')})`;
    const plans: string[] = [];
    await db.transaction(async (trx) => {
      await trx.raw(`prepare asked as ${asked.text}`);
      for (let times = 0; times < TIMES; times += 1) {
        const { rows } = await trx.raw<{ rows: Record<'QUERY PLAN', string>[] }>(execute);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      }
      await trx.raw('deallocate asked');
    });
    expect(plans.at(-1)).toContain('Index');
    expect(
      plans
        .at(-1)
        ?.match(
          /Seq Scan on (?:orders|relay_jobs|exchange_orders|exchange_legs|triggers|positions|scheduled_cancels|spend_reservations)|Gather/g,
        ),
    ).toBeNull();
  });

  it("the day's transactions before a job: are found by the day, not by their ids from the first one on", async () => {
    const plan = await db.transaction(async (trx) => {
      await trx.raw('set local plan_cache_mode = force_generic_plan');
      await trx.raw(`prepare counted as ${SENT_BEFORE.text}`);
      const given: Record<string, string> = { chain: CHAIN, trader: TRADER, day: `${(ROWS - 100) * 1000}`, id: `${ROWS}` };
      const values = SENT_BEFORE.names.map((name) => `'${given[name] ?? ''}'`).join(', ');
      const { rows } = await trx.raw<{ rows: Record<'QUERY PLAN', string>[] }>(`explain execute counted (${values})`);
      await trx.raw('deallocate counted');
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    expect(plan).toContain('using relay_jobs_by_day');
  });
});
