import type { ChainEvent } from '../domain/chain-event.js';
import type { JournalFact } from '../ports/stores/journal.js';
import type { Address } from '../types.js';
import type { StoredOrder, StoredPosition } from '../ports/stores/tracking.js';

/** What a set of chain events changed in the stored rows. */
export interface Changes {
  readonly events: readonly ChainEvent[];
  readonly orders: readonly StoredOrder[];
  readonly positions: readonly StoredPosition[];
  /** Journal entries of the accounts, in chain order. */
  readonly journalEntries: readonly NewJournalEntry[];
}

export interface NewJournalEntry {
  readonly trader: Address;
  readonly fact: JournalFact;
}

export const NO_CHANGES: Changes = { events: [], orders: [], positions: [], journalEntries: [] };

export const merge = (a: Changes, b: Changes): Changes => ({
  events: [...a.events, ...b.events],
  orders: [...a.orders, ...b.orders],
  positions: [...a.positions, ...b.positions],
  journalEntries: [...a.journalEntries, ...b.journalEntries],
});
