/** A process that owns an embedded server, for tests that kill it: `tsx owner-process.ts <folder> [careless]`. It tells on stdout what happens. */
import { startEmbeddedPostgres } from '../../../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { StoreStartError } from '../../../../core/adapters/postgres/store-start-error.js';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import type { LogFields, Logger } from '../../../../core/ports/log.js';

const [folder = '', manner = 'durable', binaries] = process.argv.slice(2);
const tell = (event: string, fields: LogFields = {}): void => void process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
const log: Logger = { debug: tell, info: tell, warn: tell, error: tell, child: () => log };

// As a main does: it decides itself when the server ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tell(signal));
try {
  const server = await startEmbeddedPostgres({
    folder,
    log,
    clock: systemClock,
    durable: manner === 'durable',
    ...(binaries === undefined ? {} : { binaries }),
  });
  tell('up', { dataFolder: server.dataFolder, port: server.port, pid: server.pid(), isNew: server.isNew });
  process.stdin.resume().on('end', () => {
    tell('stopping');
    void server.stop().then(() => tell('stopped'));
  });
} catch (error) {
  const known = error instanceof StoreStartError;
  tell('failed', { problem: known ? error.problem : 'unknown', message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
}
