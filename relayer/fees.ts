import { formatUnits } from 'viem/utils';
import type { NodeFees } from '../core/ports/relayer.js';
import type { Attempt } from '../core/ports/stores/relay.js';

export interface FeeSettings {
  /** Upper bound in wei per gas, whatever the market asks. */
  readonly maxFeePerGas: bigint;
  /** Upper bound in wei per gas on the tip a node proposes; absent: no bound. A replacement still bids more than the attempt it replaces. */
  readonly maxTipPerGas?: bigint;
}

export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** A base fee can grow by an eighth per block, so twice the current one covers six full blocks. */
const HEADROOM = 2n;
/** Nodes require at least a tenth more for a replacement; an eighth more is customary. */
const BUMP = { by: 9n, of: 8n } as const;
const LEAST_BUMP = { by: 11n, of: 10n } as const;

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

export function firstFees({ baseFee, priorityFee }: NodeFees, { maxFeePerGas, maxTipPerGas = priorityFee }: FeeSettings): Fees {
  const tip = least(priorityFee, maxTipPerGas);
  const total = least(baseFee * HEADROOM + tip, maxFeePerGas);
  return { maxFeePerGas: total, maxPriorityFeePerGas: least(tip, total) };
}

/** The fees of a replacement, up to the cap; null if the cap allows no sufficient bump. */
export function bumpedFees(fees: NodeFees, last: Attempt, settings: FeeSettings): Fees | null {
  const wanted = firstFees(fees, settings);
  const total = least(most(wanted.maxFeePerGas, raised(last.maxFeePerGas, BUMP)), settings.maxFeePerGas);
  if (total < raised(last.maxFeePerGas, LEAST_BUMP)) return null;
  const tip = least(most(wanted.maxPriorityFeePerGas, raised(last.maxPriorityFeePerGas, BUMP)), total);
  return tip < raised(last.maxPriorityFeePerGas, LEAST_BUMP) ? null : { maxFeePerGas: total, maxPriorityFeePerGas: tip };
}

/** Rounded up, so that the result is always higher. */
const raised = (fee: bigint, { by, of }: { readonly by: bigint; readonly of: bigint }): bigint => (fee * by) / of + 1n;

/** Rounded down to a thousandth, for display. */
export const gwei = (wei: bigint): string => formatUnits(wei / 1_000_000n, 3);
