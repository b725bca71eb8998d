import type { Executed } from '../../domain/chain-event.js';
import type { NetPosition, SizeEvent } from '../../domain/net-position.js';
import type { PositionState } from '../../domain/position.js';
import type { Address } from '../../types.js';

/** `net` is null where it has not been folded: a release that did not fold has stored it. */
export interface FillToFold {
  readonly id: bigint;
  readonly executed: Executed;
  readonly net: NetPosition | null;
}

interface Trade {
  readonly trader: Address;
  readonly tradeIndex: number;
}

/** The part of the indexer's transaction that is about the net position before and after each fill. */
export interface NetPositionUnit {
  /** By trader and trade. */
  openPositions(traders: readonly Address[]): Promise<ReadonlyMap<Address, ReadonlyMap<number, PositionState>>>;
  /** Of these trades, those without a valid execution. */
  neverExecuted(trades: readonly Trade[]): Promise<readonly Trade[]>;
  /** What shows which trades of the trader were open before their first event: all that were found, and first executions. */
  openingEvents(trader: Address): Promise<readonly SizeEvent[]>;
  /** A trader's valid fills in the order of the chain, changes of leverage included. */
  fillsAfter(trader: Address, after: FillToFold | null, limit: number): Promise<readonly FillToFold[]>;
  saveNets(nets: readonly { readonly id: bigint; readonly net: NetPosition }[]): void;
  /** Marks all fills of these traders as not folded. */
  forgetNets(traders: readonly Address[]): void;
  /** Traders with fills that are not folded. */
  unfoldedTraders(limit: number): Promise<readonly Address[]>;
}
