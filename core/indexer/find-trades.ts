import type { ChainTrade, TradeInfo } from '../ports/account-chain.js';
import type { ChainEvent } from '../domain/chain-event.js';
import { figuresOf } from '../domain/interpret-executions.js';
import type { Venue } from '../gateway.js';
import type { BlockHead } from '../types.js';
import type { TradeRef } from '../ports/stores/tracking.js';

/** Trades the follower meets in the middle of their life, as they stood before the range; the chain keeps even closed ones. */
export async function findTrades(venue: Venue, refs: readonly TradeRef[], first: BlockHead): Promise<ChainEvent[]> {
  const trades = await tradesBefore(venue, refs, first.number);
  return trades.flatMap(({ trade, info }, at): ChainEvent[] => {
    const ref = refs[at];
    if (!ref || BigInt(trade.user) === 0n) return [];
    const place = { blockNumber: first.number, blockHash: null, txHash: null, logIndex: null, at: Number(first.timestamp) * 1000 };
    const openedBlock = BigInt(info.createdBlock);
    const slippageP = BigInt(info.maxSlippageP);
    const found = { kind: 'found', ...ref, orderKey: null, place, trade: figuresOf(trade), isOpen: true, slippageP, openedBlock } as const;
    return [{ ...found, ...entryPriceOf(info) }];
  });
}

/**
 * A node that has forgotten the state of old blocks tells today's. The events of the range say what became of each figure they change, so
 * that the end is right either way.
 */
async function tradesBefore({ chain, log }: Venue, refs: readonly TradeRef[], first: bigint): Promise<readonly ChainTrade[]> {
  try {
    return await chain.trades(refs, first === 0n ? 0n : first - 1n);
  } catch (error) {
    log.debug('chain.old-state-missing', { block: first, error });
    return chain.trades(refs, null);
  }
}

/** A trade from before the contract kept the price has none. */
export const entryPriceOf = ({ collateralPriceUsd }: TradeInfo): { entryPriceUsd?: bigint } =>
  collateralPriceUsd === 0 ? {} : { entryPriceUsd: BigInt(collateralPriceUsd) };
