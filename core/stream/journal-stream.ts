import { onVenue, type Gateway, type Venue } from '../gateway.js';
import type { Address, Cancel } from '../types.js';
import type { JournalEntry } from '../ports/stores/journal.js';
import { createBus, type Bus } from './bus.js';

/** Publishes journal entries written by any replica on this replica's bus, per venue. */
export function watchJournal({ store, venues, bus }: Gateway): Promise<Cancel> {
  return store.journal.listen((entries) => {
    for (const [chain, own] of byChain(entries)) {
      const venue = venues.get(chain);
      if (venue) bus.emit('journal', { venue, entries: own });
    }
  });
}

function byChain(entries: readonly JournalEntry[]): Map<string, JournalEntry[]> {
  const chains = new Map<string, JournalEntry[]>();
  for (const entry of entries) {
    const known = chains.get(entry.chain);
    if (known) known.push(entry);
    else chains.set(entry.chain, [entry]);
  }
  return chains;
}

/** Losses that are proven from now on; the listener is not called when one is adopted. */
export function onNewLoss({ store: { continuity } }: Pick<Gateway, 'store'>, listener: () => void): Cancel {
  let known = continuity.lastLoss()?.id ?? null;
  return continuity.onLoss(({ id }) => {
    if (id === known) return;
    known = id;
    listener();
  });
}

type EntriesListener = (entries: readonly JournalEntry[]) => void;

/** Distributes new journal entries to the watched accounts, with one bus listener for all of them. */
export interface JournalHub {
  /** Entries of one account, in order; listeners of the same account are handed the same arrays. */
  listen(trader: Address, listener: EntriesListener): Cancel;
  /** How many accounts are watched. */
  readonly size: () => number;
}

interface Watched {
  readonly bus: Bus<{ entries: readonly JournalEntry[] }>;
  listeners: number;
}

export function createJournalHub(gateway: Gateway, venue: Venue): JournalHub {
  const accounts = new Map<Address, Watched>();
  let cancel: Cancel | null = null;

  const distribute = (entries: readonly JournalEntry[]): void => {
    const byTrader = new Map<Address, JournalEntry[]>();
    for (const entry of entries) if (accounts.has(entry.trader)) byTrader.set(entry.trader, [...(byTrader.get(entry.trader) ?? []), entry]);
    for (const [trader, own] of byTrader) accounts.get(trader)?.bus.emit('entries', own);
  };

  const watchedOf = (trader: Address): Watched => {
    const known = accounts.get(trader);
    if (known) return known;
    const bus = createBus<{ entries: readonly JournalEntry[] }>((_kind, error) => venue.log.error('stream.listener-failed', { error }));
    const made = { bus, listeners: 0 };
    accounts.set(trader, made);
    return made;
  };

  const leave = (trader: Address, watched: Watched): void => {
    watched.listeners -= 1;
    if (watched.listeners === 0) accounts.delete(trader);
    if (accounts.size > 0) return;
    cancel?.();
    cancel = null;
  };

  return {
    size: () => accounts.size,
    listen(trader, listener) {
      cancel ??= onVenue(gateway, venue, 'journal', ({ entries }) => distribute(entries));
      const watched = watchedOf(trader);
      watched.listeners += 1;
      const off = watched.bus.on('entries', listener);
      let isOff = false;
      return () => {
        if (isOff) return;
        isOff = true;
        off();
        leave(trader, watched);
      };
    },
  };
}

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

export interface AtCursor<State> {
  /** Every entry up to this one is in the state. */
  readonly cursor: bigint;
  /** No entry above this one is in the state; equal to `cursor` unless the account changed during every try. */
  readonly until: bigint;
  readonly state: State;
}

const READ_TRIES = 5;

/** Reads the state and checks that the journal cursor is the same before and after; every change of the state moves the cursor. */
export async function readAtCursor<State>(
  { store }: Gateway,
  venue: Venue,
  trader: Address,
  read: () => Promise<State>,
): Promise<AtCursor<State>> {
  const last = (): Promise<bigint> => store.journal.last(venue.definition.slug, trader);
  let cursor = await last();
  for (let tries = 1; ; tries += 1) {
    const state = await read();
    const until = await last();
    if (until === cursor || tries === READ_TRIES) return { cursor, until, state };
    cursor = until;
  }
}
