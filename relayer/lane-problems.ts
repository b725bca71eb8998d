import type { ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';
import { LANE_PROBLEM_CAUSES, type LaneProblem, type LaneProblemCause, type StoredLaneProblem } from '../core/ports/stores/relay.js';
import type { RelayStore } from '../core/ports/stores/relay.js';
import type { LaneWaits } from '../core/config/relayer.js';

/** The current state is stored again this often, in case an alert was ended or the row was restored from a backup. */
const AGAIN_MS = 30_000;

export interface LaneProblems {
  /** Records a problem. `since` is when it began, if that is known to be earlier. */
  report(cause: LaneProblemCause, reason: string, since?: number): void;
  clear(cause: LaneProblemCause): void;
  has(cause: LaneProblemCause): boolean;
  /** The problem that blocks the lane; null while the lane may send. */
  now(): LaneProblem | null;
  /** The newest problem, even if it does not block the lane yet. */
  trouble(): string | null;
  /** Stores the state for all replicas when it changed, and periodically. */
  save(): Promise<void>;
  /** Takes over what the lane's owner stored, on replicas that do not own the lane. */
  adopt(problem: LaneProblem | null): void;
  /** Another replica owned the lane in the meantime, so the stored state is not known. */
  forget(): void;
}

export interface LaneProblemsOptions {
  readonly slug: ChainSlug;
  readonly wallet: Address;
  readonly store: RelayStore;
  readonly settings: Pick<LaneWaits, 'patienceMs'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Health of a lane: whether it can send, and if not, why. */
export function createLaneProblems({ slug, wallet, store, settings, clock, log }: LaneProblemsOptions): LaneProblems {
  const problems = new Map<LaneProblemCause, StoredLaneProblem>();
  let adopted: LaneProblem | null = null;
  /** Undefined if another replica may have stored the current state. */
  let saved: StoredLaneProblem | null | undefined;
  let savedAt = 0;
  const { patienceMs } = settings;
  const patience: Readonly<Record<LaneProblemCause, number>> = {
    // A switchover ends by itself: requests wait rather than being refused.
    database: patienceMs,
    fees: 0,
    funds: 0,
    key: patienceMs,
    node: patienceMs,
    nonce: patienceMs,
    stuck: 0,
  };

  /** The first problem that lasted longer than its patience, in the order of how much it explains. */
  function blocking(): StoredLaneProblem | null {
    for (const cause of LANE_PROBLEM_CAUSES) {
      const problem = problems.get(cause);
      if (problem && clock.now() - problem.since >= patience[cause]) return problem;
    }
    return null;
  }

  function announce(problem: StoredLaneProblem | null): void {
    if (problem !== null && saved?.since !== problem.since) log.error('relay.lane-blocked', { wallet, ...problem });
    if (problem === null && saved) log.info('relay.lane-unblocked', { wallet, reason: saved.reason, ms: clock.now() - saved.since });
  }

  return {
    report(cause, reason, since = clock.now()) {
      problems.set(cause, { cause, reason, since: problems.get(cause)?.since ?? since });
    },
    clear: (cause) => void problems.delete(cause),
    has: (cause) => problems.has(cause),
    now: () => adopted ?? blocking(),
    trouble: () => adopted?.reason ?? [...problems.values()].at(-1)?.reason ?? null,
    async save() {
      const problem = blocking();
      const isNew = saved === undefined || saved?.since !== problem?.since || saved?.reason !== problem?.reason;
      if (!isNew && clock.now() - savedAt < AGAIN_MS) return;
      await store.storeLaneProblem(slug, wallet, problem);
      if (isNew) announce(problem);
      [saved, savedAt] = [problem, clock.now()];
    },
    adopt(problem) {
      problems.clear();
      adopted = problem;
    },
    forget() {
      adopted = null;
      saved = undefined;
    },
  };
}
