import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { createFacadeStore } from '../../../../core/adapters/postgres/facade-store.js';
import { migrate } from '../../../../core/adapters/postgres/migrate.js';
import { MIGRATIONS } from '../../../../core/adapters/postgres/migrations/registry.js';
import { createEmptyTestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

const log = createRecordedLog();
const [CHAIN, TRADER] = ['base', '0xt'] as const;

it('0007: a leverage that was set before gets the last action that set it, and loses it where a release before sets another', async () => {
  const database = await createEmptyTestDatabase();
  const db = connectDatabase({ url: database.url, log });
  const at = MIGRATIONS.findIndex(({ name }) => name === '0007-proofs');
  await migrate({ url: database.url, log, migrations: MIGRATIONS.slice(0, at) });
  const envelopes = [
    '{"action":{"type":"updateLeverage","asset":1,"isCross":true,"leverage":7},"nonce":1}',
    '{"action":{"asset":1,"type":"updateLeverage","isCross":true,"leverage":7},"nonce":2}',
    '{"action":{"type":"updateLeverage","asset":1,"isCross":true,"leverage":900},"nonce":3}',
    '{"action":{"type":"updateLeverage","asset":99999999999999,"isCross":true,"leverage":7},"nonce":4}',
    'no JSON',
  ];
  const given = { chain: CHAIN, signer: '0xs', trader: TRADER, action_hash: '0x', form: 'canonical', network: 'a', received_at: 1 };
  await db('relay_actions').insert(envelopes.map((envelope, nonce) => ({ ...given, envelope, nonce })));
  const setting = { chain: CHAIN, trader: TRADER, is_cross: true };
  await db('leverage_settings').insert([
    { ...setting, pair_index: 1, leverage: 7 },
    { ...setting, pair_index: 2, leverage: 7 },
  ]);
  await migrate({ url: database.url, log, migrations: MIGRATIONS });
  const { leverage } = createFacadeStore(db);
  const read = async () => [...(await leverage.of(CHAIN, TRADER as `0x${string}`))].map(([pair, { action }]) => [pair, action]).sort();
  const [, second] = await db('relay_actions').orderBy('id').pluck<bigint[]>('id');
  expect(await read()).toEqual([
    [1, second],
    [2, null],
  ]);
  await db('leverage_settings').where({ pair_index: 1 }).update({ leverage: 9 });
  expect(await read()).toEqual([
    [1, null],
    [2, null],
  ]);
  await db.destroy();
  await database.drop();
});
