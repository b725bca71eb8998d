import type { MarketConfig } from '../../domain/market.js';
import { applyEvent, type Outcome } from './apply-event.js';
import { composeConfig, requireComplete, type Defaults } from './compose-config.js';
import { createProblems, type Problems } from './problems.js';
import { readSections, type Sections } from './sections.js';

export interface ConfigState {
  /** Null before the first complete snapshot. */
  config(): MarketConfig | null;
  /** Epoch ms of the source's last full or partial update; null before the first snapshot. */
  refreshedAt(): number | null;
  /**
   * Replaces everything; throws ShapeError and keeps the old state when the snapshot is incomplete or malformed. Null when the snapshot is
   * older than the current one, as a lagging upstream replica may send: the newer one stays.
   */
  replace(snapshot: unknown, now: number): Problems | null;
  /** Replaces the keys of the frame; throws ShapeError and keeps the old state when one is malformed. */
  merge(frame: unknown, now: number): Problems;
  event(name: string, value: unknown): Outcome;
}

/** Limits the source's time to ours: a clock that runs ahead must not make every later snapshot look old. */
const plausible = (stamp: number | undefined, now: number): number => Math.min(stamp ?? now, now);

export function createConfigState(isOpen: Defaults['isOpen']): ConfigState {
  let sections: Partial<Sections> = {};
  let refreshedAt: number | null = null;
  let rebuiltAt = 0;
  let composed: MarketConfig | null = null;

  const adopt = (next: Partial<Sections>, stamp: number): void => {
    requireComplete(next);
    composed = composeConfig(next, { refreshedAt: stamp, isOpen });
    sections = next;
    refreshedAt = stamp;
  };

  return {
    config() {
      if (composed || refreshedAt === null) return composed;
      requireComplete(sections);
      composed = composeConfig(sections, { refreshedAt, isOpen });
      return composed;
    },
    refreshedAt: () => refreshedAt,
    replace(snapshot, now) {
      const problems = createProblems();
      const next = readSections(snapshot, problems);
      const stamp = plausible(next.lastRefreshed, now);
      if (stamp < rebuiltAt) return null;
      adopt(next, stamp);
      rebuiltAt = stamp;
      return problems;
    },
    merge(frame, now) {
      const problems = createProblems();
      const given = readSections(frame, problems);
      if (refreshedAt === null) return problems;
      adopt({ ...sections, ...given }, Math.max(refreshedAt, plausible(given.lastRefreshed, now)));
      if (given.lastRefreshed !== undefined) rebuiltAt = Math.max(rebuiltAt, plausible(given.lastRefreshed, now));
      return problems;
    },
    event(name, value) {
      if (refreshedAt === null) return 'ignored';
      const outcome = applyEvent(sections, name, value);
      if (outcome === 'changed') composed = null;
      return outcome;
    },
  };
}
