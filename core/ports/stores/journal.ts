import type { ChainSlug } from '../../chains/chains.js';
import type { Agent } from '../../domain/agent.js';
import type { Executed } from '../../domain/chain-event.js';
import type { Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { Address, Cancel } from '../../types.js';

/** Append-only account events. A published entry is never changed or removed: a reorganisation appends a correction. */
export type JournalFact =
  | { readonly kind: 'order'; readonly id: bigint; readonly order: Order }
  | { readonly kind: 'fill'; readonly id: bigint; readonly executed: Executed }
  | { readonly kind: 'position'; readonly id: bigint; readonly tradeIndex: number; readonly position: PositionState }
  | { readonly kind: 'agent'; readonly agent: Agent }
  /** A reorganisation changed the state: the new state, null where nothing is left; `before` is the state last published. */
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
  /** Rises by one per entry of the account; a listener that has received n never receives a smaller one again. */
  readonly cursor: bigint;
  /** Epoch ms at which it was written. */
  readonly at: number;
  readonly fact: JournalFact;
}

export interface JournalStore {
  /** Oldest first, above the cursor. */
  after(chain: ChainSlug, trader: Address, cursor: bigint, limit: number): Promise<JournalEntry[]>;
  /** The account's newest cursor; 0 without entries. */
  last(chain: ChainSlug, trader: Address): Promise<bigint>;
  /** The newest entry's cursor up to this one; 0 without one. */
  upTo(chain: ChainSlug, trader: Address, cursor: bigint): Promise<bigint>;
  /** Entries about one order, oldest first. */
  ofOrder(chain: ChainSlug, orderId: bigint): Promise<JournalEntry[]>;
  /** Entries of every account as any replica commits them; each once, in order per account. */
  listen(listener: (entries: readonly JournalEntry[]) => void): Promise<Cancel>;
  /** Milliseconds since the slowest listener of this process was up to date; null without listeners. Reads memory only. */
  heardAgo(): Promise<number | null>;
}
