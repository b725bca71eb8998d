import { computed, signal, type ReadonlySignal } from '@preact/signals';
import type { Answer, Problem } from '../api/request.js';
import { LOADING, type Load } from '../api/resource.js';
import type { JournalEvent } from './types.js';

export interface Journal {
  /** Newest first. */
  readonly load: ReadonlySignal<Load<readonly JournalEvent[]>>;
  /** The newest cursor of the account that the stream has named. */
  readonly newest: ReadonlySignal<number | null>;
  readonly hasOlder: ReadonlySignal<boolean>;
  readonly isReading: ReadonlySignal<boolean>;
  /** The stream has reached this cursor. */
  reached(cursor: number): void;
  readOlder(): void;
  /** Repeats the question that failed. */
  retry(): void;
}

type ReadEvents = (after: number, limit: number, abort: AbortSignal) => Promise<Answer<{ readonly data: readonly JournalEvent[] }>>;

const PAGE = 100;

/** Commits of the database were lost, and entries with them: the newest cursor that is left below the one that was asked for. */
const leftBefore = ({ details }: Problem): number | null =>
  details['cursorLost'] === true && typeof details['resumeAfter'] === 'number' ? details['resumeAfter'] : null;

/** The journal from its end: cursors rise by one, so the page before a cursor is found by counting down. */
export function createJournal(read: ReadEvents, abort: AbortSignal): Journal {
  const events = signal<readonly JournalEvent[]>([]);
  const newest = signal<number | null>(null);
  /** Cursors above this one have been read, up to `last`. */
  const first = signal<number | null>(null);
  const at = signal<number | null>(null);
  const problem = signal<Problem | null>(null);
  const isReading = signal(false);
  let last = 0;
  /** The question that got no answer, until another one gets one. */
  let failed: (() => void) | null = null;

  const ask = (after: number, limit: number, done: (found: readonly JournalEvent[], after: number) => void): void => {
    isReading.value = true;
    void read(after, limit, abort).then((answer) => {
      if (abort.aborted) return;
      isReading.value = false;
      const left = answer.ok ? null : leftBefore(answer.problem);
      if (left !== null && left < after) return ask(left, PAGE, done);
      problem.value = answer.ok ? null : answer.problem;
      failed = answer.ok ? null : () => ask(after, limit, done);
      if (!answer.ok) return;
      at.value = Date.now();
      done(answer.data.data.toReversed(), after);
      readNewer();
    });
  };
  function readNewer(): void {
    const end = newest.peek();
    if (end === null || isReading.peek()) return;
    if (first.peek() === null) {
      const begin = Math.max(0, end - PAGE);
      ask(begin, PAGE, (found, after) => {
        first.value = after;
        last = Math.max(end, found[0]?.cursor ?? 0);
        events.value = found;
      });
    } else if (end > last)
      ask(last, PAGE, (found, after) => {
        last = found[0]?.cursor ?? end;
        // What was shown above is no longer in the journal.
        events.value = [...found, ...events.peek().filter(({ cursor }) => cursor <= after)];
      });
  }
  return {
    load: computed(() =>
      at.value === null ? { ...LOADING, problem: problem.value } : { data: events.value, at: at.value, problem: problem.value },
    ),
    newest,
    hasOlder: computed(() => (first.value ?? 0) > 0),
    isReading,
    reached(cursor) {
      if (cursor <= (newest.peek() ?? -1)) return;
      newest.value = cursor;
      readNewer();
    },
    readOlder() {
      const end = first.peek() ?? 0;
      if (end === 0 || isReading.peek()) return;
      const begin = Math.max(0, end - PAGE);
      ask(begin, end - begin, (found, after) => {
        first.value = after;
        events.value = [...events.peek(), ...found.filter(({ cursor }) => cursor <= end)];
      });
    },
    retry() {
      if (isReading.peek()) return;
      if (failed === null) readNewer();
      else failed();
    },
  };
}
