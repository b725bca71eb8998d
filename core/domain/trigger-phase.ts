import type { TriggerPlace } from './triggers.js';

/** A stored trigger, with what its phase depends on. */
export interface TriggerStatus {
  readonly state: 'asked' | 'standing' | 'over';
  readonly kind: string;
  readonly place: TriggerPlace | null;
  /** The transaction that sets it; null where there is none. */
  readonly job: {
    readonly id: bigint;
    readonly isOver: boolean;
    /** The block in which it was mined. */
    readonly minedBlock: bigint | null;
    /** Epoch ms after which it is given up; null where it has no deadline. */
    readonly until: number | null;
  } | null;
  /** Whether the opening that it came with may still get on chain. */
  readonly isOpeningDue: boolean;
}

export interface Moment {
  readonly now: number;
  /** The last indexed block. */
  readonly indexed: bigint;
}

/**
 * waiting: its opening is not on chain yet · underWay: its transaction may still be mined, or its block is not indexed · standing: its trade
 * or resting order has it · failed: its transaction or opening failed · over: it ended on chain.
 */
export type TriggerPhase = 'waiting' | 'underWay' | 'standing' | 'failed' | 'over';

/** Mined in a block that is not indexed yet: its trade has it, and the row does not say so. */
const isAhead = ({ state, job }: TriggerStatus, { indexed }: Moment): boolean =>
  state === 'asked' && job !== null && job.minedBlock !== null && job.minedBlock > indexed;

export function phaseOf(trigger: TriggerStatus, moment: Moment): TriggerPhase {
  const { state, job, isOpeningDue } = trigger;
  if (state !== 'asked') return state;
  if (job === null) return isOpeningDue ? 'waiting' : 'failed';
  if (isAhead(trigger, moment)) return 'underWay';
  return !job.isOver && (job.until === null || job.until > moment.now) ? 'underWay' : 'failed';
}

/**
 * Of these triggers of one trader those that stand on a trade, but that one which is mined and not indexed has replaced. On an order that
 * rests the former one is listed until the block is indexed.
 */
export function replacedAhead<Row extends TriggerStatus>(triggers: readonly Row[], moment: Moment): ReadonlySet<Row> {
  const ahead = new Set(
    triggers.filter((one) => isAhead(one, moment) && one.place?.startsWith('trade:') === true).map(({ place, kind }) => `${place}/${kind}`),
  );
  return new Set(triggers.filter(({ state, place, kind }) => state === 'standing' && ahead.has(`${place}/${kind}`)));
}
