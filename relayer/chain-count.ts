import type { Clock } from '../core/ports/clock.js';

export interface ChainCountOptions {
  readonly clock: Clock;
  readonly doubtMs: number;
  /** The nonce after the highest one assigned to a job. */
  readonly nextOfOurs: () => Promise<number>;
}

/** Decides how far to trust a node's transaction count of a wallet: each nonce skipped by mistake must be paid for with a no-op. */
export interface ChainCount {
  /** The next nonce, by the last accepted count. */
  believed(): number;
  /** Accepts a count, or returns how many transactions it has that the gateway did not send. `highest` is the highest open nonce. */
  hear(counted: number, highest: number): Promise<{ readonly strangers: number } | 'believed'>;
  forget(): void;
}

/** Up to this many foreign transactions are accepted at once: filling the gap costs little if they turn out not to exist. */
const MAX_FOREIGN_AT_ONCE = 5;

/** A larger number of foreign transactions is accepted once the node has reported it for `doubtMs`. */
export function createChainCount({ clock, doubtMs, nextOfOurs }: ChainCountOptions): ChainCount {
  let believed: number | null = null;
  let doubt: { readonly counted: number; readonly since: number } | null = null;

  /** Queries the store only if the count exceeds both the last accepted one and the open nonces. */
  async function foreignCount(counted: number, highest: number): Promise<number> {
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
      const strangers = await foreignCount(counted, highest);
      if (strangers > MAX_FOREIGN_AT_ONCE && isDoubted(counted)) return { strangers };
      [believed, doubt] = [counted, null];
      return 'believed';
    },
    forget() {
      [believed, doubt] = [null, null];
    },
  };
}
