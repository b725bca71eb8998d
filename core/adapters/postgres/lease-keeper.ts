import type pg from 'pg';
import type { Knex } from 'knex';
import type { Clock } from '../../ports/clock.js';
import type { Logger } from '../../ports/log.js';
import type { PositionWatch } from './continuity/create-continuity.js';
import type { Lease } from '../../ports/stores/tracking.js';
import {
  createHeartbeat,
  createTries,
  hasEnded,
  SERVER_WAIT_MS,
  BEAT_MS,
  backendOf,
  type Heartbeat,
  type SessionParts,
  type Tries,
} from './lease-heartbeat.js';

export interface KeeperParts {
  /** Creates a dedicated client, not connected yet. */
  readonly createClient: () => pg.Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly position?: PositionWatch;
}

export interface LeaseKeeper {
  /**
   * Null while another session holds it. Tried at once, unless it is asked with a signal and the last try of this name was in vain: such a
   * caller asks again and again, so its try goes with the next heartbeat. Null too, and nothing is held, when the signal aborts meanwhile.
   */
  lease(name: string, noLongerWanted?: AbortSignal): Promise<Lease | null>;
  /** Releases all leases. */
  close(): Promise<void>;
}

/**
 * Advisory locks of one connection outside the pool: they are released when the replica dies, or by timeout when it is cut off. Needs a
 * connection that is a session: direct, or through a pooler in session mode.
 */
export function createLeaseKeeper({ createClient, clock, log, position }: KeeperParts): LeaseKeeper {
  let opening: Promise<Session> | null = null;
  const closing = new AbortController();

  const forget = (session: Promise<Session>): void => {
    if (opening === session) opening = null;
  };

  async function session(): Promise<Session> {
    if (closing.signal.aborted) throw new Error('Connection terminated: the leases are given back.');
    if (opening !== null) return opening;
    const made: Promise<Session> = openSession(
      { client: createClient(), clock, log, position, onOver: () => forget(made) },
      closing.signal,
    );
    opening = made;
    made.catch(() => forget(made));
    return made;
  }

  return {
    async lease(name, noLongerWanted) {
      const open = await unlessAborted(session(), noLongerWanted);
      return open?.take(name, noLongerWanted) ?? null;
    },
    async close() {
      const last = opening;
      opening = null;
      closing.abort();
      await last?.then((open) => open.end()).catch(() => undefined);
    },
  };
}

/** Null when the signal aborts before. */
async function unlessAborted<Value>(work: Promise<Value>, signal?: AbortSignal): Promise<Value | null> {
  if (signal === undefined) return work;
  let stop = (): void => undefined;
  const aborted = new Promise<null>((resolve) => (stop = () => resolve(null)));
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

interface Session {
  take(name: string, noLongerWanted?: AbortSignal): Promise<Lease | null>;
  end(): Promise<void>;
}

const PREFIX = 'diamond-gateway ';
/** The lock's name in the database. */
export const lockName = (name: string): string => PREFIX + name;

/** Without answers opening takes many seconds, which the end of the process does not wait for. */
async function openSession(parts: SessionParts, closing: AbortSignal): Promise<Session> {
  const { client, clock, onOver } = parts;
  let stopBeating = (): void => undefined;
  const heartbeat = createHeartbeat({
    ...parts,
    onOver() {
      stopBeating();
      onOver();
    },
  });
  // After a goodbye the driver would not answer `connect` any more.
  const endEarly = (): void => void client.connection.stream.destroy(hasEnded());
  closing.addEventListener('abort', endEarly);
  try {
    await client.connect();
    await heartbeat.ask(`set idle_session_timeout = ${SERVER_WAIT_MS}`);
    const tries = createTries(heartbeat, await backendOf(heartbeat), parts.position);
    if (heartbeat.isOver()) throw hasEnded();
    const stopTicking = clock.every(BEAT_MS, tries.tick);
    stopBeating = () => {
      stopTicking();
      tries.end();
    };
    return { take: createTaking(heartbeat, tries), end: () => heartbeat.end() };
  } catch (error) {
    void heartbeat.end();
    throw error;
  } finally {
    closing.removeEventListener('abort', endEarly);
  }
}

function createTaking(heartbeat: Heartbeat, tries: Tries): Session['take'] {
  // A session can take the same advisory lock twice, so holders within this process are tracked here, and those who try.
  const taken = new Set<string>();

  const leaseOf = (name: string): Lease => {
    let isHeld = true;
    const unlock = (): Promise<unknown> => heartbeat.ask('select pg_advisory_unlock(hashtextextended($1, 0))', () => [lockName(name)]);
    return {
      isHeld: () => isHeld && heartbeat.isTrusted(),
      async release() {
        if (!isHeld) return;
        isHeld = false;
        if (!heartbeat.isOver()) await unlock().catch(() => heartbeat.giveUp('a lease could not be given back'));
        taken.delete(name);
      },
    };
  };

  return async (name, noLongerWanted) => {
    const isUnwanted = (): boolean => noLongerWanted?.aborted === true;
    // Nobody would answer a try that began to wait after the end.
    if (heartbeat.isOver()) throw hasEnded();
    if (taken.has(name) || isUnwanted()) return null;
    taken.add(name);
    let isGranted = false;
    try {
      isGranted = await tries.try(lockName(name), noLongerWanted);
    } finally {
      if (!isGranted) taken.delete(name);
    }
    if (!isGranted) return null;
    const lease = leaseOf(name);
    if (!isUnwanted()) return lease;
    await lease.release();
    return null;
  };
}

/** The holder indexes the chain. The lease only saves work; the cursor, which every change checks, prevents double indexing. */
export const followerName = (chain: string): string => `follows ${chain}`;

/** The holder sends for the wallet. The lane's row guarantees that no nonce is assigned twice. */
export const laneName = (chain: string, wallet: string): string => `relays ${chain} ${wallet}`;

/** The connection that holds a lease; null while it is free. */
export async function leaseHolder(db: Knex, name: string): Promise<LeaseHolder | null> {
  const { rows } = await db.raw<{ rows: { host: string | null; pid: number; since: bigint }[] }>(HOLDER, { name: lockName(name) });
  const [row] = rows;
  return row ? { host: row.host, connection: row.pid, since: Number(row.since) } : null;
}

interface LeaseHolder {
  readonly host: string | null;
  readonly connection: number;
  readonly since: number;
}

/** PostgreSQL stores a 64-bit lock in two halves. */
const HOLDER = `
  select host(client_addr) as host, activity.pid, (extract(epoch from backend_start) * 1000)::bigint as since
  from pg_locks lock join pg_stat_activity activity on activity.pid = lock.pid
  where locktype = 'advisory' and granted and objsubid = 1 and lock.database = (select oid from pg_database where datname = current_database())
  and ((classid::bigint << 32) | objid::bigint) = hashtextextended(:name, 0)`;
