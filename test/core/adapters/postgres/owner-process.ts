/** A process that owns an embedded server, for tests that kill it: `tsx owner-process.ts <folder> [careless]`. It prints its events on stdout. */
import { startEmbeddedPostgres } from '../../../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { StoreStartError } from '../../../../core/adapters/postgres/faults.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import type { LogFields, Logger } from '../../../../core/ports/log.js';

const [folder = '', manner = 'durable', binaries] = process.argv.slice(2);
const print = (event: string, fields: LogFields = {}): void => void process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
const log: Logger = { debug: print, info: print, warn: print, error: print, child: () => log };

// As a main does: it decides itself when the server ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => print(signal));
try {
  const server = await startEmbeddedPostgres({
    folder,
    log,
    clock: systemClock,
    durable: manner === 'durable',
    ...(binaries === undefined ? {} : { binaries }),
  });
  print('up', { dataFolder: server.dataFolder, port: server.port, pid: server.pid(), isNew: server.isNew });
  process.stdin.resume().on('end', () => {
    print('stopping');
    void server.stop().then(() => print('stopped'));
  });
} catch (error) {
  const known = error instanceof StoreStartError;
  print('failed', { problem: known ? error.problem : 'unknown', message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
}
