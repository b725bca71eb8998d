import { chainVariable, type ChainSlug } from '../chains/chains.js';
import { LANE_WAITS, type LaneWaits } from './lane-waits.js';

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
