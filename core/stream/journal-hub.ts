import { createBus, type Bus } from '../bus.js';
import type { Gateway, Venue } from '../gateway.js';
import type { JournalEntry } from '../ports/stores/journal.js';
import type { Address, Cancel } from '../types.js';

export type EntriesListener = (entries: readonly JournalEntry[]) => void;

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
      cancel ??= gateway.bus.on('journal', (event) => event.venue === venue && distribute(event.entries));
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
