import type pg from 'pg';
import type { Logger } from '../../ports.js';
import type { Lease } from '../../tracking/tracking-store.js';

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

async function openSession(client: pg.Client, log: Logger, onOver: () => void): Promise<Session> {
  // A lock of a session may be taken twice by it: that nobody else here has it is for us to know.
  const taken = new Set<string>();
  let isOver = false;
  let heardAt = performance.now();
  let beat: NodeJS.Timeout | undefined;

  const over = (): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(beat);
    onOver();
  };
  client.on('error', over).on('end', over);
  const isTrusted = (): boolean => !isOver && performance.now() - heardAt < BELIEF_MS;

  async function ask<Row>(sql: string, values: readonly unknown[] = []): Promise<Row | undefined> {
    const askedAt = performance.now();
    const { rows } = await client.query(sql, [...values]);
    heardAt = Math.max(heardAt, askedAt);
    return rows[0] as Row | undefined;
  }

  /** For good: what the server still has to say to it would come too late. */
  const giveUp = (reason: string): void => {
    if (isOver) return;
    log.warn('leases.lost', { reason, leases: [...taken] });
    over();
    void hangUp(client);
  };

  const call = async (name: string, lock: string): Promise<boolean> =>
    (await ask<{ held: boolean }>(`select ${lock}(hashtextextended($1, 0)) as held`, [lockName(name)]))?.held === true;

  async function start(): Promise<void> {
    await client.connect();
    await ask(`set idle_session_timeout = ${SERVER_WAIT_MS}`);
    const pid = await backend();
    let isAsking = false;
    beat = setInterval(() => {
      if (!isTrusted()) return giveUp('the database does not answer');
      if (isAsking) return;
      isAsking = true;
      backend()
        .then((now) => now !== pid && giveUp('the connection is shared with others'))
        .catch(() => giveUp('the database does not answer'))
        .finally(() => (isAsking = false));
    }, BEAT_MS);
    beat.unref();
  }

  const backend = async (): Promise<number> => (await ask<{ pid: number }>('select pg_backend_pid() as pid'))?.pid ?? 0;

  await start().catch((error: unknown) => {
    over();
    void hangUp(client);
    throw error;
  });

  return {
    async take(name) {
      if (taken.has(name)) return null;
      taken.add(name);
      const isOurs = await call(name, 'pg_try_advisory_lock').catch((error: unknown) => {
        taken.delete(name);
        throw error;
      });
      if (!isOurs) {
        taken.delete(name);
        return null;
      }
      let isReleased = false;
      return {
        isHeld: () => !isReleased && isTrusted(),
        async release() {
          if (isReleased) return;
          isReleased = true;
          if (!isOver) await call(name, 'pg_advisory_unlock').catch(() => giveUp('a lease could not be given back'));
          taken.delete(name);
        },
      };
    },
    async end() {
      over();
      await hangUp(client);
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
