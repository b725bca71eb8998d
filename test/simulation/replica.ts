import type { Config } from '../../core/config/config.js';
import type { Gateway } from '../../core/gateway.js';
import type { RandomBytes } from '../../core/ports/clock.js';
import { startGateway, startStore, type ComposeOptions } from '../../app/compose/gateway.js';
import { createLifecycle, type OwnedLifecycle } from '../../app/lifecycle.js';
import { listen } from '../../http/listen.js';
import type { DatabaseGate } from './database-gate.js';
import type { Network } from './network.js';
import type { RecordedLog } from '../harness/checks/recorded-log.js';
import type { Scheduler } from './scheduler.js';
import { createSimulatedClock, type SimulatedClock } from './simulated-clock.js';

export type ReplicaName = 'replica-1' | 'replica-2' | 'replica-3';

/** A gateway as production composes it, with a clock, a network and a database of the simulation. */
export interface Replica {
  readonly name: ReplicaName;
  readonly clock: SimulatedClock;
  /** For clients. */
  readonly url: string;
  /** Simulated ms. */
  readonly startedAt: number;
  gateway(): Gateway | null;
  /** Nothing is finished: its calls never return, its connections are cut. */
  kill(isSentDone: () => boolean): void;
  /** In order, as after SIGTERM. */
  stop(): Promise<void>;
  isAlive(): boolean;
}

export interface ReplicaOptions {
  readonly name: ReplicaName;
  readonly log: RecordedLog;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly gate: DatabaseGate;
  readonly port: number;
  readonly configFor: (name: ReplicaName) => Config;
  readonly randomBytes: RandomBytes;
  readonly serverIdentity: ComposeOptions['serverIdentity'];
}

export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const { name, log, scheduler, network, gate, port, configFor, randomBytes, serverIdentity } = options;
  scheduler.setState(name, 'running');
  const clock = createSimulatedClock(scheduler, name);
  const lifecycle: OwnedLifecycle = createLifecycle(log, new AbortController(), clock);
  const config = configFor(name);
  let gateway: Gateway | null = null;
  let isAlive = true;
  const http = await lifecycle.start(
    'http',
    () => listen(network.host('world', name), port, { randomBytes, onFault: (error) => log.error('http.listener-failed', { error }) }),
    (made) => made.close(),
  );
  const replica: Replica = {
    name,
    clock,
    startedAt: scheduler.now(),
    url: `http://${network.host('clients', name)}:${port}`,
    gateway: () => gateway,
    kill(isSentDone) {
      isAlive = false;
      // What the process has sent by then may still arrive at the database.
      gate.abandon(name, isSentDone);
      network.cutAll(name);
      scheduler.setState(name, 'dead');
    },
    async stop() {
      isAlive = false;
      await lifecycle.end();
    },
    isAlive: () => isAlive,
  };
  const store = await startStore({ lifecycle, clock, log, randomBytes, serverIdentity }, config.database);
  gateway = await startGateway({ config, store, lifecycle, clock, log, http, randomBytes });
  return replica;
}
