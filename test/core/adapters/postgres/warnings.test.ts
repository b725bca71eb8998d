import { spawn } from 'node:child_process';
import path from 'node:path';
import { createEmptyTestDatabase } from '../../../harness/database/test-database.js';

const STORE = path.resolve(import.meta.dirname, '../../../../core/adapters/postgres');

/** Leases asked for at once, as by the followers and wallets of many chains, and a journal whose connection is lost again and again. */
const SCRIPT = `
  import { openDatabase } from '${STORE}/open-database.ts';
  import { reachDatabase } from '${STORE}/connect-database.ts';
  import { createLeaseKeeper } from '${STORE}/lease-keeper.ts';
  import { listenToJournal } from '${STORE}/journal-store.ts';
  import { systemClock } from '${STORE}/../system/clock.ts';

  const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log };
  const url = process.env.DATABASE_URL;
  const store = await openDatabase({ kind: 'server', url, clock: systemClock, log });
  const { db, createClient } = reachDatabase({ url, log });

  const keeper = createLeaseKeeper({ createClient: () => createClient({ applicationName: 'leases' }), clock: systemClock, log });
  const held = await Promise.all(Array.from({ length: 20 }, (_, at) => keeper.lease('lease ' + at)));
  await keeper.close();

  const listener = await listenToJournal(
    { db, clock: systemClock, log, createClient: () => createClient({ applicationName: 'journal' }) }, () => undefined);
  const lost = new Set();
  while (lost.size < 12) {
    const { rows } = await db.raw(\`
      select pid, pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'journal'
        and state = 'idle' and query <> '' and query not like '%set_config%'\`);
    for (const { pid } of rows) lost.add(pid);
    await systemClock.sleep(5);
  }
  await listener.stop();
  await db.destroy();
  await store.close();
  console.log(JSON.stringify({ held: held.filter((lease) => lease !== null).length, lost: lost.size }));`;

describe('a database that many use at once, and that is lost again and again', () => {
  it('makes the runtime and the driver warn of nothing', async () => {
    const database = await createEmptyTestDatabase();
    try {
      const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--trace-warnings', '-e', SCRIPT], {
        env: { DATABASE_URL: database.url },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let [output, complaint] = ['', ''];
      child.stdout.on('data', (part: Buffer) => (output += part.toString()));
      child.stderr.on('data', (part: Buffer) => (complaint += part.toString()));
      const code = await new Promise((resolve) => child.on('close', resolve));
      expect([code, complaint, output.trim()]).toEqual([0, '', '{"held":20,"lost":12}']);
    } finally {
      await database.drop();
    }
  });
});
