import type { Clock } from '../core/ports/clock.js';
import type { RelayNode } from '../core/ports/relayer.js';

export interface ChainCountOptions {
  readonly clock: Clock;
  readonly doubtMs: number;
  /** The nonce after the highest one assigned to a job. */
  readonly nextOfOurs: () => Promise<number>;
}

/** The wallet's next nonce at the latest block, and after what waits for a block. */
export type Counted = Pick<Awaited<ReturnType<RelayNode['account']>>, 'nonce' | 'pending'>;

/** Decides how far to trust a node's transaction count of a wallet: each nonce skipped by mistake must be paid for with a no-op. */
export interface ChainCount {
  /** The last accepted count; 0 before the first. */
  believed(): number;
  /**
   * How many transactions of a count were not sent by the gateway, and whether it waits to be confirmed. `highest` is the highest open nonce.
   * Those that wait for a block count too: only the wallet's key makes them, so a node that shows them is believed as about mined ones.
   */
  hear(counted: Counted, highest: number): Promise<{ readonly strangers: number; readonly isDoubted: boolean }>;
  believe(counted: Counted, strangers: number): void;
  /** Whether foreign transactions, after a count of which jobs wait, are mined or gone. Asked with every count while jobs wait for it. */
  areOver(counted: Counted): boolean;
  forget(): void;
}

interface Doubt {
  /** The lowest doubted count: it is believed when it was reported for `doubtMs`. */
  readonly lowest: number;
  readonly since: number;
  /** The highest doubted count: lower ones, as of a node that does not see what waits for a block, do not end the doubt at once. */
  readonly highest: number;
  readonly strangers: number;
  readonly heardAt: number;
}

/** Up to this many foreign transactions are accepted at once: filling the gap costs little if they turn out not to exist. */
const MAX_FOREIGN_AT_ONCE = 5;

/** A larger number of foreign transactions is accepted once the node has reported it for `doubtMs`. */
export function createChainCount({ clock, doubtMs, nextOfOurs }: ChainCountOptions): ChainCount {
  let believed: number | null = null;
  /** Foreign transactions below this were answered already, though they may never be mined. */
  let noticed = 0;
  let doubt: Doubt | null = null;
  /** Foreign transactions are mined when the latest count reaches this; null as long as none was counted. */
  let awaited: number | null = null;
  /** Since when nothing of the wallet waits for a block, in every answer. */
  let nonePendingSince: number | null = null;

  /** Queries the store only if the count exceeds both the last accepted one and the open nonces. */
  async function foreignCount(counted: number, highest: number): Promise<number> {
    if (counted <= Math.max(believed ?? 0, noticed, highest + 1)) return 0;
    return counted - (await nextOfOurs());
  }

  function doubtFrom(counted: number, strangers: number): Doubt {
    const now = clock.now();
    const known = doubt ?? { lowest: Infinity, since: now, highest: 0, strangers };
    const { lowest, since } = counted < known.lowest ? { lowest: counted, since: now } : known;
    const most = counted > known.highest ? { highest: counted, strangers } : { highest: known.highest, strangers: known.strangers };
    return { lowest, since, ...most, heardAt: now };
  }

  return {
    believed: () => believed ?? 0,
    async hear({ nonce, pending }, highest) {
      const strangers = await foreignCount(pending, highest);
      if (strangers > MAX_FOREIGN_AT_ONCE) {
        doubt = doubtFrom(pending, strangers);
        return { strangers, isDoubted: clock.now() - doubt.since < doubtMs };
      }
      // Another node may have answered, which does not see what the first one saw.
      if (doubt === null || nonce >= doubt.highest || clock.now() - doubt.heardAt >= doubtMs) return { strangers, isDoubted: false };
      return { strangers: doubt.strangers, isDoubted: true };
    },
    believe({ nonce, pending }, strangers) {
      [believed, doubt] = [nonce, null];
      if (strangers <= 0) return;
      noticed = Math.max(noticed, pending);
      [awaited, nonePendingSince] = [noticed, null];
    },
    areOver({ nonce, pending }) {
      nonePendingSince = pending > nonce ? null : (nonePendingSince ?? clock.now());
      if (doubt !== null) return false;
      // The owner of the lane before may have counted them.
      if (pending > nonce) awaited ??= pending;
      const areMined = awaited !== null && nonce >= awaited;
      return areMined || (nonePendingSince !== null && clock.now() - nonePendingSince >= doubtMs);
    },
    forget() {
      [believed, doubt, noticed] = [null, null, 0];
      [awaited, nonePendingSince] = [null, null];
    },
  };
}
