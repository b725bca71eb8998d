import pg from 'pg';
import { createStore, type KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { appendJournal } from '../../../core/adapters/postgres/journal-rows.js';
import { decimal } from '../../../core/domain/decimal.js';
import type { JournalEntry, JournalFact } from '../../../core/ports/stores/journal.js';
import type { Address } from '../../../core/types.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { eventually } from '../../harness/time/eventually.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';

const CHAIN = 'arbitrum';
let database: TestDatabase;
let store: KnexStore;
const log = createRecordedLog();

beforeAll(async () => {
  database = await createTestDatabase();
  store = createStore({ log, url: database.url });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

const wallet = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`;
let wallets = 0;
const newAccount = (): Address => wallet((wallets += 1));

const fact = (trader: Address, name: string): JournalFact => ({
  kind: 'agent',
  agent: {
    agent: wallet(0xa),
    trader,
    name,
    mode: 'self',
    createdAt: 1,
    revokedAt: null,
    version: 2n ** 60n,
    scope: { markets: ['BTC/USD'], maxLeverage: decimal(125n, 1), dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' },
  },
});
const write = (trader: Address, ...names: string[]): Promise<void> =>
  store.transaction((trx) =>
    appendJournal(
      trx,
      CHAIN,
      7,
      names.map((name) => ({ trader, fact: fact(trader, name) })),
    ),
  );
const nameOf = ({ fact: written }: JournalEntry): string => (written.kind === 'agent' ? written.agent.name : written.kind);
const counted = (from: number, to: number): bigint[] => Array.from({ length: to - from + 1 }, (_, at) => BigInt(from + at));

/** Every entry that a listener received, in order. */
async function listen(on: KnexStore = store) {
  const received: JournalEntry[] = [];
  const cancel = await on.journal.listen((entries) => void received.push(...entries));
  return { cancel, of: (trader: Address) => received.filter((entry) => entry.trader === trader) };
}

async function endListeners(): Promise<number> {
  const { rows } = await store.db.raw<{ rows: unknown[] }>(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'diamond-gateway journal'`,
  );
  return rows.length;
}

async function listeners(): Promise<number> {
  const { rows } = await store.db.raw<{ rows: unknown[] }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'diamond-gateway journal'`,
  );
  return rows.length;
}

/** Open connections stay open. */
async function allowConnections(allowed: boolean): Promise<void> {
  const client = new pg.Client(process.env['TEST_DATABASE_URL']);
  await client.connect();
  try {
    await client.query(`alter database ${new URL(database.url).pathname.slice(1)} with allow_connections ${String(allowed)}`);
  } finally {
    await client.end();
  }
}

describe('the journal of an account', () => {
  it('counts from one without a gap and gives back exactly what was written', async () => {
    const trader = newAccount();
    await write(trader, 'one', 'two');
    await write(trader, 'three');
    const entries = await store.journal.after(CHAIN, trader, 0n, 10);
    expect(entries).toEqual(
      ['one', 'two', 'three'].map((name, at) => ({ chain: CHAIN, trader, cursor: BigInt(at + 1), at: 7, fact: fact(trader, name) })),
    );
    expect(await store.journal.after(CHAIN, trader, 1n, 1)).toEqual(entries.slice(1, 2));
    expect(await store.journal.last(CHAIN, trader)).toBe(3n);
    expect(await store.journal.last('base', trader)).toBe(0n);
    expect(await store.journal.after('base', trader, 0n, 10)).toEqual([]);
  });

  it('drops entries and cursors of a rolled-back transaction', async () => {
    const trader = newAccount();
    await expect(
      store.transaction(async (trx) => {
        await appendJournal(trx, CHAIN, 7, [{ trader, fact: fact(trader, 'never') }]);
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    await write(trader, 'first');
    expect((await store.journal.after(CHAIN, trader, 0n, 10)).map(nameOf)).toEqual(['first']);
  });

  it('is read and published in order while 64 writers write to it at once', async () => {
    const trader = newAccount();
    const { of, cancel } = await listen();
    const read: bigint[] = [];
    const writers = { areDone: false };
    const reading = (async () => {
      while (!writers.areDone || BigInt(read.length) < (await store.journal.last(CHAIN, trader)))
        read.push(...(await store.journal.after(CHAIN, trader, read.at(-1) ?? 0n, 7)).map(({ cursor }) => cursor));
    })();
    await Promise.all(Array.from({ length: 64 }, (_, at) => write(trader, `${at}a`, `${at}b`, `${at}c`)));
    writers.areDone = true;
    await reading;
    expect(read).toEqual(counted(1, 192));
    const received = await eventually(
      () => of(trader),
      (entries) => entries.length >= 192,
    );
    expect(received.map(({ cursor }) => cursor)).toEqual(counted(1, 192));
    expect(received.map(nameOf)).toEqual((await store.journal.after(CHAIN, trader, 0n, 500)).map(nameOf));
    cancel();
  });

  it('loses no writer to another that locks the same accounts in another order', async () => {
    const [one, other] = [newAccount(), newAccount()];
    const both = (accounts: readonly Address[]) =>
      store.transaction((trx) =>
        appendJournal(
          trx,
          CHAIN,
          7,
          accounts.map((trader) => ({ trader, fact: fact(trader, 'both') })),
        ),
      );
    await Promise.all(Array.from({ length: 40 }, (_, at) => both(at % 2 === 0 ? [one, other] : [other, one])));
    expect([await store.journal.last(CHAIN, one), await store.journal.last(CHAIN, other)]).toEqual([40n, 40n]);
  });
});

describe('a listener of all journals', () => {
  it('receives what another store wrote, once, and nothing that was written before', async () => {
    const trader = newAccount();
    await write(trader, 'before');
    const { of, cancel } = await listen();
    const other = createStore({ log, url: database.url });
    await other.transaction((trx) => appendJournal(trx, CHAIN, 7, [{ trader, fact: fact(trader, 'after') }]));
    await other.close();
    await eventually(
      () => of(trader).map(nameOf),
      (names) => names.length > 0,
    );
    await write(trader, 'last');
    const received = await eventually(
      () => of(trader).map(nameOf),
      (names) => names.includes('last'),
    );
    expect(received).toEqual(['after', 'last']);
    cancel();
  });

  it('receives a transaction that began first and ended last, after one that overtook it', async () => {
    const [slow, quick] = [newAccount(), newAccount()];
    const { of, cancel } = await listen();
    await store.transaction(async (trx) => {
      await appendJournal(trx, CHAIN, 7, [{ trader: slow, fact: fact(slow, 'slow') }]);
      await write(quick, 'quick');
      await eventually(
        () => of(quick),
        (entries) => entries.length === 1,
      );
      expect(of(slow)).toEqual([]);
    });
    await eventually(
      () => of(slow),
      (entries) => entries.length === 1,
    );
    expect(of(quick)).toHaveLength(1);
    cancel();
  });

  it('misses nothing and receives nothing twice while its connection is killed again and again', async () => {
    const trader = newAccount();
    const { of, cancel } = await listen();
    let killed = 0;
    for (let at = 0; at < 40; at += 1) {
      await write(trader, `${at}`, `${at}'`);
      if (at % 4 === 0) killed += await endListeners();
    }
    const received = await eventually(
      () => of(trader),
      (entries) => entries.length >= 80,
    );
    expect(killed).toBeGreaterThan(0);
    await write(trader, 'end');
    await eventually(
      () => of(trader).at(-1)?.cursor,
      (cursor) => cursor === 81n,
    );
    expect(received.map(({ cursor }) => cursor)).toEqual(counted(1, 80));
    cancel();
  });

  it('receives entries through other connections while it cannot have one of its own', async () => {
    const trader = newAccount();
    const { of, cancel } = await listen();
    const untilReceived = (name: string) =>
      eventually(
        () => of(trader).map(nameOf),
        (names) => names.includes(name),
      );
    await write(trader, 'before');
    await untilReceived('before');
    await allowConnections(false);
    try {
      await endListeners();
      await write(trader, 'meanwhile');
      await untilReceived('meanwhile');
    } finally {
      await allowConnections(true);
    }
    await eventually(listeners, (count) => count > 0);
    await write(trader, 'after');
    expect(await untilReceived('after')).toEqual(['before', 'meanwhile', 'after']);
    cancel();
  });

  it('receives a batch that is larger than a page, of many accounts, whole and in order', async () => {
    const accounts = Array.from({ length: 300 }, newAccount);
    const { of, cancel } = await listen();
    await store.transaction((trx) =>
      appendJournal(
        trx,
        CHAIN,
        7,
        Array.from({ length: 9 }, (_, turn) => accounts.map((trader) => ({ trader, fact: fact(trader, `${turn}`) }))).flat(),
      ),
    );
    await eventually(
      () => accounts.reduce((sum, trader) => sum + of(trader).length, 0),
      (sum) => sum >= 2_700,
    );
    for (const trader of accounts) expect(of(trader).map(({ cursor }) => cursor)).toEqual(counted(1, 9));
    cancel();
  });

  it('receives no old entries from a database that was restored into a younger cluster', async () => {
    const trader = newAccount();
    await write(trader, 'restored');
    await store.db.raw(
      `update journal set transaction_id = (pg_current_xact_id()::text::bigint + 3)::text::xid8, written_at = written_at - 86400000
       where trader = ?`,
      [trader],
    );
    const { of, cancel } = await listen();
    const busy = newAccount();
    for (let at = 0; at < 6; at += 1) await write(busy, `${at}`);
    await eventually(
      () => of(busy),
      (entries) => entries.length === 6,
    );
    expect(of(trader)).toEqual([]);
    cancel();
  });
});
