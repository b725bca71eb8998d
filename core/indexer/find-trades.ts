import type { ChainTrade, TradeInfo } from '../ports/account-chain.js';
import type { ChainEvent } from '../domain/chain-event.js';
import { figuresOf } from '../domain/interpret-executions.js';
import type { Venue } from '../gateway.js';
import type { BlockHead } from '../types.js';
import type { TradeRef } from '../ports/stores/tracking.js';

/** Trades opened before the follower's start block, as they were before the range; the contract keeps closed ones too. */
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
 * A node without archive state cannot read old blocks, so the current state is used instead. The events of the range overwrite every figure
 * they change, so the result after the range is the same.
 */
async function tradesBefore({ chain, log }: Venue, refs: readonly TradeRef[], first: bigint): Promise<readonly ChainTrade[]> {
  try {
    return await chain.trades(refs, first === 0n ? 0n : first - 1n);
  } catch (error) {
    log.debug('chain.old-state-missing', { block: first, error });
    return chain.trades(refs, null);
  }
}

/** Trades opened before the contract stored the collateral price have none. */
export const entryPriceOf = ({ collateralPriceUsd }: TradeInfo): { entryPriceUsd?: bigint } =>
  collateralPriceUsd === 0 ? {} : { entryPriceUsd: BigInt(collateralPriceUsd) };
