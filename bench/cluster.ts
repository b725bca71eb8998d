import { measureReads, showReads } from './cluster-reads.js';
import { APIS, measureSockets, showSockets, type SocketsMeasured } from './cluster-sockets.js';
import { openClusterStage } from './cluster-stage.js';
import { report } from './take-turns.js';

/** What a second replica brings, and what very many sockets cost one. `--quick` is a look in passing, `--only=reads|sockets` one part, `--clients=` another crowd. */
const isQuick = process.argv.includes('--quick');
const wordOf = (name: string): string | undefined => process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const only = wordOf('only');
const READS = isQuick ? { rounds: 3, requests: 1_500 } : { rounds: 7, requests: 3_000 };
const SOCKETS = { clients: Number(wordOf('clients') ?? 2_000), seconds: isQuick ? 4 : 20 };
const TARGETS = { deliveryMs: 250, idleBytes: 40 * 1024, loopMs: 50 } as const;

const stage = await openClusterStage();
try {
  process.exitCode = await measure();
} finally {
  await stage.end();
}
process.exit();

async function measure(): Promise<number> {
  const rows: (readonly [string, number, number])[] = [];
  if (only !== 'sockets')
    rows.push(...showReads(await measureReads(stage, [await stage.startReplica(), await stage.startReplica()], READS)));
  for (const api of only === 'reads' ? [] : APIS) {
    // A fresh process each time: what another part left in memory is not a socket's.
    const measured = await measureSockets(stage, await stage.startReplica(), api, SOCKETS);
    showSockets(measured);
    rows.push(...rowsOf(measured));
  }
  return report(rows);
}

/** How often the limit fits into what was measured: 1 and more is met. */
function rowsOf({ api, deliveryMs, idleRss, loopMs }: SocketsMeasured): (readonly [string, number, number])[] {
  return [
    ...(deliveryMs
      ? [[`${api}: ${TARGETS.deliveryMs} ms / p99 delivery`, TARGETS.deliveryMs / Math.max(1, deliveryMs.p99), 1] as const]
      : []),
    [`${api}: 40 KiB / memory of an idle socket`, TARGETS.idleBytes / idleRss, 1],
    [`${api}: ${TARGETS.loopMs} ms / p99 of the event loop`, TARGETS.loopMs / Math.max(1, loopMs[1]), 1],
  ];
}
