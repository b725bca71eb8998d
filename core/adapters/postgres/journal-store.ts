import type { Knex } from 'knex';
import type pg from 'pg';
import type { JournalEntry, JournalStore } from '../../ports/stores/journal.js';
import {
  JOURNAL_CHANNEL,
  JOURNAL_COLUMNS,
  presentPosition,
  readEntry,
  readFeed,
  wentBack,
  type Connection,
  type FeedPosition,
  type JournalRow,
} from './journal-rows.js';
import type { Clock } from '../../ports/clock.js';
import type { Logger } from '../../ports/log.js';
import { borrowed } from './connection-pool.js';

export interface ClosableJournalStore {
  readonly store: JournalStore;
  /** Stops all listeners. */
  close(): Promise<void>;
}

/** An order has a few entries; of one that is amended all day only the first are returned. */
const MAX_PER_ORDER = 1_000;

export function createJournalStore(parts: ListenerParts): ClosableJournalStore {
  const { db } = parts;
  const listeners = new Set<JournalListener>();
  return {
    store: {
      async after(chain, trader, cursor, limit) {
        const sql = `select ${JOURNAL_COLUMNS} from journal
          where chain = :chain and trader = :trader and cursor > :cursor order by cursor limit :limit`;
        const { rows } = await db.raw<{ rows: JournalRow[] }>(sql, { chain, trader, cursor: cursor.toString(), limit });
        return rows.map(readEntry);
      },
      async ofOrder(chain, orderId) {
        const sql = `select ${JOURNAL_COLUMNS} from journal where chain = :chain and order_id = :orderId order by cursor limit ${MAX_PER_ORDER}`;
        const { rows } = await db.raw<{ rows: JournalRow[] }>(sql, { chain, orderId: orderId.toString() });
        return rows.map(readEntry);
      },
      async upTo(chain, trader, cursor) {
        const sql = 'select max(cursor) as cursor from journal where chain = :chain and trader = :trader and cursor <= :cursor';
        const { rows } = await db.raw<{ rows: { cursor: bigint | null }[] }>(sql, { chain, trader, cursor: cursor.toString() });
        return rows[0]?.cursor ?? 0n;
      },
      last: async (chain, trader) => (await clockOf(db, { chain, trader }))?.cursor ?? 0n,
      async listen(listener) {
        const made = await listenToJournal(parts, listener);
        listeners.add(made);
        return () => void made.stop().then(() => listeners.delete(made));
      },
      heardAgo: () => Promise.resolve(listeners.size === 0 ? null : Math.max(...[...listeners].map((listener) => listener.readAgo()))),
    },
    async close() {
      await Promise.all([...listeners].map((listener) => listener.stop()));
      listeners.clear();
    },
  };
}

const clockOf = (db: Knex, account: { readonly chain: string; readonly trader: string }): Promise<{ cursor: bigint } | undefined> =>
  db<{ chain: string; trader: string; cursor: bigint }>('account_cursors').where(account).first('cursor');

interface ListenerParts {
  readonly db: Knex;
  /** Creates a dedicated client, not connected yet. */
  readonly createClient: () => pg.Client;
  readonly clock: Clock;
  readonly log: Logger;
}

interface JournalListener {
  /** Milliseconds since it last reached the end of the journal. */
  readAgo(): number;
  stop(): Promise<void>;
}

/** Notifications may be lost with their connection or by a pooler, so the journal is polled too: often once one was missed. */
const POLL_MS = { listening: 5_000, polling: 200 } as const;
const RECONNECT_MS = { first: 50, most: 2_000 } as const;

/** Publishes entries that any replica commits from now on. Fails only if the current position cannot be read. */
export async function listenToJournal(
  { db, createClient, clock, log }: ListenerParts,
  publish: (entries: readonly JournalEntry[]) => void,
): Promise<JournalListener> {
  const stopping = new AbortController();
  const isOver = (): boolean => stopping.signal.aborted;
  const [notice, retry] = [createBell(clock, stopping.signal), createBell(clock, stopping.signal)];
  let client: pg.Client | null = null;
  let position: FeedPosition = await borrowed(db, presentPosition);
  let atEndSince = clock.monotonic();

  /** A connection on which a query failed is closed and not reused. */
  const asked = async <Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> => {
    const own = client;
    if (own === null) return borrowed(db, work);
    try {
      return await work(own);
    } catch (error) {
      closeQuietly(own);
      throw error;
    }
  };

  async function keepConnected(): Promise<void> {
    for (let pause: number = RECONNECT_MS.first; !isOver(); pause = Math.min(pause * 2, RECONNECT_MS.most)) {
      const made = createClient();
      const end = endOf(made, stopping.signal);
      try {
        await made.connect();
        made.on('notification', notice.ring);
        await made.query(`listen ${JOURNAL_CHANNEL}`);
        client = made;
        pause = RECONNECT_MS.first;
        notice.ring();
        await end.came;
        if (!isOver()) log.warn('journal.connection-lost');
      } catch (error) {
        log.warn('journal.cannot-listen', { error });
      }
      client = null;
      end.forget();
      closeQuietly(made);
      await retry.wait(pause);
    }
  }

  /** True when entries were found. */
  async function readOn(): Promise<boolean> {
    let hasFound = false;
    const since = clock.monotonic();
    for (let hasMore = true; hasMore && !isOver();) {
      const before = position;
      const step = await asked((connection) => readFeed(connection, before));
      if (wentBack(before, step.position)) log.warn('journal.database-went-back', { from: before.seen, to: step.position.seen });
      ({ position, hasMore } = step);
      if (step.entries.length === 0) continue;
      hasFound = true;
      publish(step.entries);
    }
    atEndSince = since;
    return hasFound;
  }

  async function keepReading(): Promise<void> {
    let missesNotices = false;
    while (!isOver()) {
      const wasNotified = await notice.wait(client === null || missesNotices ? POLL_MS.polling : POLL_MS.listening);
      try {
        missesNotices = (await readOn()) ? !wasNotified : missesNotices && !wasNotified;
      } catch (error) {
        if (!isOver()) log.warn('journal.cannot-read', { error });
      }
    }
  }

  const done = Promise.all([keepConnected(), keepReading()]);
  return {
    readAgo: () => clock.monotonic() - atEndSince,
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

function closeQuietly(client: pg.Client): void {
  client.end().catch(() => undefined);
}

/** Resolves at the end of the connection or of the listener. `forget` removes the abort handler, since there are many connections. */
function endOf(client: pg.Client, over: AbortSignal): { readonly came: Promise<void>; readonly forget: () => void } {
  let end: () => void = () => undefined;
  const came = new Promise<void>((resolve) => (end = resolve));
  client.once('end', end).on('error', () => end());
  over.addEventListener('abort', end);
  return { came, forget: () => over.removeEventListener('abort', end) };
}

interface Bell {
  readonly ring: () => void;
  /** True once it rings, or if it rang since the last wait; false on timeout or abort. */
  wait(ms: number): Promise<boolean>;
}

function createBell(clock: Clock, over: AbortSignal): Bell {
  let hasRung = false;
  let answer: () => void = () => undefined;
  const ring = (): void => {
    hasRung = true;
    answer();
  };
  over.addEventListener('abort', () => answer());
  return {
    ring,
    async wait(ms) {
      if (!hasRung && !over.aborted)
        await new Promise<void>((resolve) => {
          const cancel = clock.after(ms, resolve);
          answer = () => {
            cancel();
            resolve();
          };
        });
      const rang = hasRung;
      hasRung = false;
      return rang;
    },
  };
}
