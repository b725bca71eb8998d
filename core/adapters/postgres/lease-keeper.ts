import type pg from 'pg';
import type { Logger } from '../../ports/log.js';
import type { Lease } from '../../ports/stores/tracking.js';

export interface KeeperParts {
  /** A client of its own, not connected yet. */
  readonly createClient: () => pg.Client;
  readonly log: Logger;
}

export interface LeaseKeeper {
  /** null = somebody else has it. */
  lease(name: string): Promise<Lease | null>;
  /** Gives everything back at once. */
  close(): Promise<void>;
}

const BEAT_MS = 1_000;
/**
 * Who has not heard from the server for this long no longer believes in its leases; the server waits longer before it gives them to others.
 * Its wait begins after ours, with the arrival of the last beat, so at no moment do two believe.
 */
const BELIEF_MS = 3_000;
const SERVER_WAIT_MS = 5_000;

/**
 * Advisory locks of one connection outside the pool: a replica that dies gives them up by that, and one that is cut off, or whose machine is
 * gone, by its silence. Works where a connection is a session: directly, or through a pooler that lends whole sessions.
 */
export function createLeaseKeeper({ createClient, log }: KeeperParts): LeaseKeeper {
  let opening: Promise<Session> | null = null;
  let isClosed = false;

  const forget = (session: Promise<Session>): void => {
    if (opening === session) opening = null;
  };

  async function session(): Promise<Session> {
    if (isClosed) throw new Error('Connection terminated: the leases are given back.');
    if (opening !== null) return opening;
    const made: Promise<Session> = openSession(createClient(), log, () => forget(made));
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
/** As the server keeps it. */
export const lockName = (name: string): string => PREFIX + name;

interface Pulse {
  ask<Row>(sql: string, values?: readonly unknown[]): Promise<Row | undefined>;
  /** Heard of a moment ago. */
  isTrusted(): boolean;
  isOver(): boolean;
  /** For good: what the server still has to say would come too late. */
  giveUp(reason: string): void;
  end(): Promise<void>;
}

function createPulse(client: pg.Client, log: Logger, onOver: () => void): Pulse {
  let isOver = false;
  let heardAt = performance.now();
  // Leases are asked for at any time, but the driver takes one question after the other.
  let lastTurn: Promise<unknown> = Promise.resolve();
  const send = async <Row>(sql: string, values: readonly unknown[]): Promise<Row | undefined> => {
    const sentAt = performance.now();
    const { rows } = await client.query(sql, [...values]);
    heardAt = Math.max(heardAt, sentAt);
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
    isTrusted: () => !isOver && performance.now() - heardAt < BELIEF_MS,
    ask<Row>(sql: string, values: readonly unknown[] = []) {
      const turn = lastTurn.then(() => send<Row>(sql, values));
      lastTurn = turn.catch(() => undefined);
      return turn;
    },
    giveUp(reason) {
      if (isOver) return;
      log.warn('leases.lost', { reason });
      over();
      void hangUp(client);
    },
    async end() {
      over();
      await hangUp(client);
    },
  };
}

async function openSession(client: pg.Client, log: Logger, onOver: () => void): Promise<Session> {
  let beat: NodeJS.Timeout | undefined;
  const pulse = createPulse(client, log, () => {
    clearInterval(beat);
    onOver();
  });
  try {
    await client.connect();
    await pulse.ask(`set idle_session_timeout = ${SERVER_WAIT_MS}`);
    const pid = await backendOf(pulse);
    beat = setInterval(createBeat(pulse, pid), BEAT_MS);
    beat.unref();
  } catch (error) {
    void pulse.end();
    throw error;
  }
  // A lock of a session may be taken twice by it: that nobody else here has it is for us to know.
  const taken = new Set<string>();
  return { take: (name) => take(pulse, taken, name), end: () => pulse.end() };
}

const backendOf = async (pulse: Pulse): Promise<number> => (await pulse.ask<{ pid: number }>('select pg_backend_pid() as pid'))?.pid ?? 0;

function createBeat(pulse: Pulse, pid: number): () => void {
  let isAsking = false;
  return () => {
    if (!pulse.isTrusted()) return pulse.giveUp('the database does not answer');
    if (isAsking) return;
    isAsking = true;
    backendOf(pulse)
      .then((now) => now !== pid && pulse.giveUp('the connection is shared with others'))
      .catch(() => pulse.giveUp('the database does not answer'))
      .finally(() => (isAsking = false));
  };
}

async function take(pulse: Pulse, taken: Set<string>, name: string): Promise<Lease | null> {
  if (taken.has(name)) return null;
  taken.add(name);
  const call = async (lock: string): Promise<boolean> =>
    (await pulse.ask<{ held: boolean }>(`select ${lock}(hashtextextended($1, 0)) as held`, [lockName(name)]))?.held === true;
  let isHeld = false;
  try {
    isHeld = await call('pg_try_advisory_lock');
  } finally {
    if (!isHeld) taken.delete(name);
  }
  if (!isHeld) return null;
  return {
    isHeld: () => isHeld && pulse.isTrusted(),
    async release() {
      if (!isHeld) return;
      isHeld = false;
      if (!pulse.isOver()) await call('pg_advisory_unlock').catch(() => pulse.giveUp('a lease could not be given back'));
      taken.delete(name);
    },
  };
}

const GOODBYE_MS = 500;

/** A server that says nothing any more is not waited for. */
async function hangUp(client: pg.Client): Promise<void> {
  const cut = setTimeout(() => client.connection.stream.destroy(), GOODBYE_MS);
  await client.end().catch(() => undefined);
  clearTimeout(cut);
}
