import type { NodeFees } from '../core/relay/relayer.js';
import type { Attempt } from '../core/relay/relay-store.js';

export interface FeeSettings {
  /** Wei per gas that is never passed, whatever the market asks. */
  readonly maxFeePerGas: bigint;
}

export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** A base fee can grow by an eighth per block; twice of it lasts for six full ones. */
const HEADROOM = 2n;
/** Nodes take a replacement only when both figures grow by a tenth; an eighth is what most demand. */
const BUMP = { by: 9n, of: 8n } as const;

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

export function firstFees({ baseFee, priorityFee }: NodeFees, { maxFeePerGas }: FeeSettings): Fees {
  const total = least(baseFee * HEADROOM + priorityFee, maxFeePerGas);
  return { maxFeePerGas: total, maxPriorityFeePerGas: least(priorityFee, total) };
}

/** What replaces an attempt that is not mined; null when the cap leaves no room for it. */
export function bumpedFees(fees: NodeFees, last: Attempt, settings: FeeSettings): Fees | null {
  const wanted = firstFees(fees, settings);
  const bumped = {
    maxFeePerGas: most(wanted.maxFeePerGas, raised(last.maxFeePerGas)),
    maxPriorityFeePerGas: most(wanted.maxPriorityFeePerGas, raised(last.maxPriorityFeePerGas)),
  };
  return bumped.maxFeePerGas > settings.maxFeePerGas ? null : bumped;
}

/** Rounded up, so that it is always more. */
const raised = (fee: bigint): bigint => (fee * BUMP.by) / BUMP.of + 1n;
