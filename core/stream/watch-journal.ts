import type { Gateway } from '../gateway.js';
import type { Cancel } from '../types.js';
import type { JournalEntry } from '../ports/stores/journal.js';

/** Brings what any replica writes into the accounts' journals to this one's bus, venue by venue. */
export function watchJournal({ store, venues, bus }: Gateway): Promise<Cancel> {
  return store.journal.listen((entries) => {
    for (const [chain, told] of byChain(entries)) {
      const venue = venues.get(chain);
      if (venue) bus.emit('journal', { venue, entries: told });
    }
  });
}

function byChain(entries: readonly JournalEntry[]): Map<string, JournalEntry[]> {
  const chains = new Map<string, JournalEntry[]>();
  for (const entry of entries) {
    const told = chains.get(entry.chain);
    if (told) told.push(entry);
    else chains.set(entry.chain, [entry]);
  }
  return chains;
}
