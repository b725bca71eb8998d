/** Waiting times of a lane, in ms. */
export interface LaneWaits {
  /** Unmined for this long: sent again, or replaced with a higher fee. */
  readonly stuckMs: number;
  /** A job not mined this long after its deadline is given up. */
  readonly tooLateMs: number;
  /** How long a nonce used by a foreign transaction is checked before it counts as used: receipts may lag behind nonces. */
  readonly doubtMs: number;
  /** How long a failing node is retried before the lane is fenced. */
  readonly patienceMs: number;
  /** How long the next transaction may wait for its block before the lane is fenced. */
  readonly jammedMs: number;
}

export const LANE_WAITS: LaneWaits = { stuckMs: 12_000, tooLateMs: 30_000, doubtMs: 30_000, patienceMs: 5_000, jammedMs: 30_000 };

/** How long after its deadline a job may still be sent. An order must not be published as over before that. Clocks of replicas differ. */
export const MAY_BE_SENT_MS = 2 * LANE_WAITS.tooLateMs;
