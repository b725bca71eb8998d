import type pg from 'pg';
import type { Clock } from '../../ports/clock.js';
import type { Logger } from '../../ports/log.js';
import type { PositionWatch } from './continuity/create-continuity.js';

/** The connection that holds the leases of a process: whether it can be relied on, and what is asked on it. */

export const BEAT_MS = 1_000;
/**
 * Without an answer for this long a replica considers its leases lost; the server waits longer before it releases them. The server's wait
 * starts at the arrival of the last heartbeat, after ours, so that two replicas never hold a lease at once.
 */
const TRUST_MS = 3_000;
export const SERVER_WAIT_MS = 5_000;

export interface Heartbeat {
  /** `values` is called when the statement is sent, after those before it. */
  ask<Row>(sql: string, values?: () => readonly unknown[]): Promise<Row | undefined>;
  /** The server answered recently. */
  isTrusted(): boolean;
  isOver(): boolean;
  /** Final: a later answer would come too late. */
  giveUp(reason: string): void;
  end(): Promise<void>;
}

export interface SessionParts {
  readonly client: pg.Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onOver: () => void;
  readonly position?: PositionWatch | undefined;
}

export function createHeartbeat({ client, clock, log, onOver, position }: SessionParts): Heartbeat {
  let isOver = false;
  let answeredAt = clock.monotonic();
  // Leases can be requested at any time, but the driver runs one query at a time.
  let lastTurn: Promise<unknown> = Promise.resolve();
  const send = async <Row>(sql: string, values: () => readonly unknown[]): Promise<Row | undefined> => {
    const sentAt = clock.monotonic();
    const { rows } = await client.query(sql, [...values()]);
    answeredAt = Math.max(answeredAt, sentAt);
    return rows[0] as Row | undefined;
  };
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    onOver();
  };
  const cut = (): void => {
    if (!isOver) position?.cut();
    over();
  };
  client.on('error', cut).on('end', cut);
  return {
    isOver: () => isOver,
    isTrusted: () => !isOver && clock.monotonic() - answeredAt < TRUST_MS,
    ask<Row>(sql: string, values = (): readonly unknown[] => []) {
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

export const backendOf = async (heartbeat: Heartbeat): Promise<number> =>
  (await heartbeat.ask<{ pid: number }>('select pg_backend_pid() as pid'))?.pid ?? 0;

export interface Tries {
  /** Whether this session now holds the lock. */
  try(lock: string, noLongerWanted?: AbortSignal): Promise<boolean>;
  readonly tick: () => void;
  /** Fails the tries that wait for a heartbeat. */
  end(): void;
}

interface Try {
  readonly answer: (isGranted: boolean) => void;
  readonly fail: (error: Error) => void;
}

/**
 * The function is called once for each name; those that were granted are returned. In the session of another client of a pooler it is not
 * called: that session would keep the lock after the end of this connection.
 */
const beatOf = (position: string): string => `
  select ${position}, pg_backend_pid() as pid, array(
    select name from unnest($1::text[]) as wanted (name)
    where case when pg_backend_pid() = $2::integer then pg_try_advisory_lock(hashtextextended(name, 0)) end
  ) as granted`;

const UNWATCHED: PositionWatch = { column: 'null as position', asked: () => () => undefined, cut: () => undefined, suspicions: () => 0 };

export const hasEnded = (): Error => new Error('Connection terminated: no lease can be had on it.');

/** The heartbeats of a session and its tries for locks, which share statements. */
export function createTries(heartbeat: Heartbeat, pid: number, position: PositionWatch = UNWATCHED): Tries {
  const statement = beatOf(position.column);
  const waiting = new Map<string, Try>();
  /** What other sessions held at the last try. */
  const heldElsewhere = new Set<string>();
  let underWay = 0;
  /** A heartbeat waits for the statement before it, and will take along what comes until then. */
  let isQueued = false;

  /** Takes along every try that waits by the time it is sent. */
  async function beat(): Promise<void> {
    let sent: ReadonlyMap<string, Try> = new Map();
    isQueued = true;
    underWay += 1;
    try {
      let compare: ReturnType<PositionWatch['asked']> = () => undefined;
      const row = await heartbeat.ask<{ pid: number; granted: string[]; position: unknown }>(statement, () => {
        isQueued = false;
        compare = position.asked();
        sent = new Map(waiting);
        waiting.clear();
        return [[...sent.keys()], pid];
      });
      compare(row?.position);
      if (row?.pid !== pid) heartbeat.giveUp('the connection is shared with others');
      // What was granted ends with the connection.
      if (row === undefined || heartbeat.isOver()) throw hasEnded();
      for (const [lock, { answer }] of sent) {
        const isGranted = row.granted.includes(lock);
        if (isGranted) heldElsewhere.delete(lock);
        else heldElsewhere.add(lock);
        answer(isGranted);
      }
    } catch (error) {
      // The locks may have been granted: until the connection ends no replica would use them, and none could take them.
      heartbeat.giveUp('the database does not answer');
      for (const { fail } of sent.values()) fail(error instanceof Error ? error : hasEnded());
    } finally {
      underWay -= 1;
    }
  }

  return {
    async try(lock, noLongerWanted) {
      let withdraw = (): void => undefined;
      const answered = new Promise<boolean>((answer, fail) => {
        const own: Try = { answer, fail };
        waiting.set(lock, own);
        withdraw = () => {
          // One that was sent gets its answer.
          if (waiting.get(lock) === own && waiting.delete(lock)) answer(false);
        };
      });
      noLongerWanted?.addEventListener('abort', withdraw);
      if (!isQueued && (noLongerWanted === undefined || !heldElsewhere.has(lock))) void beat();
      try {
        return await answered;
      } finally {
        noLongerWanted?.removeEventListener('abort', withdraw);
      }
    },
    tick() {
      if (!heartbeat.isTrusted()) return heartbeat.giveUp('the database does not answer');
      if (underWay === 0) void beat();
    },
    end() {
      for (const { fail } of waiting.values()) fail(hasEnded());
      waiting.clear();
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
