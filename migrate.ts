import { createLogger } from './core/adapters/log.js';
import { openDatabase } from './core/adapters/store/open-database.js';
import { StoreStartError } from './core/adapters/store/store-start-error.js';
import { systemClock } from './core/adapters/system-clock.js';
import { DatabaseUrl } from './core/config.js';
import { redactText } from './core/redact.js';

/** Brings the schema up to date and ends. The gateway does the same at its start; this is for those who want it done before. */
const location = DatabaseUrl.safeParse(process.env['DATABASE_URL']);
if (!location.success) end(`DATABASE_URL ${location.error.issues[0]?.message ?? 'is not valid'}.`);

try {
  const store = await openDatabase({ ...location.data, clock: systemClock, log: createLogger('info') });
  await store.close();
} catch (error) {
  if (error instanceof StoreStartError) end(error.cause instanceof Error ? `${error.message}\n${error.cause.message}` : error.message);
  end(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

function end(sentence: string): never {
  process.stderr.write(`${redactText(sentence)}\n`);
  process.exit(1);
}
