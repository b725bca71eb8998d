import type { Clock } from '../ports/clock.js';
import type { BlockHead } from '../types.js';

/** Progress of a follower that is behind the head. */
export interface CatchUp {
  /** Blocks left to read. */
  readonly behind: bigint;
  /** Share of the blocks read since the follower fell behind, 0 to 100. */
  readonly percent: number;
  /** Over the last 30 seconds; null until there are two samples. */
  readonly blocksPerSecond: number | null;
  /** Estimate at the current rate, counting new blocks; null while the gap does not shrink. */
  readonly secondsLeft: number | null;
}

interface Sample {
  readonly at: number;
  readonly block: bigint;
  readonly head: bigint;
}

export interface CatchUpMeter {
  measure(sample: Sample): CatchUp;
  /** The next sample starts a new measurement. */
  reset(): void;
}

const WINDOW_MS = 30_000;
/** Events older than this relative to the head count as stale. */
const NEAR_MS = 10_000;
const FEWEST_BLOCKS = 5;

/** The part of a venue needed to compare its event cursor with the newest block. */
interface HeadPosition {
  readonly state: {
    readonly head: { readonly block: BlockHead } | null;
    readonly followed: { readonly block: bigint | null; readonly caughtUpAt: number | null };
  };
  readonly definition: { readonly expectedBlockMs: number };
  readonly clock: Pick<Clock, 'now'>;
}

/** Whether stored events are current: the cursor is within a few blocks of the head, or was at the head within NEAR_MS. */
export function isNearHead({ state: { followed, head }, definition, clock }: HeadPosition): boolean {
  if (head === null || followed.block === null) return false;
  const near = BigInt(Math.max(FEWEST_BLOCKS, Math.ceil(NEAR_MS / definition.expectedBlockMs)));
  return head.block.number - followed.block <= near || (followed.caughtUpAt !== null && clock.now() - followed.caughtUpAt <= NEAR_MS);
}

export function createCatchUpMeter(): CatchUpMeter {
  let from: bigint | null = null;
  let samples: Sample[] = [];
  return {
    measure(sample) {
      from = from === null || sample.block < from ? sample.block : from;
      samples = [...samples.filter(({ at }) => sample.at - at <= WINDOW_MS), sample];
      const behind = sample.head - sample.block;
      return { behind, percent: percentOf(sample.block - from, sample.head - from), ...paceOf(samples, behind) };
    },
    reset() {
      from = null;
      samples = [];
    },
  };
}

/** One decimal, rounded down so that 100 means complete. */
const percentOf = (part: bigint, whole: bigint): number => (whole <= 0n ? 100 : Number((part * 1000n) / whole) / 10);

function paceOf(samples: readonly Sample[], behind: bigint): Pick<CatchUp, 'blocksPerSecond' | 'secondsLeft'> {
  const [first, last] = [samples[0], samples.at(-1)];
  const seconds = first && last ? (last.at - first.at) / 1000 : 0;
  if (!first || !last || seconds <= 0) return { blocksPerSecond: null, secondsLeft: null };
  const read = Number(last.block - first.block) / seconds;
  const gained = read - Number(last.head - first.head) / seconds;
  return { blocksPerSecond: Math.round(read * 10) / 10, secondsLeft: gained <= 0 ? null : Math.ceil(Number(behind) / gained) };
}
