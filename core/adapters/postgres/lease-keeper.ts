import type pg from 'pg';
import type { Knex } from 'knex';
import type { Clock } from '../../ports/clock.js';
import type { Logger } from '../../ports/log.js';
import type { Lease } from '../../ports/stores/tracking.js';

export interface KeeperParts {
  /** Creates a dedicated client, not connected yet. */
  readonly createClient: () => pg.Client;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface LeaseKeeper {
  /** Null while another session holds it. */
  lease(name: string): Promise<Lease | null>;
  /** Releases all leases. */
  close(): Promise<void>;
}

const BEAT_MS = 1_000;
/**
 * Without an answer for this long a replica considers its leases lost; the server waits longer before it releases them. The server's wait
 * starts at the arrival of the last heartbeat, after ours, so that two replicas never hold a lease at once.
 */
const TRUST_MS = 3_000;
const SERVER_WAIT_MS = 5_000;

/**
 * Advisory locks of one connection outside the pool: they are released when the replica dies, or by timeout when it is cut off. Needs a
 * connection that is a session: direct, or through a pooler in session mode.
 */
export function createLeaseKeeper({ createClient, clock, log }: KeeperParts): LeaseKeeper {
  let opening: Promise<Session> | null = null;
  let isClosed = false;

  const forget = (session: Promise<Session>): void => {
    if (opening === session) opening = null;
  };

  async function session(): Promise<Session> {
    if (isClosed) throw new Error('Connection terminated: the leases are given back.');
    if (opening !== null) return opening;
    const made: Promise<Session> = openSession({ client: createClient(), clock, log, onOver: () => forget(made) });
    opening = made;
    made.catch(() => forget(made));
    return made;
  }

  return {
    lease: async (name) => (await session()).take(name),
    async close() {
      isClosed = true;
      const last = opening;
      opening = null;
      await last?.then((open) => open.end()).catch(() => undefined);
    },
  };
}

interface Session {
  take(name: string): Promise<Lease | null>;
  end(): Promise<void>;
}

const PREFIX = 'diamond-gateway ';
/** The lock's name in the database. */
export const lockName = (name: string): string => PREFIX + name;

interface Heartbeat {
  ask<Row>(sql: string, values?: readonly unknown[]): Promise<Row | undefined>;
  /** The server answered recently. */
  isTrusted(): boolean;
  isOver(): boolean;
  /** Final: a later answer would come too late. */
  giveUp(reason: string): void;
  end(): Promise<void>;
}

interface SessionParts {
  readonly client: pg.Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onOver: () => void;
}

function createHeartbeat({ client, clock, log, onOver }: SessionParts): Heartbeat {
  let isOver = false;
  let answeredAt = clock.monotonic();
  // Leases can be requested at any time, but the driver runs one query at a time.
  let lastTurn: Promise<unknown> = Promise.resolve();
  const send = async <Row>(sql: string, values: readonly unknown[]): Promise<Row | undefined> => {
    const sentAt = clock.monotonic();
    const { rows } = await client.query(sql, [...values]);
    answeredAt = Math.max(answeredAt, sentAt);
    return rows[0] as Row | undefined;
  };
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    onOver();
  };
  client.on('error', over).on('end', over);
  return {
    isOver: () => isOver,
    isTrusted: () => !isOver && clock.monotonic() - answeredAt < TRUST_MS,
    ask<Row>(sql: string, values: readonly unknown[] = []) {
      const turn = lastTurn.then(() => send<Row>(sql, values));
      lastTurn = turn.catch(() => undefined);
      return turn;
    },
    giveUp(reason) {
      if (isOver) return;
      log.warn('leases.lost', { reason });
      over();
      void closeClient(client, clock);
    },
    async end() {
      over();
      await closeClient(client, clock);
    },
  };
}

async function openSession(parts: SessionParts): Promise<Session> {
  const { client, clock, onOver } = parts;
  let stopBeating = (): void => undefined;
  const heartbeat = createHeartbeat({
    ...parts,
    onOver() {
      stopBeating();
      onOver();
    },
  });
  try {
    await client.connect();
    await heartbeat.ask(`set idle_session_timeout = ${SERVER_WAIT_MS}`);
    const pid = await backendOf(heartbeat);
    stopBeating = clock.every(BEAT_MS, createTick(heartbeat, pid));
  } catch (error) {
    void heartbeat.end();
    throw error;
  }
  // A session can take the same advisory lock twice, so holders within this process are tracked here.
  const taken = new Set<string>();
  return { take: (name) => take(heartbeat, taken, name), end: () => heartbeat.end() };
}

const backendOf = async (heartbeat: Heartbeat): Promise<number> =>
  (await heartbeat.ask<{ pid: number }>('select pg_backend_pid() as pid'))?.pid ?? 0;

function createTick(heartbeat: Heartbeat, pid: number): () => void {
  let isAsking = false;
  return () => {
    if (!heartbeat.isTrusted()) return heartbeat.giveUp('the database does not answer');
    if (isAsking) return;
    isAsking = true;
    backendOf(heartbeat)
      .then((now) => now !== pid && heartbeat.giveUp('the connection is shared with others'))
      .catch(() => heartbeat.giveUp('the database does not answer'))
      .finally(() => (isAsking = false));
  };
}

async function take(heartbeat: Heartbeat, taken: Set<string>, name: string): Promise<Lease | null> {
  if (taken.has(name)) return null;
  taken.add(name);
  const call = async (lock: string): Promise<boolean> =>
    (await heartbeat.ask<{ held: boolean }>(`select ${lock}(hashtextextended($1, 0)) as held`, [lockName(name)]))?.held === true;
  let isHeld = false;
  try {
    isHeld = await call('pg_try_advisory_lock');
  } finally {
    if (!isHeld) taken.delete(name);
  }
  if (!isHeld) return null;
  return {
    isHeld: () => isHeld && heartbeat.isTrusted(),
    async release() {
      if (!isHeld) return;
      isHeld = false;
      if (!heartbeat.isOver()) await call('pg_advisory_unlock').catch(() => heartbeat.giveUp('a lease could not be given back'));
      taken.delete(name);
    },
  };
}

const CLOSE_TIMEOUT_MS = 500;

/** Destroys the socket when the server does not answer the goodbye. */
async function closeClient(client: pg.Client, clock: Clock): Promise<void> {
  const cancel = clock.after(CLOSE_TIMEOUT_MS, () => client.connection.stream.destroy());
  await client.end().catch(() => undefined);
  cancel();
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
