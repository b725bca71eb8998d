import type { Gateway } from '../gateway.js';
import { familyOf, type MetricFamily } from './metrics.js';
import type { JournalDepth } from '../ports/stores/metrics.js';

/** Counting reads a row of every account, some tens of ms for 200,000 of them, so the result is cached. */
const DEPTH_KEPT_MS = 60_000;

export interface JournalFamilies {
  /** From the database: the same on every replica. */
  depth(): Promise<MetricFamily>;
  /** Of this replica. Reads memory only, because it matters most while the database does not answer. */
  readAge(): Promise<MetricFamily>;
}

/** Size of the journals, and how far this replica is behind. */
export function createJournalFamilies({ store: { metrics, journal }, clock }: Gateway): JournalFamilies {
  let kept: { readonly at: number; readonly entries: readonly JournalDepth[] } | null = null;
  return {
    async depth() {
      const now = clock.now();
      if (kept === null || now - kept.at >= DEPTH_KEPT_MS) kept = { at: now, entries: await metrics.journalEntries() };
      return familyOf(
        'journalEntries',
        kept.entries.map(({ chain, count }) => ({ value: count, labels: { chain } })),
      );
    },
    async readAge() {
      const ms = await journal.heardAgo();
      return familyOf('journalAge', ms === null ? [] : [{ value: ms / 1_000, labels: {} }]);
    },
  };
}
