import { chainVariable, type ChainSlug } from '../chains/chains.js';

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

/** Settings of a relayer's lanes. */
export interface LaneConfig {
  readonly waits: LaneWaits;
  /** Whether collateral of timed-out requests is reclaimed automatically for the trader. */
  readonly isReclaiming: boolean;
}

export const LANE_VARIABLES = ['RELAYER_STUCK_SECONDS', 'RELAYER_RECLAIM'] as const;

export const LANE_DEFAULTS: LaneConfig = { waits: LANE_WAITS, isReclaiming: true };

interface Source {
  readonly variables: Readonly<Record<string, string>>;
  readonly problems: string[];
}

export function readLaneConfig(slug: ChainSlug, source: Source): LaneConfig {
  return { waits: { ...LANE_WAITS, stuckMs: readStuck(slug, source) }, isReclaiming: readReclaim(slug, source) };
}

/** Slow chains need a longer wait; one that would stop a lane for minutes is a mistake. */
function readStuck(slug: ChainSlug, { variables, problems }: Source): number {
  const name = chainVariable('RELAYER_STUCK_SECONDS', slug);
  const text = variables[name];
  if (text === undefined) return LANE_WAITS.stuckMs;
  if (/^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= 60) return Number(text) * 1000;
  problems.push(`${name} must be 1 to 60 seconds`);
  return LANE_WAITS.stuckMs;
}

function readReclaim(slug: ChainSlug, { variables, problems }: Source): boolean {
  const name = chainVariable('RELAYER_RECLAIM', slug);
  const text = variables[name] ?? 'on';
  if (text !== 'on' && text !== 'off') problems.push(`${name} must be on or off`);
  return text !== 'off';
}
