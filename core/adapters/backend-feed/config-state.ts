import type { MarketConfig } from '../../domain/market.js';
import { applyEvent, type Outcome } from './apply-event.js';
import { composeConfig, requireComplete, type Defaults } from './compose-config.js';
import { createProblems, ShapeError, type Problems } from './problems.js';
import { readSections, type Sections } from './sections.js';

export interface ConfigState {
  /** Null before the first complete snapshot. */
  config(): MarketConfig | null;
  /** Epoch ms at which the source last rebuilt what we hold; null before the first snapshot. */
  refreshedAt(): number | null;
  /** Replaces everything; throws ShapeError and keeps the old when the snapshot is incomplete, unreadable or older. */
  replace(snapshot: unknown, now: number): Problems;
  /** Replaces the keys the frame has; throws ShapeError and keeps the old when one is unreadable. */
  merge(frame: unknown, now: number): Problems;
  event(name: string, value: unknown): Outcome;
}

/** A clock of theirs that runs ahead must not make every later snapshot look old. */
const plausible = (stamp: number | undefined, now: number): number => Math.min(stamp ?? now, now);

export function createConfigState(isOpen: Defaults['isOpen']): ConfigState {
  let sections: Partial<Sections> = {};
  let refreshedAt: number | null = null;
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
      if (refreshedAt !== null && stamp < refreshedAt) throw new ShapeError('older than the snapshot at hand');
      adopt(next, stamp);
      return problems;
    },
    merge(frame, now) {
      const problems = createProblems();
      const given = readSections(frame, problems);
      if (refreshedAt !== null) adopt({ ...sections, ...given }, Math.max(refreshedAt, plausible(given.lastRefreshed, now)));
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
