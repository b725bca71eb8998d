import type { Address } from '../../core/types.js';

/**
 * How far one channel of an account was sent on a connection. The `fills` of a connection wait for its `orders`: a client must see the
 * order of a fill before the fill.
 */
export interface Pace {
  /** The channel is subscribed to; others wait until it reports its position. */
  begin(trader: Address): void;
  reach(cursor: bigint): void;
  /** The channel is no longer subscribed to: nothing waits for it. */
  end(): void;
  /** Resolves once the channel of this trader was sent up to the cursor, or is not subscribed to. */
  reached(trader: Address, cursor: bigint): Promise<void>;
}

export function createPace(): Pace {
  /** Null while there is no such subscription. */
  let position: bigint | null = null;
  let owner: Address | null = null;
  let waiting: { readonly cursor: bigint; readonly resolve: () => void }[] = [];

  const isReached = (cursor: bigint): boolean => position === null || position >= cursor;
  const wake = (): void => {
    const ready = waiting.filter(({ cursor }) => isReached(cursor));
    waiting = waiting.filter(({ cursor }) => !isReached(cursor));
    for (const { resolve } of ready) resolve();
  };

  return {
    begin(trader) {
      owner = trader;
      position = -1n;
    },
    reach(cursor) {
      if (position === null || cursor <= position) return;
      position = cursor;
      wake();
    },
    end() {
      position = null;
      wake();
    },
    reached: (trader, cursor) =>
      trader !== owner || isReached(cursor) ? Promise.resolve() : new Promise((resolve) => waiting.push({ cursor, resolve })),
  };
}
