import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/**
 * Room that the levels of a bot's order are still owed: the contract gives every new trade its own small closing slippage, and the index
 * it has to be set on is not known before the order is executed.
 */
export interface OwedRoom {
  readonly id: bigint;
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly agent: Address;
  /** The signed action that asks for it, the place in it, and the bot's order that came of it. */
  readonly action: bigint;
  readonly item: number;
  readonly oid: bigint;
  /** The opening whose trade it is for; null where the trade is known. */
  readonly orderId: bigint | null;
  readonly tradeIndex: number | null;
  /** 1e3 percent. */
  readonly roomP: bigint;
  /** How often it was sent. */
  readonly tries: number;
}

export interface RoomStore {
  /** Kept until it is given or there is nothing left to give it to. */
  owe(room: Omit<OwedRoom, 'id' | 'tries'>, dueAt: number): Promise<void>;
  /** Takes what is due and whose opening is over, each by one of those who ask; whoever dies over it leaves it to be taken again. */
  takeDue(chain: ChainSlug, now: number, againAt: number): Promise<OwedRoom[]>;
  /** It was sent, and is looked at again. */
  tried(chain: ChainSlug, id: bigint, againAt: number): Promise<void>;
  settle(chain: ChainSlug, id: bigint): Promise<void>;
}
