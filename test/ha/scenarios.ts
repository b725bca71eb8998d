import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './processes.js';
import type { ClusterSettings, Node, PostgresCluster } from './postgres-cluster.js';

export interface Scenario {
  readonly name: string;
  readonly settings: ClusterSettings;
  /** Whether commits are lost that the gateways were told of. */
  readonly loses: boolean;
  /** What happens while the bots go on; resolves when a server takes writes again. */
  act(cluster: PostgresCluster): Promise<Event>;
  /** What happens once orders go through again. */
  readonly afterwards?: (cluster: PostgresCluster, event: Event) => Promise<void>;
}

export interface Event {
  readonly at: number;
  readonly old: Node;
  readonly takesWritesAt: number;
}

const WITHHELD_MS = 3_000;
const RESTORED_TO_MS = 8_000;
const WITHOUT_ROOM_MS = 20_000;
/** Longer than `ttl`, so that the primary gives up. */
const WITHOUT_ETCD_MS = 30_000;

async function untilAnother(cluster: PostgresCluster, old: Node, at: number): Promise<Event> {
  await cluster.untilPromoted(old);
  return { at, old, takesWritesAt: Date.now() };
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'switchover',
    settings: {},
    loses: false,
    async act(cluster) {
      const old = await cluster.primary();
      const at = Date.now();
      const [event] = await Promise.all([untilAnother(cluster, old, at), cluster.switchover(old)]);
      return event;
    },
  },
  {
    name: 'the primary is killed, its standby is synchronous',
    settings: { synchronous: 'on' },
    loses: false,
    async act(cluster) {
      const old = await cluster.primary();
      const at = Date.now();
      await old.kill();
      return untilAnother(cluster, old, at);
    },
    afterwards: (_cluster, { old }) => Promise.resolve(old.start()),
  },
  {
    name: 'the primary is killed, its standbys lack three seconds',
    settings: {},
    loses: true,
    async act(cluster) {
      const old = await cluster.primary();
      old.line.freeze();
      await sleep(WITHHELD_MS);
      const at = Date.now();
      await old.killPostgres();
      old.line.drop();
      return untilAnother(cluster, old, at);
    },
  },
  {
    name: 'the primary stands still and goes on later, strictly synchronous',
    settings: { synchronous: 'strict' },
    loses: false,
    async act(cluster) {
      const old = await cluster.primary();
      const at = Date.now();
      await old.freeze();
      return untilAnother(cluster, old, at);
    },
    async afterwards(_cluster, { old }) {
      await old.thaw();
      await sleep(10_000);
    },
  },
  {
    name: 'etcd is gone for half a minute',
    settings: {},
    loses: false,
    async act(cluster) {
      const old = await cluster.primary();
      const at = Date.now();
      await cluster.etcd.kill();
      await sleep(WITHOUT_ETCD_MS);
      cluster.etcd.start();
      await cluster.untilPromoted(null);
      return { at, old, takesWritesAt: Date.now() };
    },
  },
  {
    // Sessions that are open go on for a while, new ones fail, and Patroni changes nothing: someone has to make room.
    name: 'the disk of the primary is full for 20 seconds',
    settings: { diskMib: 500, synchronous: 'on' },
    loses: false,
    async act(cluster) {
      const old = await cluster.primary();
      const at = Date.now();
      await run(old.folder, ['sh', '-c', 'cat /dev/zero > filler || true']);
      await sleep(WITHOUT_ROOM_MS);
      rmSync(path.join(old.folder, 'filler'));
      await cluster.untilPromoted(null);
      return { at, old, takesWritesAt: Date.now() };
    },
  },
  {
    name: 'a backup is put back, as of eight seconds before',
    settings: {},
    loses: true,
    async act(cluster) {
      const old = await cluster.primary();
      await old.pgbackrest('backup', '--type=full');
      await sleep(2_000);
      const target = new Date().toISOString().replace('T', ' ').replace('Z', '+00');
      await sleep(RESTORED_TO_MS);
      const at = Date.now();
      await cluster.restore(old, target);
      return { at, old, takesWritesAt: Date.now() };
    },
  },
];
