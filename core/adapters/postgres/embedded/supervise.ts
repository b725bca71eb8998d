import type { Logger } from '../../../ports/log.js';
import type { Clock } from '../../../ports/clock.js';
import { StoreStartError } from '../store-start-error.js';
import type { Server } from './server.js';

export const SERVER_STATES = ['running', 'restarting', 'stopped', 'failed'] as const;
export type ServerState = (typeof SERVER_STATES)[number];

export interface Supervision {
  /** On the same port, so that the pool reconnects to the new server. */
  readonly restart: (port: number, stopping: AbortSignal) => Promise<Server>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onFailure: (error: StoreStartError) => void;
}

export interface Supervised {
  readonly state: () => ServerState;
  readonly pid: () => number | null;
  readonly stop: () => Promise<void>;
}

const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 5_000;
/** Consecutive failures after which restarts stop. */
const MAX_FAILURES = 8;
/** A server that ran this long has recovered; failures are counted from zero again. */
const STEADY_MS = 30_000;

/** Restarts the server when it dies. */
export function supervise(first: Server, { restart, clock, log, onFailure }: Supervision): Supervised {
  const stopping = new AbortController();
  let server = first;
  let state: ServerState = 'running';
  const isStopping = (): boolean => stopping.signal.aborted;
  const settle = (next: ServerState): void => {
    if (!isStopping()) state = next;
  };

  const bringBack = async (died: { code: number | null }, failures: number): Promise<number> => {
    settle('restarting');
    log.error('postgres.died', { exitCode: died.code, failures });
    for (let count = failures; ; count += 1) {
      await clock.sleep(Math.min(FIRST_BACKOFF_MS * 2 ** count, MAX_BACKOFF_MS), stopping.signal);
      if (isStopping()) return count;
      try {
        server = await restart(server.port, stopping.signal);
        settle('running');
        if (!isStopping()) log.info('postgres.restarted', { port: server.port, pid: server.pid() });
        return count + 1;
      } catch (error) {
        if (isStopping()) return count;
        log.error('postgres.restart-failed', { error, failures: count + 1 });
        if (count + 1 >= MAX_FAILURES) throw error;
      }
    }
  };

  const watch = async (): Promise<void> => {
    for (let failures = 0; !isStopping();) {
      const since = clock.now();
      const died = await server.ended;
      if (isStopping()) return;
      const soFar = clock.now() - since > STEADY_MS ? 0 : failures;
      if (soFar >= MAX_FAILURES) throw new StoreStartError('server-failed', 'PostgreSQL keeps dying right after its start.');
      failures = await bringBack(died, soFar);
    }
  };

  const watching = watch().catch((error: unknown) => {
    settle('failed');
    onFailure(
      error instanceof StoreStartError ? error : new StoreStartError('server-failed', 'PostgreSQL is gone for good.', { cause: error }),
    );
  });

  let stopped: Promise<void> | null = null;
  const stopOnce = async (): Promise<void> => {
    stopping.abort();
    state = 'stopped';
    await server.stop();
    await watching;
    await server.stop(); // a restart may have completed during the stop
  };
  return { state: () => state, pid: () => (state === 'running' ? server.pid() : null), stop: () => (stopped ??= stopOnce()) };
}
