import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/store/connect-database.js';
import { TAKE_DUE } from '../../../../core/adapters/store/exchange-store.js';
import { migrate } from '../../../../core/adapters/store/migrate.js';
import { MINED_BLOCKS, OPEN, SETTLED_IN, UNRECLAIMED } from '../../../../core/adapters/store/relay-sql.js';
import { countFor } from '../../../../core/adapters/store/rules-sql.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database.js';
import { createKeptLog } from '../../../harness/kept-log.js';

const ROWS = 40_000;
const [CHAIN, WALLET, TRADER] = ['base', '0xw', '0xt'];

let database: TestDatabase;
let db: Knex;

/** A long past: one trader, one wallet, a second for each transaction. */
const PAST = [
  `insert into relay_jobs (chain, wallet, trader, purpose, data, gas, context, state, is_over, nonce, created_at, mined_block)
   select '${CHAIN}', '${WALLET}', '${TRADER}', 'no-op', repeat('0', 500), 1, 'null', 'mined', true, n, n * 1000, n from generate_series(1, ${ROWS}) n`,
  `insert into orders (id, chain, trader, order_key, status, is_live, state)
   select n, '${CHAIN}', '${TRADER}', 'request:' || n, case when n = 5 then 'timed_out' else 'filled' end, n = 5, jsonb_build_object('pad', repeat('0', 500))
   from generate_series(1, ${ROWS}) n`,
  `insert into chain_events (chain, event_key, trader, kind, block_number, log_index, is_fill, event)
   select '${CHAIN}', 'event ' || n, '${TRADER}', 'executed', n, 0, true,
     jsonb_build_object('place', jsonb_build_object('at', n * 1000), 'pad', repeat('0', 500)) from generate_series(1, ${ROWS}) n`,
  `insert into relay_actions (chain, signer, trader, envelope, action_hash, form, network, nonce, received_at)
   values ('${CHAIN}', '0xs', '${TRADER}', '{}', '0x', 'canonical', 'a', 1, 1)`,
  `insert into scheduled_cancels (chain, trader, agent, action, due_at, fired_at)
   select '${CHAIN}', '0x' || n, '0xa', max(id), n * 1000, case when n % 2 = 0 then n end from relay_actions, generate_series(1, ${ROWS}) n group by n`,
  'analyze',
];

beforeAll(async () => {
  database = await createTestDatabase();
  await migrate({ url: database.url, log: createKeptLog() });
  db = connectDatabase({ url: database.url, log: createKeptLog() });
  for (const statement of PAST) await db.raw(statement);
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

describe('what is asked every second, or before every opening', () => {
  const statements: Record<string, [string, Record<string, unknown>]> = {
    'the open jobs of a wallet': [OPEN.named, { wallet: WALLET }],
    'blocks that a reorganisation may still undo': [MINED_BLOCKS.named, { wallet: WALLET, blocks: 64 }],
    'what was in blocks that are gone': [SETTLED_IN.named, { wallet: WALLET, numbers: [ROWS], hashes: ['0x'], nonce: ROWS - 64 }],
    'requests that nobody answered': [UNRECLAIMED.named, { triedBefore: 0 }],
    'cancels that are due, tried before or not': [TAKE_DUE, { now: 5_000, againAt: 6_000 }],
    "the day's loss": [countFor(['maxDailyLossUsd']), { trader: TRADER, day: (ROWS - 100) * 1000 }],
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
