/** Primitives of every layer. */

export type Address = `0x${string}`;
export type Hex = `0x${string}`;
export type Cancel = () => void;

export interface BlockHead {
  readonly number: bigint;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Seconds, as the chain says. */
  readonly timestamp: bigint;
}
