import { readFileSync } from 'node:fs';
import net from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded before the production program by `node --import`, plain because a loader of sources would add work to all that is loaded after it:
 * it counts what the program asks its database and answers what it uses. The program itself knows nothing of it.
 */

const RESOLUTION_MS = 10;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
let trips = 0;
let admissions = 0;

/** Names of prepared statements that admit a request, by connection to the database. */
const admitting = new WeakMap();
const PROTOCOL_3 = 196_608;

// The program is bundled with its database driver, which cannot be replaced from here: its messages are read as they are written to sockets.
const { write } = net.Socket.prototype;
net.Socket.prototype.write = function counted(chunk, ...others) {
  if (Buffer.isBuffer(chunk)) count(this, chunk);
  return write.call(this, chunk, ...others);
};

function count(socket, bytes) {
  const names = admitting.get(socket);
  if (names === undefined) {
    if (bytes.length >= 8 && bytes.readInt32BE(4) === PROTOCOL_3) admitting.set(socket, new Set());
    return;
  }
  for (let at = 0; at + 5 <= bytes.length; at += 1 + bytes.readInt32BE(at + 1)) {
    const type = String.fromCharCode(bytes[at]);
    if (type === 'P') {
      const [name, after] = textAt(bytes, at + 5);
      if (textAt(bytes, after)[0].includes('insert into nonces')) names.add(name);
      else names.delete(name);
    }
    if (type === 'B' && names.has(textAt(bytes, textAt(bytes, at + 5)[1])[0])) admissions += 1;
    if (type === 'Q' || type === 'S') trips += 1;
  }
}

/** A text that ends with a zero byte, and where the next one begins. */
function textAt(bytes, from) {
  const end = bytes.indexOf(0, from);
  return [bytes.toString('utf8', from, end), end + 1];
}

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
  return { cpu: user + system, waited: waited(), rss, heap: heapUsed + external, trips, admissions, loopMs };
}

process.on('message', (question) => process.send?.(usage(question === 'memory')));
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
