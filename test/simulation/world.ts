import net from 'node:net';
import type { DailyBudgetSetting } from '../../core/config/relayer.js';
import type { Hex } from '../../core/types.js';
import { createRandom, type Random } from '../fuzz/random.js';
import { createRecordedLog, type RecordedLog } from '../harness/checks/recorded-log.js';
import { openDatabaseGate, type DatabaseGate } from './database-gate.js';
import type { SimulationServer } from './database-server.js';
import { installNetwork, type Latency, type Network } from './network.js';
import { STREAMS } from './plan.js';
import { takeProcessGlobals } from './process-globals.js';
import { createServerName, type ServerName } from './server-name.js';
import { startReplica, type Replica, type ReplicaName } from './replica.js';
import { createScheduler, type Scheduler } from './scheduler.js';
import { EPOCH } from './simulated-clock.js';
import { DATABASE_PORT, startSimulatedVenue, type SimulatedVenue } from './venue.js';

/** Everything of one run: scheduler, network, database, chain and replicas. */
export interface World {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly gate: DatabaseGate;
  readonly server: SimulationServer;
  /** What the database server says of itself. */
  readonly serverName: ServerName;
  readonly venue: SimulatedVenue;
  readonly replicas: Map<ReplicaName, Replica>;
  /** Of every process that has run, also of those that were killed. */
  readonly logs: readonly { readonly name: ReplicaName; readonly log: RecordedLog }[];
  /** Starts a replica, or starts a killed one again. */
  start(name: ReplicaName): Promise<Replica>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly server: SimulationServer;
  readonly seed: number;
  readonly replicas: number;
  readonly latency: (random: Random) => Latency;
  readonly variables: Readonly<Record<string, string>>;
  readonly hasHeadSubscription: boolean;
  readonly moreKeys?: readonly Hex[];
  readonly dailyBudget?: DailyBudgetSetting;
  /** The date at which it starts. */
  readonly epoch?: number;
  /** The replicas begin to follow the chain at its newest block. */
  readonly startsLate?: boolean;
  readonly onLine?: (line: string) => void;
}

const NAMES: readonly ReplicaName[] = ['replica-1', 'replica-2', 'replica-3'];
/** Longer than the ticks of the HTTP client's timers. */
const LIBRARIES_END_MS = 3_000;
const FIRST_PORT = 8_080;

export async function openWorld(options: WorldOptions): Promise<World> {
  const { server, seed, onLine } = options;
  const database = await server.createDatabase();
  // oxlint-disable-next-line typescript/unbound-method -- called as a method of a real socket
  const connectReally = net.Socket.prototype.connect;
  const globals = takeProcessGlobals();
  const scheduler = createScheduler({
    random: createRandom(seed, STREAMS.order),
    epoch: options.epoch ?? EPOCH,
    settle: () => globals.settle(),
    ...(onLine && { onLine }),
  });
  const network = installNetwork(scheduler, (bytes) => {
    if (bytes.includes('execution reverted')) globals.expectImport();
  });
  const bytes = createRandom(seed, STREAMS.bytes);
  const randomBytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => bytes.int(0, 255));
  let gate: DatabaseGate | null = null;
  const restore = async (): Promise<void> => {
    await gate?.close();
    for (const owner of [...NAMES, 'venue', 'clients', 'database'] as const) scheduler.setState(owner, 'dead');
    network.restore();
    // Timers that libraries keep for the whole process end here, so that no run begins with those of the one before.
    await scheduler.runUntil(scheduler.now() + LIBRARIES_END_MS);
    globals.restore();
  };
  try {
    const latency = options.latency(createRandom(seed, STREAMS.latency));
    gate = await openDatabaseGate({ scheduler, port: server.port, database, role: server.role, connectReally, latency });
    globals.follow(scheduler, createRandom(seed, STREAMS.libraries));
    network.setLatency(latency);
    network.serve('database', DATABASE_PORT, (end) => gate?.accept(end));
    const names = NAMES.slice(0, options.replicas);
    const venue = await scheduler.drive(
      startSimulatedVenue({
        scheduler,
        network,
        replicas: names,
        database: { name: database, role: server.role },
        variables: options.variables,
        hasHeadSubscription: options.hasHeadSubscription,
        moreKeys: options.moreKeys ?? [],
        dailyBudget: options.dailyBudget ?? 'unlimited',
        startsLate: options.startsLate ?? false,
      }),
    );
    const replicas = new Map<ReplicaName, Replica>();
    const logs: { readonly name: ReplicaName; readonly log: RecordedLog }[] = [];
    const openGate = gate;
    const serverName = createServerName(scheduler);
    const world: World = {
      scheduler,
      network,
      gate,
      server,
      serverName,
      venue,
      replicas,
      logs,
      async start(name) {
        const port = FIRST_PORT + NAMES.indexOf(name);
        const log = createRecordedLog();
        logs.push({ name, log });
        const replica = await startReplica({
          name,
          log,
          scheduler,
          network,
          gate: openGate,
          port,
          configFor: (replica) => venue.configFor(replica),
          randomBytes,
          serverIdentity: serverName.read,
        });
        replicas.set(name, replica);
        return replica;
      },
      close: restore,
    };
    for (const name of names) await scheduler.drive(world.start(name));
    return world;
  } catch (error) {
    await restore();
    throw error;
  }
}
