import type { Gateway } from '../gateway.js';
import { familyOf, type MetricFamily } from './metrics.js';
import type { JournalDepth } from '../ports/stores/metrics.js';

/** A row of every account is read for it: some tens of ms where there are 200,000 of them, and it only ever grows. */
const DEPTH_KEPT_MS = 60_000;

export interface JournalFamilies {
  /** Of the database: the same on every replica. */
  depth(): Promise<MetricFamily>;
  /** Of this replica. Asks nobody: it is never as telling as while the database does not answer. */
  readAge(): Promise<MetricFamily>;
}

/** How much there is in the journals, and how far behind their end this replica is. */
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
