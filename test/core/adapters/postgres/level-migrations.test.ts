import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { migrate } from '../../../../core/adapters/postgres/migrate.js';
import { MIGRATIONS } from '../../../../core/adapters/postgres/migrations/registry.js';
import { createEmptyTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

const log = createRecordedLog();
const [CHAIN, TRADER] = ['base', '0xt'];
const upTo = (count: number) => migrate({ url: database.url, log, migrations: MIGRATIONS.slice(0, count) });

let database: TestDatabase;
let db: Knex;
beforeEach(async () => {
  database = await createEmptyTestDatabase();
  db = connectDatabase({ url: database.url, log });
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

/** A stop loss at 55 for these trades, with the number of its level on the first. */
async function addStop(oid: number, trades: readonly number[]): Promise<void> {
  const terms = { order: { style: { kind: 'trigger', tpsl: 'sl', trigger: { $n: '55' } } } };
  await db('exchange_orders').insert({
    ...{ chain: CHAIN, oid, trader: TRADER, agent: '0xa', item: 0, pair_index: 0, manner: 'protection', created_at: oid },
    ...{ action: db('relay_actions').max('id'), terms: JSON.stringify(terms) },
  });
  const legs = trades.map((trade_index, at) => ({ chain: CHAIN, oid, seq: at + 1, role: 'protect', trade_index, size_base: 1 }));
  await db('exchange_legs').insert(legs);
  await db('protections').insert({ id: oid, chain: CHAIN, trader: TRADER, slot: trades[0], kind: 'sl', price: 55, seen_at: oid });
}

it('0002: an order for several trades gets its levels, also those of an earlier order, except those that a later order has or that were moved', async () => {
  await upTo(1);
  await db('relay_actions').insert({
    ...{ chain: CHAIN, signer: '0xs', trader: TRADER, envelope: '{}', action_hash: '0x', form: 'canonical', network: 'a' },
    ...{ nonce: 1, received_at: 1 },
  });
  await addStop(100, [2]);
  await addStop(101, [1, 2, 3, 4, 5]);
  await addStop(102, [3]);
  await db('protections').insert({ id: 103, chain: CHAIN, trader: TRADER, slot: 5, kind: 'sl', price: 55, seen_at: 1 });
  const prices = [55, 55, 55, 54, 55];
  await db('positions').insert(
    prices.map((price, at) => ({
      ...{ chain: CHAIN, trader: TRADER, trade_index: at + 1, is_open: at > 0 },
      state: JSON.stringify({ sl: { $n: String(price) } }),
    })),
  );
  await upTo(2);
  const found = await db('protections').orderBy('slot').select('slot', 'price', 'id', 'set_by');
  expect(found.map(({ slot, price, id, set_by }) => [Number(slot), Number(price), Number(set_by ?? id)])).toEqual([
    [1, 55, 101],
    [2, 55, 101],
    [3, 55, 102],
    [5, 55, 101],
  ]);
});

it('0003: every order that has a level, or had it before, is kept with its transaction', async () => {
  await upTo(2);
  const level = { chain: 'base', trader: '0xt', kind: 'sl', price: 55 };
  const former = [
    { id: 11, set_by: null, seen_at: 1, job: null },
    { id: 12, set_by: 19, seen_at: 2, job: 4 },
  ];
  await db('protections').insert([
    { ...level, id: 10, slot: 1, seen_at: 7 },
    { ...level, id: 11, slot: 2, seen_at: 3, set_by: 20, job: 5, former: JSON.stringify(former) },
  ]);
  await upTo(3);
  const found = await db('level_owners').orderBy('id').select<Record<'slot' | 'owner' | 'job' | 'seen_at', bigint>[]>();
  expect(found.map(({ slot, owner, job, seen_at }) => [slot, owner, job, seen_at].map(Number))).toEqual([
    [1, 10, 0, 7],
    [2, 11, 0, 1],
    [2, 19, 4, 2],
    [2, 20, 5, 3],
  ]);
});

it('0013: triggers of bots get rows with their transactions, those of an opening with its order, and others keep their numbers', async () => {
  await upTo(12);
  await db('relay_actions').insert({
    ...{ chain: CHAIN, signer: '0xs', trader: TRADER, envelope: '{}', action_hash: '0x', form: 'canonical', network: 'a' },
    ...{ nonce: 1, received_at: 1 },
  });
  const action = (await db('relay_actions').select<{ id: bigint }[]>('id'))[0]?.id;
  const terms = { order: { style: { kind: 'trigger', tpsl: 'sl', trigger: { $n: '55' } } } };
  const order = { chain: CHAIN, trader: TRADER, agent: '0xa', action, pair_index: 0, manner: 'protection', terms: JSON.stringify(terms) };
  await db('exchange_orders').insert([
    { ...order, oid: 100, item: 0, created_at: 1 },
    { ...order, oid: 101, item: 1, created_at: 2, parent_order: 7 },
    { ...order, oid: 102, item: 2, created_at: 3, parent_order: 7 },
  ]);
  await db('exchange_legs').insert([
    { chain: CHAIN, oid: 100, seq: 1, role: 'protect', trade_index: 4, size_base: 1 },
    { chain: CHAIN, oid: 100, seq: 2, role: 'protect', trade_index: 5, size_base: 1 },
  ]);
  const job = {
    chain: CHAIN,
    wallet: '0xw',
    trader: TRADER,
    purpose: 'action',
    parent: action,
    data: '0x',
    gas: 1,
    state: 'mined',
    is_over: true,
  };
  const contexts = [
    { kind: 'order', item: 0, leg: 0 },
    { kind: 'order', item: 0, leg: 1 },
    { kind: 'child', item: 2, intent: { tradeIndex: 3 } },
  ];
  const jobs = await db('relay_jobs')
    .insert(contexts.map((context, at) => ({ ...job, created_at: at, context: JSON.stringify(context) })))
    .returning<{ id: bigint }[]>('id');
  const [first, second, third] = jobs.map(({ id }) => id);
  const level = { chain: CHAIN, trader: TRADER, kind: 'sl', price: 50, seen_at: 9 };
  await db('level_owners').insert([
    { ...level, slot: 4, owner: 100, job: first },
    { ...level, slot: 6, owner: 200, job: 0 },
  ]);
  await upTo(13);
  const found = await db('triggers')
    .orderBy('owner')
    .orderBy('leg')
    .select<Record<string, unknown>[]>('key', 'owner', 'origin', 'job', 'parent', 'asked_place');
  expect(found).toEqual([
    { key: 'bot/100/1', owner: 100n, origin: 'bot', job: first, parent: null, asked_place: 'trade:4' },
    { key: 'bot/100/2', owner: 100n, origin: 'bot', job: second, parent: null, asked_place: 'trade:5' },
    { key: 'bot/101/1', owner: 101n, origin: 'bot', job: null, parent: 7n, asked_place: null },
    { key: 'bot/102/1', owner: 102n, origin: 'bot', job: third, parent: 7n, asked_place: 'resting:3' },
    { key: 'other/trade:6/sl/50', owner: 200n, origin: 'other', job: null, parent: null, asked_place: null },
  ]);
});
