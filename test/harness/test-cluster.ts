import { rm } from 'node:fs/promises';
import { startEmbeddedPostgres } from '../../core/adapters/store/embedded/start-embedded-postgres.js';
import { makeThrowAwayFolder } from './throw-away-folder.js';
import { systemClock } from '../../core/adapters/system-clock.js';
import type { Logger } from '../../core/ports.js';

const say = (event: string, fields?: unknown): void => console.error(event, fields);
const nothing = (): void => undefined;
const log: Logger = { debug: nothing, info: nothing, warn: nothing, error: say, child: () => log };

/** One server for the whole run; it ends with this process, however that ends. `TEST_DATABASE_URL` names another one to use. */
export async function startTestCluster(environment: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  if (environment['TEST_DATABASE_URL'] !== undefined) return () => Promise.resolve();
  const folder = await makeThrowAwayFolder('diamond-gateway-test');
  const server = await startEmbeddedPostgres({ folder, log, clock: systemClock, durable: false });
  environment['TEST_DATABASE_URL'] = server.url; // workers are started after this and inherit it
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
