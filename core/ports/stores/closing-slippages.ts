import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/**
 * Closing slippage still to be set for the TP/SL of a bot's order: the contract gives every new trade its own small closing slippage, and
 * the trade index is not known before the order is executed.
 */
export interface OwedClosingSlippage {
  readonly id: bigint;
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly agent: Address;
  /** The signed action that requests it, the index in it, and the bot's order. */
  readonly action: bigint;
  readonly item: number;
  readonly oid: bigint;
  /** The opening whose trade it is for; null where the trade index is known. */
  readonly orderId: bigint | null;
  readonly tradeIndex: number | null;
  /** 1e3 percent. */
  readonly closingSlippageP: bigint;
  /** How often it was sent. */
  readonly tries: number;
}

export interface ClosingSlippageStore {
  /** Claims due entries whose opening is final, each by one caller; after a crash they become due again. */
  takeDue(chain: ChainSlug, now: number, againAt: number): Promise<OwedClosingSlippage[]>;
  /** Stores that it was sent; it is checked again at `againAt`. */
  tried(chain: ChainSlug, id: bigint, againAt: number): Promise<void>;
  settle(chain: ChainSlug, id: bigint): Promise<void>;
}
