/** How long a lane waits for what, in ms. */
export interface LaneWaits {
  /** Unmined for this long: sent again, or replaced with a higher fee. */
  readonly stuckMs: number;
  /** What no block has taken this long after its time is not worth sending any more. */
  readonly tooLateMs: number;
  /** A nonce seen used by nobody of ours is looked at for this long before it is believed: receipts may come later than counters. */
  readonly doubtMs: number;
  /** A node that fails, or takes nothing, is tried again for this long before the lane is fenced. */
  readonly patienceMs: number;
  /** The next transaction waits for its block for this long before the lane is fenced. */
  readonly jammedMs: number;
}

export const LANE_WAITS: LaneWaits = { stuckMs: 12_000, tooLateMs: 30_000, doubtMs: 30_000, patienceMs: 5_000, jammedMs: 30_000 };

/** For so long after its time a job may still be sent: told to be over before that, it would happen all the same. Clocks of replicas differ. */
export const MAY_BE_SENT_MS = 2 * LANE_WAITS.tooLateMs;
