import { createStore, type KnexStore, type StoreOptions } from '../../../../core/adapters/postgres/create-store.js';
import { GatewayError } from '../../../../core/errors.js';
import { SILENCE_MS } from '../../../../core/adapters/postgres/connect-database.js';
import { openDatabase } from '../../../../core/adapters/postgres/open-database.js';
import { DEFAULT_LIMITS } from '../../../../core/config/database.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import type { MasterClaim, Registration } from '../../../../core/ports/stores/access.js';
import type { Address } from '../../../../core/types.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { takeBack, type TakeBack } from '../../../harness/database/take-back.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { eventually } from '../../../harness/time/eventually.js';
import { orderDraft } from '../../../harness/traders/order-draft.js';

const CHAIN = 'arbitrum';
const WALLET: Address = `0x${'11'.repeat(20)}`;
const TRADER: Address = `0x${'22'.repeat(20)}`;

let database: TestDatabase;
let server: TakeBack;
let stores: KnexStore[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
  server = takeBack(database.url);
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  stores = [];
  await database.drop();
});

async function open(options: Partial<StoreOptions> = {}): Promise<KnexStore> {
  const store = createStore({ log: createRecordedLog(), url: database.url, clock: systemClock, ...options });
  stores.push(store);
  // Its heartbeats compare positions from now on.
  await store.tracking.lease(CHAIN);
  await store.continuity.known();
  // A review waits only for replicas that have written their counters.
  await eventually(
    () => store.db('replica_counters').pluck<string[]>('replica'),
    (replicas) => replicas.length === stores.length,
  );
  return store;
}

const queue = (store: KnexStore) =>
  store.relay.queue(
    {
      ...{ chain: CHAIN, wallet: WALLET, trader: TRADER, purpose: 'no-op' as const, parent: null, orderId: null },
      ...{ data: '0x' as const, gas: 21_000n, context: null, notAfter: null },
    },
    Date.now(),
  );

const claimOf = (subject: string): MasterClaim => ({
  ...{ chain: CHAIN, trader: TRADER, primaryType: 'AgentAuthorization', digest: `0x${'33'.repeat(32)}` },
  ...{ timestamp: Date.now(), subject, cosigner: null, expiresAt: Date.now() + 60_000 },
});

const registrationOf = (name: string): Registration => ({
  ...{ agent: WALLET, trader: TRADER, name, mode: 'self', createdAt: Date.now() },
  scope: { permissions: 'trade', markets: 'all', maxLeverage: null, dailySpendCapUsd: null, expiresAt: null },
});

async function reviewed(store: KnexStore): Promise<void> {
  await eventually(
    () =>
      store
        .db('continuity_reviews')
        .whereNotNull('ended_at')
        .pluck<string[]>('reason')
        .catch(() => []),
    (reasons) => reasons.length > 0,
  );
  await store.continuity.known();
}

const lossOf = (store: KnexStore) =>
  eventually(
    () => store.continuity.lastLoss(),
    (loss) => loss !== null,
  );

describe('a database that forgets', () => {
  it('is noticed by what a replica remembers alone; ids of the lost time are not given again', async () => {
    const store = await open();
    await queue(store);
    await server.copy();
    const lost = await eventually(
      () => queue(store).catch(() => null),
      (job) => job !== null,
    );
    const [numbered] = await store.relay.assignNonces(CHAIN, WALLET, [lost?.id ?? 0n], 7);
    expect(numbered?.nonce).toBe(7);
    await server.goBack();
    const loss = await lossOf(store);
    expect(loss).toMatchObject({ adoptedAt: null, walletNonces: { [`${CHAIN} ${WALLET}`]: 7 } });
    expect(loss?.lostFrom).toBeLessThanOrEqual(loss?.detectedAt ?? 0);
    expect((await queue(store)).id).toBeGreaterThan(2n ** 32n);
  });

  it('gives no id before it is known what was lost', async () => {
    const [first, second] = [await open(), await open()];
    await queue(first);
    await server.copy();
    const given = await eventually(
      () => queue(first).catch(() => null),
      (job) => job !== null,
    );
    await server.goBack();
    // The second replica remembers nothing of it, and its first statement finds the older database.
    const next = await eventually(
      () => queue(second).catch(() => null),
      (job) => job !== null,
    );
    expect(next?.id).toBeGreaterThan((given?.id ?? 0n) + 2n ** 31n);
  });

  it('ends and answers no order while it is not known: that would give a cursor again', async () => {
    const store = await open();
    await server.cut();
    await eventually(
      () => Promise.resolve(store.continuity.doubt()),
      (doubt) => doubt !== null,
    );
    await store.orders.expire(CHAIN, Date.now());
    expect(store.continuity.doubt()).toBeNull();
  });

  it.each([
    [
      'a nonce of the native API',
      async ({ admission }: KnexStore) => {
        const entry = { chain: CHAIN, credential: TRADER, nonce: '7', keepUntil: Date.now() + 60_000, isWrite: false } as const;
        expect(await admission.admit(0, [entry])).toMatchObject([{ isFresh: true }]);
      },
    ],
    [
      'an order of the native API',
      async ({ orders }: KnexStore) => {
        expect(await orders.place(orderDraft(CHAIN, TRADER))).toMatchObject({ kind: 'placed' });
      },
    ],
    [
      'a registration of an agent',
      async ({ access }: KnexStore) => {
        const agent = await access.authoriseAgent(claimOf('bot'), registrationOf('bot'), 'none');
        expect(agent).not.toBeNull();
      },
    ],
  ])('is noticed by %s alone, within the second of a counter', async (_what, write) => {
    const store = await open();
    const before = { chain: CHAIN, credential: TRADER, nonce: '6', keepUntil: Date.now() + 50_000, isWrite: false } as const;
    await store.admission.admit(0, [before]);
    await write(store);
    // The counter of this second is the same in what is put back.
    await store.db.transaction(async (trx) => {
      await trx('nonces').whereNot({ nonce: before.nonce }).delete();
      await trx('agents').delete();
      await trx('order_tags').delete();
    });
    await server.cut();
    expect(await lossOf(store)).toMatchObject({ adoptedAt: null });
  });

  it('misses no nonce that a replica with another clock has pruned', async () => {
    const store = await open();
    const entry = { chain: CHAIN, credential: TRADER, isWrite: false, keepUntil: Date.now() + 60_000 } as const;
    await store.admission.admit(0, [{ ...entry, nonce: '1' }]);
    await store.admission.prune(Date.now() + 300_000);
    await store.admission.admit(0, [{ ...entry, nonce: '2', keepUntil: Date.now() + 400_000 }]);
    await server.cut();
    await reviewed(store);
    expect(store.continuity.lastLoss()).toBeNull();
  });

  it('misses no nonce that was given back, and none whose time is over', async () => {
    const store = await open();
    const entry = { chain: CHAIN, credential: TRADER, isWrite: false } as const;
    const [released, old] = [
      { ...entry, nonce: '1', keepUntil: Date.now() + 60_000 },
      { ...entry, nonce: '2', keepUntil: Date.now() - 1 },
    ];
    await store.admission.admit(0, [released, old]);
    await store.admission.release([released]);
    await store.admission.prune(Date.now() + 120_000);
    expect(await store.db('nonces')).toEqual([]);
    await server.cut();
    await reviewed(store);
    expect(store.continuity.lastLoss()).toBeNull();
  });

  it('takes no signed request again that was taken in the time that was lost', async () => {
    const [first, second] = [await open(), await open()];
    await server.copy();
    const removal = { chain: CHAIN, trader: TRADER, name: 'bot', nonce: BigInt(Date.now()), at: Date.now() } as const;
    await eventually(
      () => first.signers.remove(removal).catch(() => null),
      (verdict) => verdict?.kind === 'taken',
    );
    await server.goBack();
    const refused = await eventually(
      () => second.signers.remove(removal).catch((error: unknown) => error),
      (answer) => !(answer instanceof GatewayError) || 'retryAfterSeconds' in (answer as GatewayError).details,
    );
    expect(refused).toMatchObject({ code: 'NOT_READY', details: { retryAfterSeconds: expect.any(Number) } });
  });

  it('is one loss, whichever replicas report it, and is adopted once for all', async () => {
    const [first, second] = [await open(), await open()];
    await server.copy();
    for (const store of [first, second])
      await eventually(
        () => queue(store).catch(() => null),
        (job) => job !== null,
      );
    await server.goBack();
    const [one, two] = [await lossOf(first), await lossOf(second)];
    expect(one?.id).toBe(two?.id);
    const adopted = await first.continuity.adopt(one?.id ?? 0n, 5_000);
    expect(adopted).toMatchObject({ adoptedAt: 5_000 });
    await expect(first.continuity.adopt(99n, 5_000)).resolves.toBeNull();
    const { rows } = await first.db.raw<{ rows: unknown[] }>('select id from commit_losses');
    expect(rows).toHaveLength(1);
  });

  it('waits for the operator though a short one follows', async () => {
    const store = await open();
    await store.continuity.prove({ reason: 'a test', at: Date.now() });
    await server.copy();
    await eventually(
      () => queue(store).catch(() => null),
      (job) => job !== null,
    );
    await server.goBack();
    const loss = await eventually(
      () => store.continuity.lastLoss(),
      (last) => last !== null && last.reason !== 'a test',
    );
    expect(loss).toMatchObject({ lostFrom: null, adoptedAt: null });
  });
});

describe('a switchover that loses nothing', () => {
  it('is no loss, although another server was promoted', async () => {
    let timeline = '00000001';
    const store = await open({ serverIdentity: (read) => ({ ...read, timeline }) });
    await queue(store);
    timeline = '00000002';
    await server.cut();
    await eventually(
      () =>
        store
          .db('deployment')
          .first<{ server_timeline: string }>('server_timeline')
          .catch(() => null),
      (row) => row?.server_timeline === timeline,
    );
    await store.continuity.known();
    expect([store.continuity.lastLoss(), store.continuity.doubt()]).toEqual([null, null]);
    expect((await queue(store)).id).toBeLessThan(100n);
  });

  it('is compared by a process that starts after it too', async () => {
    const before = await open({ serverIdentity: (read) => ({ ...read, timeline: '00000001' }) });
    await queue(before);
    const after = await open({ serverIdentity: (read) => ({ ...read, timeline: '00000002' }) });
    // Its first statements are no writes that were judged before.
    const next = createStore({
      log: createRecordedLog(),
      url: database.url,
      serverIdentity: (read) => ({ ...read, timeline: '00000003' }),
    });
    stores.push(next);
    await expect(next.instanceId()).resolves.toEqual(expect.any(String));
    await eventually(
      () => after.db('continuity_reviews').whereNotNull('ended_at').pluck<string[]>('reason'),
      (reasons) => reasons.includes('another server was promoted'),
    );
    expect(after.continuity.lastLoss()).toBeNull();
  });

  it('keeps no process from starting', async () => {
    const before = await open({ serverIdentity: (read) => ({ ...read, timeline: '00000001' }) });
    await queue(before);
    const started = await openDatabase({
      ...{ kind: 'server', url: database.url, poolSize: 4, limits: DEFAULT_LIMITS },
      ...{ clock: systemClock, log: createRecordedLog(), serverIdentity: (read) => ({ ...read, timeline: '00000002' }) },
    });
    stores.push(started);
    await started.continuity.known();
    expect(started.continuity.lastLoss()).toBeNull();
  });

  it('is not suspected because a silent connection was closed here', async () => {
    const store = await open({ limits: { ...DEFAULT_LIMITS, statementMs: 100, idleTransactionMs: 100 } });
    await Promise.all([queue(store), queue(store), queue(store)]);
    const reviews = (): Promise<unknown[]> => store.db('continuity_reviews');
    const before = await reviews();
    await systemClock.sleep(SILENCE_MS + 2_000);
    await expect(reviews()).resolves.toEqual(before);
  });

  it('needs no timeline where the service does not give one', async () => {
    const store = await open({ serverIdentity: (read) => ({ ...read, system: null, timeline: null, log: null }) });
    expect(store.continuity.doubt()).toBeNull();
    expect(store.continuity.notes()).toEqual([expect.stringContaining('does not give its timeline')]);
  });
});
