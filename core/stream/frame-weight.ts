import type { Gateway } from '../gateway.js';

/** Bytes per unit of weight: an action with the maximum of 200 orders weighs about what Hyperliquid counts for it. */
export const BYTES_PER_WEIGHT = 8 * 1024;

/**
 * Whether the next frame of a connection may be parsed. Parsing costs CPU by length even for invalid input, so every frame counts against the
 * action limit of its address before it is parsed.
 */
export function createFrameWeight({ access }: Pick<Gateway, 'access'>, address: string): (bytes: number) => boolean {
  let uncounted = 0;
  return (bytes) => {
    uncounted += bytes;
    const weight = Math.floor(uncounted / BYTES_PER_WEIGHT);
    uncounted -= weight * BYTES_PER_WEIGHT;
    return weight === 0 || !access.countActionWeight(address, weight).isExceeded;
  };
}
