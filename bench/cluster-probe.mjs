import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import pg from 'pg';

/**
 * Loaded before the production program by `node --import`, plain because a loader of sources would add work to all that is loaded after it:
 * it counts what the program asks its database and answers what it uses. The program itself knows nothing of it.
 */

const RESOLUTION_MS = 10;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
let statements = 0;
let admissions = 0;

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function counted(asked, ...others) {
  statements += 1;
  const text = typeof asked === 'string' ? asked : (asked?.text ?? '');
  if (text.includes('insert into nonces')) admissions += 1;
  return query.call(this, asked, ...others);
};

/** How long the main thread was ready to run and got no core, in microseconds; null where the system does not tell. */
function waited() {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[1]) / 1e3;
  } catch {
    return null;
  }
}

/** Loop delays are those since the last answer; what a timer takes anyway is no delay. */
function usage(collects) {
  const loopMs = [50, 99, 100].map((part) => Math.max(0, delays.percentile(part) / 1e6 - RESOLUTION_MS));
  delays.reset();
  if (collects) for (let turn = 0; turn < 3; turn += 1) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { cpu: user + system, waited: waited(), rss, heap: heapUsed + external, statements, admissions, loopMs };
}

process.on('message', (question) => process.send?.(usage(question === 'memory')));
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
