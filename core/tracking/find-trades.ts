import type { ChainEvent } from '../domain/chain-event.js';
import { figuresOf } from '../domain/interpret-executions.js';
import type { Venue } from '../gateway.js';
import type { BlockHead } from '../ports.js';
import type { TradeRef } from './tracking-store.js';

/** Trades the follower meets in the middle of their life; the chain keeps even closed ones. */
export async function findTrades(venue: Venue, refs: readonly TradeRef[], before: BlockHead): Promise<ChainEvent[]> {
  const trades = await venue.chain.trades(refs);
  return trades.flatMap(({ trade, info }, at): ChainEvent[] => {
    const ref = refs[at];
    if (!ref || BigInt(trade.user) === 0n) return [];
    const place = { blockNumber: before.number, blockHash: null, txHash: null, logIndex: null, at: Number(before.timestamp) * 1000 };
    const openedBlock = BigInt(info.createdBlock);
    return [
      {
        kind: 'found',
        ...ref,
        orderKey: null,
        place,
        trade: figuresOf(trade),
        isOpen: true,
        slippageP: BigInt(info.maxSlippageP),
        openedBlock,
      },
    ];
  });
}
