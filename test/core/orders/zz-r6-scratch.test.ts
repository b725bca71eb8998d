// @ts-nocheck
import { createStore } from '../../../core/adapters/store/create-store.js';
import { createSignerStore } from '../../../core/adapters/store/signer-store.js';
import { migrate } from '../../../core/adapters/store/migrate.js';
import { createTestDatabase } from '../../harness/database.js';
import { createKeptLog } from '../../harness/kept-log.js';
import { readOrderedJson } from '../../../facade/signing/ordered-json.js';
it('claim plan', async () => {
  const database = await createTestDatabase();
  await migrate({ url: database.url, log: createKeptLog() });
  const store = createStore({ url: database.url, log: createKeptLog() });
  let text = '';
  const fake = { client: { acquireConnection: async () => ({ query: async (q) => { text = q.text; return { rows: [] }; } }), releaseConnection: async () => {} } };
  await createSignerStore({ db: fake, transaction: null }).claim({ chain: 'base', candidates: ['0xa'], nonce: 1n, now: 1, count: { window: 1, bucket: 'b', weight: 1, limit: 1 }, proof: { envelope: '{}', receivedAt: 1, readings: [] } });
  const N = 200000;
  const db = store.db;
  for (const sql of [
    `insert into orders (id, chain, trader, order_key, status, is_live, state) select n, 'base', case when n % 2 = 0 then '0xt' else '0xt' || (n % 1000) end, 'request:' || n, 'filled', n % 1000 = 0, '{}' from generate_series(1, ${N}) n`,
    `insert into positions (id, chain, trader, trade_index, is_open, state) select n + ${N}, 'base', case when n % 2 = 0 then '0xt' else '0xt' || (n % 1000) end, n, n % 1000 = 0, '{}' from generate_series(1, ${N}) n`,
    `insert into agents (chain, agent, trader, name, permissions, mode, created_at) select 'base', '0xa' || n, '0xt' || n, 'n', 'trade', 'relayed', 1 from generate_series(1, 20000) n`,
    `insert into agents (chain, agent, trader, name, permissions, mode, created_at) values ('base', '0xa', '0xt', 'n', 'trade', 'relayed', 1)`,
    `insert into relay_wallets (chain, trader, wallet) select 'base', '0xt' || n, '0xw' from generate_series(1, 20000) n`,
    'analyze']) await db.raw(sql);
  const out = [];
  const types = {};
  await db.transaction(async (trx) => {
    await trx.raw('prepare p as ' + text);
    const { rows: [{ types }] } = await trx.raw(`select parameter_types::text as types from pg_prepared_statements where name = 'p'`);
    out.push(types, text);
    const list = types.slice(1, -1).split(',');
    const vals = list.map((t) => t === 'text[]' ? `'{0xa}'` : t === 'text' ? `'base'` : '1');
    for (let i = 0; i < 8; i++) {
      const { rows } = await trx.raw(`explain (analyze, costs) execute p(${vals.join(',')})`).catch((e) => ({ rows: [{ 'QUERY PLAN': String(e) }] }));
      if (i === 7 || i === 0) out.push(rows.map((r) => r['QUERY PLAN']).join('\n'));
    }
  });
  for (const bytes of ['{"a":"\u0000"}', '{"a":1}\u0000', '\u0000{"a":1}', '{"a":"\u0001"}']) { let r; try { r = readOrderedJson(Buffer.from(bytes)); } catch (e) { r = 'threw ' + e.constructor.name; } out.push(JSON.stringify(bytes) + ' -> ' + String(r)); }
  (await import('node:fs')).writeFileSync('/tmp/r6/claim.txt', out.join('\n'));
  await store.close(); await database.drop();
}, 100000);
