import type { ClientOrder, Measured } from './cluster-clients.js';
import type { BenchReplica, ClusterStage } from './cluster-stage.js';
import { ask, CHAIN, leave, start } from './relayer-stage.js';

/** Very many sockets on one replica: what an idle one holds, and how late prices are when all of them listen. */

const UPDATES_PER_SECOND = 20;
const MARKETS_PER_UPDATE = 5;
const SETTLE_MS = 3_000;

export interface SocketsOptions {
  readonly clients: number;
  readonly seconds: number;
}

export interface Api {
  readonly name: string;
  readonly path: string;
  readonly subscribe: string;
}

export const APIS: readonly Api[] = [
  { name: 'native prices', path: `/v1/${CHAIN}/ws`, subscribe: '{"op":"subscribe","channel":"prices"}' },
  { name: 'facade allMids', path: `/hl/${CHAIN}/ws`, subscribe: '{"method":"subscribe","subscription":{"type":"allMids"}}' },
];

export interface SocketsMeasured extends Measured {
  readonly api: string;
  readonly clients: number;
  /** Bytes of the replica before anybody came. */
  readonly emptyRss: number;
  /** Bytes of one idle line. */
  readonly idleRss: number;
  readonly idleHeap: number;
  readonly loopMs: readonly [number, number, number];
  /** Microseconds of the gateway's processor time in the time measured. */
  readonly gatewayCpu: number;
  /** Microseconds in which others had the core it wanted. */
  readonly gatewayWaited: number | null;
}

export async function measureSockets(
  stage: ClusterStage,
  replica: BenchReplica,
  api: Api,
  { clients, seconds }: SocketsOptions,
): Promise<SocketsMeasured> {
  const crowd = start('./cluster-clients.ts', []);
  const order = async (asked: ClientOrder): Promise<Measured> => (await ask(crowd, asked)) as Measured;
  try {
    await stage.pace(1, MARKETS_PER_UPDATE);
    const empty = await replica.usage('memory');
    await order({ kind: 'open', url: replica.url, path: api.path, count: clients });
    await settle();
    const idle = await replica.usage('memory');
    await stage.pace(UPDATES_PER_SECOND, MARKETS_PER_UPDATE);
    await order({ kind: 'say', text: api.subscribe });
    await settle();
    const before = await replica.usage();
    const measured = await order({ kind: 'measure', seconds });
    const after = await replica.usage();
    await order({ kind: 'close' });
    return {
      ...measured,
      api: api.name,
      clients,
      emptyRss: empty.rss,
      idleRss: (idle.rss - empty.rss) / clients,
      idleHeap: (idle.heap - empty.heap) / clients,
      loopMs: after.loopMs,
      gatewayCpu: after.cpu - before.cpu,
      gatewayWaited: after.waited === null || before.waited === null ? null : after.waited - before.waited,
    };
  } finally {
    await leave(crowd);
    await stage.pace(1, MARKETS_PER_UPDATE);
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

export function showSockets(measured: SocketsMeasured): void {
  const { api, clients, emptyRss, seconds, frames, bytes, fewest, deliveryMs, loopMs, idleRss, idleHeap, gatewayCpu, gatewayWaited, cpu } =
    measured;
  const share = (us: number): string => `${((us / 1e6 / seconds) * 100).toFixed(0)} % of a core`;
  console.log(`${clients} sockets on one replica, ${api}, ${UPDATES_PER_SECOND} updates/s from the source`);
  console.log(`  alone        ${(emptyRss / 1024 / 1024).toFixed(0)} MiB of resident memory for the replica`);
  console.log(`  idle         ${kib(idleRss)} of resident memory, ${kib(idleHeap)} of heap a socket`);
  console.log(
    `  received     ${(frames / clients / seconds).toFixed(1)} frames/s a socket (fewest ${(fewest / seconds).toFixed(1)}) of ${(bytes / frames).toFixed(0)} bytes`,
  );
  if (deliveryMs)
    console.log(`  delivery     p50 ${deliveryMs.p50} ms, p99 ${deliveryMs.p99} ms, most ${deliveryMs.most} ms, from the source's stamp`);
  console.log(`  event loop   p50 ${loopMs[0].toFixed(1)} ms, p99 ${loopMs[1].toFixed(1)} ms, most ${loopMs[2].toFixed(1)} ms late`);
  console.log(
    `  costs        ${(gatewayCpu / frames).toFixed(1)} us of the gateway per frame; gateway ${share(gatewayCpu)}, clients ${share(cpu)}`,
  );
  if (gatewayWaited !== null)
    console.log(`  of the time  the gateway waited ${share(gatewayWaited).replace(' of a core', '')} for a core that others had\n`);
}
