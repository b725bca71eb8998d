import type { Gateway, Venue } from '../gateway.js';
import type { JournalEntry } from '../ports/stores/journal.js';
import type { Address, Cancel } from '../types.js';
import type { JournalHub } from './journal-hub.js';

export interface FollowOptions {
  readonly trader: Address;
  /** Entries after this cursor are delivered exactly once and in order. */
  readonly after: bigint;
  /** Awaited before the next entries are delivered. */
  readonly deliver: (entries: readonly JournalEntry[]) => Promise<void> | void;
  /** Awaited between the pages of a long history, so that it is read no faster than it is sent. */
  readonly whenWritable: () => Promise<void>;
  /** Reading failed TRIES times in a row; nothing more is delivered. */
  readonly onFault: (error: unknown) => void;
}

const PAGE = 200;
/** With more batches waiting than this, they are dropped and read again from the store. */
const MAX_WAITING = 64;
const RETRY_MS = 1_000;
const TRIES = 30;

/**
 * Delivers an account's journal from a cursor on. The store is the authority: entries from the bus are used directly only while they continue
 * what was delivered; anything else triggers a read from the store. So no entry is lost or repeated, whatever the bus does.
 */
export function followJournal(gateway: Gateway, venue: Venue, hub: JournalHub, options: FollowOptions): Cancel {
  const { trader, deliver, whenWritable, onFault } = options;
  const stopping = new AbortController();
  let position = options.after;
  let isBehind = true;
  let isRunning = false;
  let failures = 0;
  let waiting: (readonly JournalEntry[])[] = [];

  const readPage = async (): Promise<readonly JournalEntry[]> => {
    isBehind = false;
    const page = await gateway.store.journal.after(venue.definition.slug, trader, position, PAGE);
    if (page.length === PAGE) isBehind = true;
    return page;
  };

  /** The next waiting entries if they continue what was delivered; otherwise empty. */
  const takeLive = (): readonly JournalEntry[] => {
    const batch = waiting.shift() ?? [];
    const fresh = batch[0] !== undefined && batch[0].cursor > position ? batch : batch.filter(({ cursor }) => cursor > position);
    const isNext = fresh.every(({ cursor }, at) => cursor === position + BigInt(at) + 1n);
    if (!isNext) isBehind = true;
    return isNext ? fresh : [];
  };

  const step = async (): Promise<void> => {
    const isPage = isBehind;
    const entries = isPage ? await readPage() : takeLive();
    const last = entries.at(-1);
    if (last === undefined || stopping.signal.aborted) return;
    await deliver(entries);
    position = last.cursor;
    if (isPage && isBehind) await whenWritable();
  };

  const recover = async (error: unknown): Promise<void> => {
    failures += 1;
    isBehind = true;
    if (failures < TRIES) {
      venue.log.warn('stream.journal-not-read', { error });
      return venue.clock.sleep(RETRY_MS, stopping.signal);
    }
    stop();
    onFault(error);
  };

  const run = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    while (!stopping.signal.aborted && (isBehind || waiting.length > 0)) {
      try {
        await step();
        failures = 0;
      } catch (error) {
        await recover(error);
      }
    }
    isRunning = false;
  };

  const cancel = hub.listen(trader, (entries) => {
    waiting.push(entries);
    if (waiting.length > MAX_WAITING) {
      waiting = [];
      isBehind = true;
    }
    void run();
  });
  const stop = (): void => {
    stopping.abort();
    cancel();
  };
  void run();
  return stop;
}
