import { execFileSync, type ChildProcess } from 'node:child_process';
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { parse } from 'yaml';
import { z } from 'zod';
import { readText } from '../docker/read-dockerfile.js';
import { makeDataFolder } from '../harness/database/temporary-folder.js';
import { eventually } from '../harness/time/eventually.js';
import { openLine, type Line } from './line.js';
import { ACCOUNT, freePorts, guardFolder, killIn, launch, processesIn, run, signalIn } from './processes.js';

/** A machine with PostgreSQL and its Patroni. */
export interface Node {
  readonly name: string;
  readonly folder: string;
  readonly data: string;
  /** PostgreSQL itself, without anything in between. */
  readonly url: string;
  /** The other servers copy from here. */
  readonly line: Line;
  start(): void;
  /** As an operator does it: Patroni stops PostgreSQL. */
  stop(): Promise<void>;
  /** SIGKILL for PostgreSQL and Patroni: the machine is gone. */
  kill(): Promise<void>;
  /** SIGKILL for PostgreSQL alone. */
  killPostgres(): Promise<void>;
  /** The whole machine stands still, as a virtual one that is being moved. */
  freeze(): Promise<void>;
  /** PostgreSQL goes on, Patroni starts anew: an old one that goes on in the middle of its work may take the lead back. */
  thaw(): Promise<void>;
  /** The stanza holds this server. */
  pgbackrest(what: 'stanza-create' | 'backup' | 'restore', ...words: readonly string[]): Promise<string>;
}

export interface PostgresCluster {
  /** Through PgBouncer and HAProxy, as gateways connect. */
  readonly url: string;
  readonly folder: string;
  readonly nodes: readonly Node[];
  primary(): Promise<Node>;
  switchover(old: Node): Promise<void>;
  /** The first server other than this one that takes writes. */
  untilPromoted(old: Node | null): Promise<Node>;
  /** Stops everything, puts the newest backup back on that server as of a moment, and builds the cluster anew from it. */
  restore(on: Node, target: string): Promise<void>;
  /** One primary, and two that follow it. */
  untilWhole(): Promise<void>;
  readonly etcd: { kill(): Promise<void>; start(): void };
  stop(): Promise<void>;
}

export interface ClusterSettings {
  readonly synchronous?: 'off' | 'on' | 'strict';
  /** Each server's data lie on a file system of this size, in MiB. */
  readonly diskMib?: number;
}

/** What operators are given. */
const { ttl, loop_wait, retry_timeout, primary_start_timeout } = z
  .object({ ttl: z.number(), loop_wait: z.number(), retry_timeout: z.number(), primary_start_timeout: z.number() })
  .parse((parse(readText('docker/ha/patroni.yaml')) as { bootstrap: { dcs: unknown } }).bootstrap.dcs);
const SCOPE = 'ha';
/** How long a PostgreSQL that was frozen goes on without its Patroni. */
const ALONE_MS = 5_000;

const Members = z.object({
  members: z.array(z.object({ name: z.string(), role: z.string(), state: z.string(), timeline: z.number().optional() })),
});

export async function startPostgresCluster({ synchronous = 'off', diskMib }: ClusterSettings = {}): Promise<PostgresCluster> {
  const folder = await makeDataFolder('diamond-gateway-ha');
  const endGuard = guardFolder(folder);
  const own = (name: string, text?: string): string => {
    const full = path.join(folder, name);
    if (text === undefined) mkdirSync(full, { recursive: true, mode: 0o700 });
    else writeFileSync(full, text, { mode: 0o600 });
    if (process.getuid?.() === 0) chownSync(full, idOf('-u'), idOf('-g'));
    return full;
  };
  const [etcdPort = 0, peerPort = 0, haproxyPort = 0, bouncerPort = 0, ...nodePorts] = await freePorts(10);
  const lines: Line[] = [];
  const stop = async (): Promise<void> => {
    await endGuard();
    await Promise.all(lines.map((line) => line.close()));
  };

  try {
    const etcdFolder = own('etcd');
    const [etcdUrl, peerUrl] = [`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${peerPort}`];
    const startEtcd = (): void =>
      void launch(etcdFolder, 'etcd', [
        ...['etcd', '--name=etcd', `--data-dir=${path.join(etcdFolder, 'data')}`, '--log-level=warn'],
        ...[`--listen-client-urls=${etcdUrl}`, `--advertise-client-urls=${etcdUrl}`],
        ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`, `--initial-cluster=etcd=${peerUrl}`],
      ]);
    startEtcd();

    own('backups');
    const backups = own(
      'pgbackrest.conf',
      [
        ...['[global]', `repo1-path=${own('backups/repository')}`, `log-path=${own('backups/log')}`, `lock-path=${own('backups/lock')}`],
        ...[`spool-path=${own('backups/spool')}`, 'start-fast=y', 'log-level-console=warn', 'compress-type=lz4', ''],
      ].join('\n'),
    );

    const nodes: { node: Node; restPort: number; port: number }[] = [];
    for (const at of [0, 1, 2]) {
      const [port = 0, restPort = 0] = nodePorts.slice(2 * at, 2 * at + 2);
      const name = `node${at + 1}`;
      const nodeFolder = own(name);
      if (diskMib !== undefined) {
        execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMib}m`, 'tmpfs', nodeFolder]);
        own(name);
      }
      const url = `postgres://postgres@127.0.0.1:${port}/gateway`;
      const line = await openLine(port);
      lines.push(line);
      const data = path.join(nodeFolder, 'data');
      const sockets = own(`sockets${at + 1}`);
      const backup = ['pgbackrest', `--config=${backups}`, '--stanza=ha', `--pg1-path=${data}`];
      const settings = {
        scope: SCOPE,
        name,
        restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
        etcd3: { host: `127.0.0.1:${etcdPort}` },
        bootstrap: {
          dcs: {
            ...{ ttl, loop_wait, retry_timeout, primary_start_timeout },
            maximum_lag_on_failover: 1_073_741_824,
            synchronous_mode: synchronous !== 'off',
            synchronous_mode_strict: synchronous === 'strict',
            postgresql: {
              use_pg_rewind: true,
              use_slots: true,
              parameters: {
                ...{ max_connections: 150, wal_log_hints: 'on', max_wal_size: '256MB', shared_buffers: '48MB', autovacuum: 'on' },
                ...{ wal_sender_timeout: '5s', wal_receiver_timeout: '5s', tcp_keepalives_idle: 10 },
                ...{ archive_mode: 'on', archive_timeout: '5s' },
              },
            },
          },
          initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
        },
        postgresql: {
          listen: `127.0.0.1:${port}`,
          connect_address: `127.0.0.1:${line.port}`,
          data_dir: data,
          bin_dir: '/usr/lib/postgresql/15/bin',
          pgpass: path.join(nodeFolder, 'pgpass'),
          basebackup: [{ checkpoint: 'fast' }],
          remove_data_directory_on_rewind_failure: true,
          remove_data_directory_on_diverged_timelines: true,
          authentication: {
            superuser: { username: 'postgres' },
            replication: { username: 'replicator' },
            rewind: { username: 'rewinder' },
          },
          pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
          parameters: { unix_socket_directories: sockets, archive_command: `${backup.join(' ')} archive-push %p` },
        },
      };
      let patroni: ChildProcess | null = null;
      const file = own(`${name}.yml`, JSON.stringify(settings));
      nodes.push({
        port,
        restPort,
        node: {
          ...{ name, folder: nodeFolder, data, url, line },
          start: () => void (patroni = launch(nodeFolder, 'patroni', ['patroni', file])),
          async stop() {
            patroni?.kill('SIGTERM');
            await eventually(
              () => processesIn(nodeFolder),
              ({ length }) => length === 0,
            );
          },
          kill: () => killIn(nodeFolder),
          killPostgres: () => killIn(data),
          freeze: () => signalIn(nodeFolder, 'SIGSTOP'),
          pgbackrest: (what, ...words) =>
            run(folder, [...backup, ...(what === 'restore' ? [] : [`--pg1-port=${port}`, `--pg1-socket-path=${sockets}`]), what, ...words]),
          async thaw() {
            const ofPostgres = await processesIn(data);
            for (const pid of await processesIn(nodeFolder)) if (!ofPostgres.includes(pid)) process.kill(pid, 'SIGKILL');
            await signalIn(data, 'SIGCONT');
            await new Promise((resolve) => setTimeout(resolve, ALONE_MS));
            patroni = launch(nodeFolder, 'patroni', ['patroni', file]);
          },
        },
      });
    }

    // As operators are given it, but for the addresses.
    const haproxy = own(
      'haproxy.cfg',
      readText('docker/ha/haproxy.cfg')
        .replace('bind :5432', `bind 127.0.0.1:${haproxyPort}`)
        .replace(/^ {2}server .*\n/gm, '')
        .concat(nodes.map(({ node, port, restPort }) => `  server ${node.name} 127.0.0.1:${port} check port ${restPort}\n`).join('')),
    );
    const users = own('users.txt', '"postgres" ""\n"gateway" ""\n');
    const bouncer = own(
      'pgbouncer.ini',
      readText('docker/ha/pgbouncer.ini')
        .replace('host=database-primary port=5432', `host=127.0.0.1 port=${haproxyPort}`)
        .replace('listen_addr = 0.0.0.0', 'listen_addr = 127.0.0.1')
        .replace('listen_port = 5432', `listen_port = ${bouncerPort}`)
        .replace('scram-sha-256', 'trust')
        .replace('/tmp/users.txt', users),
    );
    launch(own('haproxy'), 'haproxy', ['haproxy', '-db', '-f', haproxy]);
    launch(own('pgbouncer'), 'pgbouncer', ['pgbouncer', bouncer]);

    const untilEtcd = (): Promise<unknown> =>
      eventually(
        () =>
          fetch(`${etcdUrl}/health`).then(
            ({ status }) => status,
            () => 0,
          ),
        (status) => status === 200,
      );
    await untilEtcd();
    const members = async () => {
      for (const { restPort } of nodes) {
        const reply = await fetch(`http://127.0.0.1:${restPort}/cluster`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
        if (reply?.ok === true) return Members.parse(await reply.json()).members;
      }
      return [];
    };
    const primary = async (): Promise<Node> => {
      for (const { node } of nodes) if (await takesWrites(node.url)) return node;
      throw new Error('no server takes writes');
    };
    const untilWhole = async (): Promise<void> =>
      void (await eventually(members, (all) => {
        const leader = all.find(({ role, state }) => role === 'leader' && state === 'running');
        const followers = all.filter(
          ({ role, state, timeline }) => role !== 'leader' && state === 'running' && timeline === leader?.timeline,
        );
        return (
          leader !== undefined && followers.length === 2 && (synchronous === 'off' || followers.some(({ role }) => role === 'sync_standby'))
        );
      }));

    /** A new cluster begins where etcd knows of none. */
    const forget = async (): Promise<void> => {
      await killIn(etcdFolder);
      rmSync(path.join(etcdFolder, 'data'), { recursive: true });
      startEtcd();
      await untilEtcd();
    };
    const [first] = nodes;
    if (!first) throw new Error('a cluster has nodes');
    first.node.start();
    await eventually(() => takesWrites(first.node.url.replace(/gateway$/, 'postgres')), Boolean);
    for (const { node } of nodes.slice(1)) node.start();
    // A commit waits for a standby that is strictly synchronous.
    await untilWhole();
    await administer(first.node.url.replace(/gateway$/, 'postgres'), 'create role gateway login', 'create database gateway owner gateway');
    await first.node.pgbackrest('stanza-create');

    return {
      url: `postgres://gateway@127.0.0.1:${bouncerPort}/gateway`,
      folder,
      nodes: nodes.map(({ node }) => node),
      primary,
      async switchover(leader) {
        const { restPort } = nodes.find(({ node }) => node === leader) ?? first;
        const body = JSON.stringify({ leader: leader.name });
        const reply = await fetch(`http://127.0.0.1:${restPort}/switchover`, { method: 'POST', body });
        if (!reply.ok) throw new Error(`no switchover: ${await reply.text()}`);
      },
      async untilPromoted(old) {
        const others = nodes.filter(({ node }) => node !== old);
        for (;;) {
          for (const { node } of others) if (await takesWrites(node.url)) return node;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      },
      async restore(on, target) {
        for (const { node } of nodes) await node.stop();
        rmSync(on.data, { recursive: true });
        await on.pgbackrest('restore', '--type=time', `--target=${target}`, '--target-action=promote');
        // PostgreSQL alone until it has been restored: Patroni would start it as a standby.
        await run(on.folder, [
          'pg_ctl',
          'start',
          '-w',
          '-t',
          '120',
          '-D',
          on.data,
          '-l',
          `${on.folder}/restore.log`,
          '-o',
          '-c listen_addresses=',
        ]);
        await eventually(async () => (await run(on.folder, ['pg_controldata', on.data])).includes('in production'), Boolean);
        await run(on.folder, ['pg_ctl', 'stop', '-w', '-m', 'fast', '-D', on.data]);
        await forget();
        on.start();
        await eventually(() => takesWrites(on.url), Boolean);
        for (const { node } of nodes)
          if (node !== on) {
            rmSync(node.data, { recursive: true });
            node.start();
          }
      },
      untilWhole,
      etcd: {
        kill: () => killIn(etcdFolder),
        start: startEtcd,
      },
      stop,
    };
  } catch (error) {
    if (process.env['HA_KEEP'] === undefined) await stop();
    throw error;
  }
}

const idOf = (which: '-u' | '-g'): number => Number(execFileSync('id', [which, ACCOUNT], { encoding: 'utf8' }));

async function takesWrites(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000, query_timeout: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
    return rows[0]?.standby === false;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

export async function administer(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
