import { computed, signal, type ReadonlySignal } from '@preact/signals';
import type { Answer } from '../api/request.js';
import type { Problem } from '../api/request.js';
import { LOADING, type Load } from '../api/resource.js';
import type { Page } from './types.js';

export interface PagedRows<Row> {
  readonly load: ReadonlySignal<Load<readonly Row[]>>;
  /** Whether older rows can be asked for. */
  readonly hasOlder: ReadonlySignal<boolean>;
  readonly isReading: ReadonlySignal<boolean>;
  readonly readOlder: () => void;
  /** From the stream. */
  put(rows: readonly Row[]): void;
  remove(id: string): void;
}

interface PagedOptions<Row> {
  readonly read: (cursor: string | null, abort: AbortSignal) => Promise<Answer<Page<Row>>>;
  readonly keyOf: (row: Row) => string;
  /** Of two states of a row the one with the higher number is kept: a page may be older than the stream. */
  readonly versionOf: (row: Row) => number;
  /** Newest first. */
  readonly compare: (first: Row, second: Row) => number;
}

/** A list that grows at its end by pages and at its beginning by the stream. */
export function createPagedRows<Row>({ read, keyOf, versionOf, compare }: PagedOptions<Row>, abort: AbortSignal): PagedRows<Row> {
  const rows = signal<ReadonlyMap<string, Row>>(new Map());
  const removed = new Set<string>();
  const at = signal<number | null>(null);
  const problem = signal<Problem | null>(null);
  const cursor = signal<string | null>(null);
  const isReading = signal(false);

  const put = (given: readonly Row[]): void => {
    const next = new Map(rows.peek());
    for (const row of given) {
      const known = next.get(keyOf(row));
      if (known === undefined || versionOf(row) >= versionOf(known)) next.set(keyOf(row), row);
    }
    rows.value = next;
  };
  const readOlder = (): void => {
    if (isReading.peek()) return;
    isReading.value = true;
    void read(cursor.peek(), abort).then((answer) => {
      if (abort.aborted) return;
      isReading.value = false;
      problem.value = answer.ok ? null : answer.problem;
      if (!answer.ok) return;
      put(answer.data.data.filter((row) => !removed.has(keyOf(row))));
      cursor.value = answer.data.nextCursor;
      at.value = Date.now();
    });
  };
  readOlder();
  return {
    load: computed(() =>
      at.value === null
        ? { ...LOADING, problem: problem.value }
        : { data: [...rows.value.values()].sort(compare), at: at.value, problem: problem.value },
    ),
    hasOlder: computed(() => cursor.value !== null),
    isReading,
    readOlder,
    put(given) {
      for (const row of given) removed.delete(keyOf(row));
      put(given);
    },
    remove(id) {
      removed.add(id);
      const next = new Map(rows.peek());
      next.delete(id);
      rows.value = next;
    },
  };
}
