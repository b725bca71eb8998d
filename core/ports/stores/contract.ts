import type { ChainSlug } from '../../chains/chains.js';
import type { ContractStanding } from '../../domain/contract-doubt.js';
import type { OrderKey } from '../../domain/chain-event.js';
import type { LogPlace, RawLog, TransactionReceipt } from '../../domain/diamond-log.js';
import type { Address, Hex } from '../../types.js';

/** A transaction with logs that the release which kept it could not read. */
export interface KeptTransaction {
  readonly place: TransactionReceipt['place'];
  readonly raw: readonly RawLog[];
  /** The operator said what became of its orders; a release that can read it still corrects them. */
  readonly settled: { readonly at: number; readonly note: string } | null;
}

/** Identifies a change of the facets, or all of one block. */
export interface NewestCut {
  readonly block: bigint;
  readonly hash: Hex;
}

/** An order whose outcome such a transaction holds. */
export interface UnexplainedOrder {
  readonly id: bigint;
  readonly trader: Address;
  readonly orderKey: OrderKey | null;
  readonly txHash: Hex;
}

/** The writes of the indexer; each is undone with its block by a reorganisation. */
export interface ContractUnit {
  keepUnread(kept: readonly Pick<KeptTransaction, 'place' | 'raw'>[]): void;
  /** Those of these transactions that are kept, by hash. */
  keptAmong(places: readonly Pick<LogPlace, 'txHash' | 'blockHash'>[]): Promise<ReadonlySet<Hex>>;
  /** This release has read it. */
  forgetUnread(place: Pick<LogPlace, 'txHash' | 'blockHash'>): void;
  /** Marks a kept transaction as settled; false where there is none with this hash that is open. */
  settleUnread(txHash: Hex, settled: NonNullable<KeptTransaction['settled']>): Promise<boolean>;
  noteCuts(places: readonly LogPlace[]): void;
}

export interface ContractStore {
  standing(chain: ChainSlug): Promise<ContractStanding>;
  /** Oldest first. */
  unread(chain: ChainSlug, limit: number): Promise<KeptTransaction[]>;
  unexplained(chain: ChainSlug, limit: number): Promise<UnexplainedOrder[]>;
  /** Stores that a change is accepted, with these findings; false where a reorganisation took it back or a later one is accepted. */
  accept(
    chain: ChainSlug,
    cut: NewestCut,
    accepted: { readonly findings: readonly string[]; readonly reason: string | null },
    at: number,
  ): Promise<boolean>;
  /** The same of a change that agrees; the findings that were accepted stay. */
  agree(chain: ChainSlug, cut: NewestCut, at: number): Promise<boolean>;
}
