import type { LaneProblems } from './lane-problems.js';
import type { LaneOptions } from './lane-options.js';

/** Keeps a lane from signing while the database may have lost commits, or has and was not compared with the chain yet. */
export interface LostCommits {
  /** Why nothing may be signed or sent; null if it may. Reads memory only. */
  readonly held: () => string | null;
  /** Takes the next step towards signing; true if the lane may sign. */
  settle(): Promise<boolean>;
}

interface LostCommitsOptions extends Pick<LaneOptions, 'continuity'> {
  readonly problems: Pick<LaneProblems, 'report' | 'clear'>;
}

export function createLostCommits({ continuity, problems }: LostCommitsOptions): LostCommits {
  const held = (): string | null => continuity?.doubt() ?? null;

  return {
    held,
    settle() {
      const reason = held();
      if (reason === null) problems.clear('database');
      else problems.report('database', reason);
      return Promise.resolve(reason === null);
    },
  };
}
