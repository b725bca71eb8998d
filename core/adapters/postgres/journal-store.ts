import type { Knex } from 'knex';
import type { JournalStore } from '../../ports/stores/journal.js';
import { listenToJournal, type JournalListener, type ListenerParts } from './journal-listener.js';
import { JOURNAL_COLUMNS, readEntry, type JournalRow } from './journal-rows.js';

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
