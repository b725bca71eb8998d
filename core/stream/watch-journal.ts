import type { Gateway } from '../gateway.js';
import type { Cancel } from '../types.js';
import type { JournalEntry } from '../ports/stores/journal.js';

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
