import type { ChainSlug } from '../../chains/chains.js';
import type { Agent } from '../../domain/agent.js';
import type { Executed } from '../../domain/chain-event.js';
import type { Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { Address, Cancel } from '../../types.js';

/**
 * The append-only story of an account. What was told is never changed or taken away: when a reorganisation undoes something, a
 * correction says so.
 */
export type JournalFact =
  | { readonly kind: 'order'; readonly id: bigint; readonly order: Order }
  | { readonly kind: 'fill'; readonly id: bigint; readonly executed: Executed }
  | { readonly kind: 'position'; readonly id: bigint; readonly tradeIndex: number; readonly position: PositionState }
  | { readonly kind: 'agent'; readonly agent: Agent }
  /** The chain took something back: what is true now, null where nothing is left of it; `before` is what was told last. */
  | {
      readonly kind: 'correction';
      readonly of:
        | { readonly kind: 'order'; readonly id: bigint; readonly order: Order | null; readonly before: Order }
        | { readonly kind: 'fill'; readonly id: bigint; readonly executed: Executed }
        | {
            readonly kind: 'position';
            readonly id: bigint;
            readonly tradeIndex: number;
            readonly position: PositionState | null;
            readonly before: PositionState;
          };
    };

export interface JournalEntry {
  readonly chain: ChainSlug;
  readonly trader: Address;
  /** Rises by one per entry of the account; whoever has seen n never hears of a smaller one again. */
  readonly cursor: bigint;
  /** Epoch ms at which it was written. */
  readonly at: number;
  readonly fact: JournalFact;
}

export interface JournalStore {
  /** Oldest first, above the cursor. */
  after(chain: ChainSlug, trader: Address, cursor: bigint, limit: number): Promise<JournalEntry[]>;
  /** The account's newest cursor; 0 while nothing has happened. */
  last(chain: ChainSlug, trader: Address): Promise<bigint>;
  /** What was told about one order, oldest first. */
  ofOrder(chain: ChainSlug, orderId: bigint): Promise<JournalEntry[]>;
  /** Entries of every account as they are committed, by whichever replica; told once each, in order per account. */
  listen(listener: (entries: readonly JournalEntry[]) => void): Promise<Cancel>;
  /** Milliseconds since whoever listens here had heard everything, the slowest of them; null while nobody listens. Asks nobody. */
  heardAgo(): Promise<number | null>;
}
