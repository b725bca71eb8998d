import type pg from 'pg';
import { createStore, type KnexStore } from '../../../../core/adapters/postgres/create-store.js';
import type { RuleSet } from '../../../../core/config/rules.js';
import type { Draft } from '../../../../core/ports/stores/orders.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { orderDraft, type DraftWishes } from '../../../harness/traders/order-draft.js';

const CHAIN = 'base';
const NOW = Date.UTC(2026, 0, 6, 15);

let database: TestDatabase;
let store: KnexStore;
/** With one connection, so that one left in the middle of a transaction would be used again. */
let narrow: KnexStore;

beforeAll(async () => {
  database = await createTestDatabase();
  const log = createRecordedLog();
  store = createStore({ log, url: database.url });
  narrow = createStore({ log, url: database.url, poolSize: 1 });
});
afterAll(async () => {
  await Promise.all([store.close(), narrow.close()]);
  await database.drop();
});

let traders = 0;
const newTrader = (): `0x${string}` => `0x${String((traders += 1)).padStart(40, '0')}`;

const guarded = (trader: `0x${string}`, rules: RuleSet, wishes: DraftWishes = {}): Draft => ({
  ...orderDraft(CHAIN, trader, { now: NOW, ...wishes }),
  guard: { given: { defaults: rules, own: {} }, collaterals: new Map(), instead: null, now: NOW, notionalUsd: 1n, freedUsd: 0n },
});

const outcomeOf = (draft: Draft): Promise<string> =>
  narrow.orders.place(draft).then(
    ({ kind }) => kind,
    (error: unknown) => (error as Error).name,
  );

describe('an order that rules bind', () => {
  it('is placed where they allow it, and leaves nothing behind where they do not', async () => {
    const trader = newTrader();
    expect(await outcomeOf(guarded(trader, { ordersPerMinute: 1 }))).toBe('placed');
    expect(await outcomeOf(guarded(trader, { ordersPerMinute: 1 }))).toBe('GuardrailError');
    expect(await outcomeOf(guarded(trader, { access: 'blocked' }))).toBe('GuardrailError');
    expect(await outcomeOf(guarded(trader, { ordersPerMinute: 2 }))).toBe('placed');
    expect(await store.account.ordersBefore(CHAIN, trader, null, 10)).toHaveLength(2);
  });

  it('is counted with those that come at the same moment by another replica', async () => {
    const trader = newTrader();
    const places = Array.from({ length: 8 }, (_, at) =>
      (at % 2 === 0 ? store : narrow).orders.place(guarded(trader, { ordersPerMinute: 3 })),
    );
    const ended = await Promise.allSettled(places);
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(await store.account.ordersBefore(CHAIN, trader, null, 10)).toHaveLength(3);
  });

  it('is refused as one too many although another is sent before the answer, because its rules were not checked', async () => {
    const trader = newTrader();
    const first = await narrow.orders.place(guarded(trader, {}));
    if (first.kind !== 'placed') throw new Error(first.kind);
    const blocked = guarded(trader, { access: 'blocked' }, { maxUnsent: 1 });
    const stop = await beforeSecondTrip(() => store.orders.recordHash(CHAIN, first.stored.id, `0x${'ab'.repeat(32)}`, NOW));
    expect(await outcomeOf(blocked)).toBe('too-many');
    stop();
    expect(await outcomeOf(blocked)).toBe('GuardrailError');
  });
});

/** Runs the work before the narrow store's connection sends for the second time from now on. */
async function beforeSecondTrip(work: () => Promise<unknown>): Promise<() => void> {
  const pool = narrow.db.client as { acquireConnection(): Promise<pg.Client>; releaseConnection(lent: pg.Client): Promise<void> };
  const connection = await pool.acquireConnection();
  const send = connection.query.bind(connection) as (...given: unknown[]) => unknown;
  let trips = 0;
  connection.query = ((...given: unknown[]) => {
    trips += 1;
    if (trips !== 2) return send(...given);
    void work().then(() => send(...given));
    return undefined;
  }) as never;
  await pool.releaseConnection(connection);
  // The method of its class is used again.
  return () => void Reflect.deleteProperty(connection, 'query');
}
