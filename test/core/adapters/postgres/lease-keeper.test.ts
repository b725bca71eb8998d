import pg from 'pg';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { createLeaseKeeper, type LeaseKeeper } from '../../../../core/adapters/postgres/lease-keeper.js';
import { openDatabaseLine, type DatabaseProxy } from '../../../harness/process/database-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { eventually, until } from '../../../harness/time/eventually.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

/** Two replicas, one of them behind a proxy that can be cut. */

let database: TestDatabase;
let proxy: DatabaseProxy;
let far: LeaseKeeper;
let near: LeaseKeeper;

const keeperAt = (url: string): LeaseKeeper =>
  createLeaseKeeper({
    createClient: () => new pg.Client({ connectionString: url, connectionTimeoutMillis: 60_000, query_timeout: 4_000 }),
    clock: systemClock,
    log: createRecordedLog(),
  });

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await openDatabaseLine(database.url);
  far = keeperAt(proxy.url);
  near = keeperAt(database.url);
});
afterAll(async () => {
  await Promise.all([far.close(), near.close()]);
  await proxy.close();
  await database.drop();
});

const taken = (keeper: LeaseKeeper, name: string) =>
  eventually(
    () => keeper.lease(name),
    (lease) => lease !== null,
  );

describe('a lease', () => {
  it('is given to one of many who ask at once, also of the same replica', async () => {
    const asked = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? far : near).lease('one of many')));
    const held = asked.filter((lease) => lease !== null);
    expect(held.map((lease) => lease.isHeld())).toEqual([true]);
    await held[0]?.release();
    expect(held[0]?.isHeld()).toBe(false);
    expect((await near.lease('one of many'))?.isHeld()).toBe(true);
  });

  it('can be taken again the moment it is given back, and other leases are kept', async () => {
    const [kept, given] = [await near.lease('kept'), await near.lease('given')];
    await given?.release();
    expect(await far.lease('given')).not.toBeNull();
    expect(await far.lease('kept')).toBeNull();
    expect(kept?.isHeld()).toBe(true);
  });

  it('ends with its connection, and is had again over the next one', async () => {
    const lease = await far.lease('reset');
    proxy.reset();
    await until(() => lease?.isHeld() === false);
    expect((await taken(near, 'reset'))?.isHeld()).toBe(true);
    expect((await taken(far, 'another'))?.isHeld()).toBe(true);
  });

  it('is given up by a replica that is cut off before another can take it', async () => {
    const lease = await far.lease('cut off');
    expect(lease?.isHeld()).toBe(true);
    proxy.freeze();
    const next = await eventually(
      async () => {
        const got = await near.lease('cut off');
        // Once another replica has the lease, the first must no longer report it as held.
        return got === null ? null : { got, isDoubted: lease?.isHeld() === false };
      },
      (got) => got !== null,
    );
    expect(next?.isDoubted).toBe(true);
    proxy.heal();
    expect(lease?.isHeld()).toBe(false);
    expect(await far.lease('cut off').catch(() => null)).toBeNull();
    await next?.got.release();
    expect(
      (
        await eventually(
          () => far.lease('cut off').catch(() => null),
          (got) => got !== null,
        )
      )?.isHeld(),
    ).toBe(true);
  });
});
