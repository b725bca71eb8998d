import { createLogger } from '../../core/adapters/telemetry/log.js';
import { openDatabase } from '../../core/adapters/postgres/open-database.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { readDatabase } from '../../core/config/config.js';
import { readOrExit, runToEnd } from '../lifecycle.js';
import { readSettings } from '../read-settings.js';

/** Migrates the schema and exits. The gateway does the same at start; this is for operators who want it done before. */
const { settings: database } = readOrExit(() => readSettings(process.env, readDatabase));

await runToEnd(async () => {
  const store = await openDatabase({ ...database, clock: systemClock, log: createLogger('info') });
  await store.close();
});
