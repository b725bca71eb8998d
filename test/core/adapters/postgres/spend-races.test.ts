import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { migrate } from '../../../../core/adapters/postgres/migrate.js';
import { MIGRATIONS } from '../../../../core/adapters/postgres/migrations/registry.js';
import { createSpendStore, settling } from '../../../../core/adapters/postgres/spend-store.js';
import { inTransaction, runAll } from '../../../../core/adapters/postgres/statement.js';
import { formatDecimal, parseDecimal } from '../../../../core/domain/decimal.js';
import type { Reservation } from '../../../../core/ports/stores/orders.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { createEmptyTestDatabase } from '../../../harness/database/test-database.js';
import { openReplicas, type Replicas } from '../../../harness/database/two-stores.js';
import { eventually } from '../../../harness/time/eventually.js';
import { orderDraft } from '../../../harness/traders/order-draft.js';

const CHAIN = 'base';
const WHO = { chain: CHAIN, agent: `0x${'a1'.repeat(20)}`, trader: `0x${'b2'.repeat(20)}` } as const;
/** A UTC day, and the one that begins meanwhile. */
const [DAY, NEXT] = [20_000, 20_001];
const NEVER = Number.MAX_SAFE_INTEGER;

let replicas: Replicas;
let [one, other]: Knex[] = [];
beforeEach(async () => {
  replicas = await openReplicas();
  [one, other] = replicas.stores.map(({ db }) => db);
});
afterEach(() => replicas.close());

const sessions = (): readonly [Knex, Knex] => {
  if (!one || !other) throw new Error('there is no database');
  return [one, other];
};

/** Order 7 grows to a size of 900. */
const growthOn = (day: number): Reservation => ({ ...WHO, day, id: '7/900', usd: parseDecimal('30'), expiresAt: NEVER });
const spentOn = async (day: number): Promise<string> => formatDecimal(await createSpendStore(sessions()[0]).spent({ ...WHO, day }));
/** What a follower does with the reservations of an order that it saves. */
const settle = (db: Knex, holds: boolean, id = '7'): Promise<void> =>
  inTransaction(db, (trx) => runAll(trx, settling(CHAIN, [{ id, holds, size: null }])));
const releaseIn = (trx: Knex.Transaction): Promise<void> => runAll(trx, settling(CHAIN, [{ id: '7', holds: false, size: null }]));

/** Starts `second` on another session while `first` has changed the reservation and not committed, and commits when it waits for that. */
async function overlap(
  first: (spend: ReturnType<typeof createSpendStore>, trx: Knex.Transaction) => Promise<void>,
  second: (db: Knex) => Promise<void>,
) {
  const [db, beside] = sessions();
  let waits = Promise.resolve();
  await db.transaction(async (trx) => {
    await first(createSpendStore(trx), trx);
    waits = second(beside);
    await eventually(
      () => trx.raw<{ rows: unknown[] }>('select from pg_locks where not granted and pg_blocking_pids(pid) @> array[pg_backend_pid()]'),
      ({ rows }) => rows.length > 0,
    );
  });
  await waits;
}

describe('a size increase that moves to the next UTC day', () => {
  it('counts on no day when its order ends meanwhile', async () => {
    await createSpendStore(sessions()[0]).reserve(growthOn(DAY), null);
    await overlap(
      async (spend, trx) => {
        await releaseIn(trx);
        await spend.reserve(growthOn(NEXT), parseDecimal('100'));
      },
      (db) => settle(db, false),
    );
    expect([await spentOn(DAY), await spentOn(NEXT)]).toEqual(['0', '0']);
  });

  it('counts on the new day when its order comes back meanwhile, and ends with it', async () => {
    const spend = createSpendStore(sessions()[0]);
    await spend.reserve(growthOn(DAY), null);
    await settle(sessions()[0], false);
    await overlap(
      async (moving, trx) => {
        await moving.reserve(growthOn(NEXT), parseDecimal('100'));
        await releaseIn(trx);
      },
      (db) => settle(db, true),
    );
    expect([await spentOn(DAY), await spentOn(NEXT)]).toEqual(['0', '30']);
    await settle(sessions()[0], false);
    expect(await spentOn(NEXT)).toBe('0');
  });

  it('keeps a deadline that is extended while its order is saved', async () => {
    const spend = createSpendStore(sessions()[0]);
    await spend.reserve({ ...growthOn(DAY), expiresAt: 1 }, null);
    await overlap(
      async (extending) => void (await extending.reserve(growthOn(DAY), null)),
      (db) => settle(db, true),
    );
    expect(await spentOn(DAY)).toBe('30');
  });

  it('is left for the next time by the release of what was not sent, which waits for no other transaction', async () => {
    const [db, beside] = sessions();
    await createSpendStore(db).reserve({ ...growthOn(DAY), expiresAt: 1 }, null);
    await db.transaction(async (trx) => {
      await createSpendStore(trx).reserve(growthOn(DAY), null);
      expect(await createSpendStore(beside).releaseUnsent(CHAIN, 2)).toBe(0);
    });
    expect(await spentOn(DAY)).toBe('30');
  });
});

describe('the reservations of a busy day', () => {
  const heldOn = async (day: number): Promise<string> => {
    const { rows } = await sessions()[0].raw<{ rows: [{ usd: string }] }>(
      'select coalesce(sum(usd), 0)::text as usd from spend_reservations where day = ? and held',
      [day],
    );
    return rows[0].usd;
  };
  const now = NEXT * 86_400_000;
  const place = (at: number) =>
    replicas.stores[at % 2 === 0 ? 0 : 1].orders.place(
      orderDraft(CHAIN, WHO.trader, { agent: WHO.agent, now, maxUnsent: 1_000, spend: { usd: '1', cap: '200' } }),
    );

  it('are added up in part, and stay within the cap to the last order while others are given up', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 150; at += 1) {
      const placed = await place(at);
      if (placed.kind === 'placed') ids.push(String(placed.stored.id));
    }
    expect(ids).toHaveLength(150);
    const [db, beside] = sessions();
    const placing = Promise.all(Array.from({ length: 120 }, (_, at) => place(at)));
    await Promise.all(ids.map((id, at) => settle(at % 2 === 0 ? db : beside, false, id)));
    const kinds = (await placing).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind !== 'placed' && kind !== 'over-cap')).toEqual([]);
    expect(await spentOn(NEXT)).toBe(await heldOn(NEXT));
    expect(await spentOn(NEXT)).toBe(String(kinds.filter((kind) => kind === 'placed').length));
    expect(await sessions()[0]('spend_sums').where({ ...WHO, day: NEXT })).toHaveLength(1);
    for (const id of ids.slice(0, 3)) {
      await settle(db, true, id);
      await settle(db, false, id);
      await createSpendStore(beside).reserve({ ...WHO, day: DAY, id, usd: parseDecimal('2') }, null);
    }
    expect([await spentOn(DAY), await spentOn(NEXT)]).toEqual([await heldOn(DAY), await heldOn(NEXT)]);
  });

  it('end at the cap when all come at once', async () => {
    const placed = await Promise.all(Array.from({ length: 320 }, (_, at) => place(at)));
    expect(placed.filter(({ kind }) => kind === 'placed')).toHaveLength(200);
    expect(await spentOn(NEXT)).toBe('200');
  });
});

it('a database of the release before, with a sum that is too low and one that is too high, has the right ones, and nothing fails by them', async () => {
  const [database, log] = [await createEmptyTestDatabase(), createRecordedLog()];
  const db = connectDatabase({ url: database.url, log });
  try {
    const before = MIGRATIONS.findIndex(({ name }) => name.startsWith('0006'));
    await migrate({ url: database.url, log, migrations: MIGRATIONS.slice(0, before) });
    await db('spend_reservations').insert([
      { ...WHO, id: '7', day: DAY, usd: 30 },
      { ...WHO, id: '8', day: NEXT, usd: 5 },
    ]);
    await db('agent_spend').insert([
      { ...WHO, day: DAY, spent_usd: 0 },
      { ...WHO, day: NEXT, spent_usd: 35 },
    ]);
    await migrate({ url: database.url, log, migrations: MIGRATIONS });
    const spend = createSpendStore(db);
    const sums = async () => [
      formatDecimal(await spend.spent({ ...WHO, day: DAY })),
      formatDecimal(await spend.spent({ ...WHO, day: NEXT })),
    ];
    expect(await sums()).toEqual(['30', '5']);
    await settle(db, false);
    expect(await sums()).toEqual(['0', '5']);
    // A replica of the release before, which runs until it is replaced, still counts on the table.
    await db('agent_spend').where({ day: DAY }).decrement('spent_usd', 30);
  } finally {
    await db.destroy();
    await database.drop();
  }
});
