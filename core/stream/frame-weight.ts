import type { Gateway } from '../gateway.js';

/** So many bytes of what a client sends weigh one: two hundred orders, the most an action may hold, weigh about what Hyperliquid counts for them. */
export const BYTES_PER_WEIGHT = 8 * 1024;

/**
 * Whether the next frame of a line may be read. To parse what a client sends costs the processor by its length, whether or not it means
 * anything, so all that is sent on a line counts among the actions of its address before it is parsed.
 */
export function createFrameWeight({ entrance }: Pick<Gateway, 'entrance'>, address: string): (bytes: number) => boolean {
  let uncounted = 0;
  return (bytes) => {
    uncounted += bytes;
    const weight = Math.floor(uncounted / BYTES_PER_WEIGHT);
    uncounted -= weight * BYTES_PER_WEIGHT;
    return weight === 0 || !entrance.countActionWeight(address, weight).isExceeded;
  };
}
