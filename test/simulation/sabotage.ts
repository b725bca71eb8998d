import type { World } from './world.js';

/** A build that is broken on purpose, to prove that an invariant notices. Nothing of it is in the product. */
export interface Sabotage {
  /** The invariant that must notice. */
  readonly breaks: string;
  readonly begin: (world: World) => void;
}

export const SABOTAGES: Readonly<Record<string, Sabotage>> = {};
