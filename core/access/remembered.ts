/** Rows that are read with nearly every request. */
export interface Remembered<Key, Row> {
  /** From memory, else from the database; what is absent is asked again each time. Callers who ask at once share the question. */
  find(key: Key): Promise<Row | null> | Row;
  /** As the database has it now. */
  refresh(key: Key): Promise<Row | null>;
}

const MAX_ROWS = 100_000;

/**
 * A memory that may be out of date: whoever uses a row compares its version with the one that the database tells beside the request, and
 * refreshes it when they differ.
 */
export function createRemembered<Key, Row>(idOf: (key: Key) => string, load: (key: Key) => Promise<Row | null>): Remembered<Key, Row> {
  const rows = new Map<string, Row>();
  const underWay = new Map<string, Promise<Row | null>>();

  const refresh = async (key: Key): Promise<Row | null> => {
    const row = await load(key);
    const id = idOf(key);
    rows.delete(id);
    if (row !== null) rows.set(id, row);
    const [oldest] = rows.keys();
    if (rows.size > MAX_ROWS && oldest !== undefined) rows.delete(oldest);
    return row;
  };

  const findFirst = (id: string, key: Key): Promise<Row | null> => {
    const asked = underWay.get(id);
    if (asked !== undefined) return asked;
    const asking = refresh(key).finally(() => underWay.delete(id));
    underWay.set(id, asking);
    return asking;
  };

  return {
    find: (key) => rows.get(idOf(key)) ?? findFirst(idOf(key), key),
    refresh,
  };
}
