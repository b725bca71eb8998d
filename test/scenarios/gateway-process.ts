import { openDatabase } from '../../core/adapters/postgres/open-database.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { Gateway } from '../../core/gateway.js';
import { createReplica, type Replica, type ReplicaOptions } from '../harness/process/replica.js';
import { createTestDatabase } from '../harness/database/test-database.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import type { TestVenue } from '../harness/venue/own-venue.js';

/** The built production gateway as a process of its own, on a database of its own. */
export interface GatewayProcess extends Pick<Replica, 'front' | 'url' | 'start' | 'kill'> {
  /** Reads the database of the process, for the checker; follows nothing. */
  readonly books: Gateway;
  /** Resolves when it has died by itself. */
  died(): Promise<void>;
  /** The process is dead while this happens, and lives again afterwards. */
  deadWhile(act: () => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
}

export async function createGatewayProcess(
  sandbox: TestVenue,
  { settings = {}, ...program }: Partial<ReplicaOptions> = {},
): Promise<GatewayProcess> {
  const database = await createTestDatabase();
  const replica = createReplica(sandbox, { ...program, settings: { ...settings, DATABASE_URL: database.url } });
  await replica.start();
  const books = await openBooks(sandbox, database.url);
  return {
    ...replica,
    books: books.gateway,
    async died() {
      await replica.ended();
    },
    async deadWhile(act) {
      await replica.kill();
      await act();
      await replica.start();
    },
    async stop() {
      await replica.kill();
      await books.close();
      await database.drop();
    },
  };
}

/** A gateway's view of a database that others write; it follows nothing itself. */
export async function openBooks(sandbox: TestVenue, url: string) {
  const store = await openDatabase({ kind: 'server', url, clock: systemClock, log: createRecordedLog() });
  return { store, gateway: { ...sandbox.gateway, store }, close: () => store.close() };
}
