import { readFileSync } from 'node:fs';
import { createLogger } from '../../core/adapters/telemetry/log.js';
import { readConfig } from '../../core/config/config.js';
import type { Store } from '../../core/ports/store.js';
import { startStore } from '../../app/compose/gateway.js';
import { readLauncher } from '../../app/lifecycle.js';
import { runGateway } from '../../app/run-gateway.js';

/**
 * The production gateway that kills itself, by the signal that cannot be caught, right after the step DOOM of an order's way to
 * the chain has taken effect, counted from the signed action on. It prints each step, so that the test can count them.
 */

const WRITES = /^(?:claim|record|place|queue$|queueAll|number|sign|add|accept|setState|settle$|keep|save|assign)/;
const FIRST = 'claim';

const crashStep = Number(process.env['DOOM'] ?? '0');
let steps = 0;
let isOnItsWay = false;

/** Only writes count: a crash after a read is a crash after the write before it. */
function crashing<Part extends object>(part: Part): Part {
  const wrapped = Object.entries(part).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function' || !WRITES.test(name)) return [name, method];
    return [
      name,
      async (...rest: unknown[]): Promise<unknown> => {
        const result: unknown = await (method as (...rest: unknown[]) => Promise<unknown>)(...rest);
        isOnItsWay ||= name.startsWith(FIRST);
        if (isOnItsWay) step(name);
        return result;
      },
    ];
  });
  return Object.fromEntries(wrapped) as Part;
}

function step(name: string): void {
  steps += 1;
  process.stdout.write(`step ${steps} ${name}\n`);
  if (steps === crashStep) process.kill(process.pid, 'SIGKILL');
}

const crashingStore = (store: Store): Store => ({
  ...store,
  signers: crashing(store.signers),
  relay: crashing(store.relay),
  orders: crashing(store.orders),
  exchange: crashing(store.exchange),
});

const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));

await runGateway({
  config,
  log: createLogger(config.logLevel),
  launcher: readLauncher(process.env),
  openStore: async (parts, database) => crashingStore(await startStore(parts, database)),
});
