import type { Clock } from '../core/ports/clock.js';

export interface ChainCountOptions {
  readonly clock: Clock;
  readonly doubtMs: number;
  /** The nonce after all that were ever given to jobs. */
  readonly nextOfOurs: () => Promise<number>;
}

/** How far a node is believed when it counts a wallet's transactions: a nonce that is left out has to be paid for with a no-op. */
export interface ChainCount {
  /** The nonce to go on from. */
  believed(): number;
  /** Believes a count, or says how many more it holds than anybody here sent. `highest` is the highest nonce that is open. */
  hear(counted: number, highest: number): Promise<{ readonly strangers: number } | 'believed'>;
  forget(): void;
}

/** So many of others are believed at once: to make up for them, should they not be there, costs next to nothing. */
const A_HANDFUL = 5;

/** More than a handful are believed when they have been counted for as long as a nonce that somebody else used is doubted. */
export function createChainCount({ clock, doubtMs, nextOfOurs }: ChainCountOptions): ChainCount {
  let believed: number | null = null;
  let doubt: { readonly counted: number; readonly since: number } | null = null;

  /** What is no news, or ours to the last, needs no look into the books. */
  async function strangersIn(counted: number, highest: number): Promise<number> {
    if (counted <= Math.max(believed ?? 0, highest + 1)) return 0;
    return counted - (await nextOfOurs());
  }

  function isDoubted(counted: number): boolean {
    if (doubt === null || counted < doubt.counted) doubt = { counted, since: clock.now() };
    return clock.now() - doubt.since < doubtMs;
  }

  return {
    believed: () => believed ?? 0,
    async hear(counted, highest) {
      const strangers = await strangersIn(counted, highest);
      if (strangers > A_HANDFUL && isDoubted(counted)) return { strangers };
      [believed, doubt] = [counted, null];
      return 'believed';
    },
    forget() {
      [believed, doubt] = [null, null];
    },
  };
}
