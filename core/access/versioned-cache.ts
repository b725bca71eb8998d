import { LRUCache } from 'lru-cache';

/** Cache of rows that are read with nearly every request. */
export interface VersionedCache<Key, Row> {
  /** From memory, else from the database; absent rows are not cached. Concurrent callers share one read. */
  find(key: Key): Promise<Row | null> | Row;
  /** Reads the row from the database. */
  refresh(key: Key): Promise<Row | null>;
}

const MAX_ROWS = 100_000;

/**
 * Cached rows may be stale: the caller compares a row's version with the one that the admission statement returns, and refreshes it when they
 * differ.
 */
export function createVersionedCache<Key, Row extends object>(
  idOf: (key: Key) => string,
  load: (key: Key) => Promise<Row | null>,
): VersionedCache<Key, Row> {
  const rows = new LRUCache<string, Row>({ max: MAX_ROWS });
  const inFlight = new Map<string, Promise<Row | null>>();

  const refresh = async (key: Key): Promise<Row | null> => {
    const row = await load(key);
    if (row === null) rows.delete(idOf(key));
    else rows.set(idOf(key), row);
    return row;
  };

  const findFirst = (id: string, key: Key): Promise<Row | null> => {
    const asked = inFlight.get(id);
    if (asked !== undefined) return asked;
    const asking = refresh(key).finally(() => inFlight.delete(id));
    inFlight.set(id, asking);
    return asking;
  };

  return {
    find: (key) => rows.get(idOf(key)) ?? findFirst(idOf(key), key),
    refresh,
  };
}
