/** Primitives of every layer. */

export type Address = `0x${string}`;
export type Hex = `0x${string}`;
export type Cancel = () => void;

export interface BlockHead {
  readonly number: bigint;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Seconds, from the block header. */
  readonly timestamp: bigint;
}
