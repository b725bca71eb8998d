import type { ChainEvent } from '../domain/chain-event.js';
import { begins, type DiamondLog } from '../domain/diamond-log.js';
import { figuresOf, type PrecisionLookup } from '../domain/interpret-executions.js';
import { interpretLogs } from '../domain/interpret-logs.js';
import type { Collateral } from '../domain/market.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import { logKey, tradeRefKey, type TradeRef } from '../ports/stores/tracking.js';
import type { LogRange } from '../ports/chain.js';
import type { Address, BlockHead, Hex } from '../types.js';
import type { ChainTrade, TradeInfo } from '../ports/account-chain.js';

/**
 * Interprets logs transaction by transaction; each sees the positions as the previous transactions left them. `unread`: transactions that have
 * logs which cannot be read.
 */
export function interpretRange(
  logs: readonly DiamondLog[],
  known: ReadonlyMap<string, PositionState | null>,
  precisionOf: PrecisionLookup,
  unread: ReadonlySet<Hex> = new Set(),
): ChainEvent[] {
  const positions = new Map(known);
  return transactionsOf(logs).flatMap((transaction) => {
    const tradeOf = (trader: Address, tradeIndex: number): PositionState | null =>
      positions.get(tradeRefKey({ trader, tradeIndex })) ?? null;
    const isUnread = unread.has(transaction[0]?.place.txHash ?? '0x');
    const events = interpretLogs({ logs: transaction, tradeOf, precisionOf, isUnread });
    for (const event of events) {
      if (event.tradeIndex === null) continue;
      const key = tradeRefKey({ trader: event.trader, tradeIndex: event.tradeIndex });
      positions.set(key, foldPosition(positions.get(key) ?? null, event));
    }
    return events;
  });
}

/** Looks up precisions in the feed's config; null for a collateral that is not loaded yet. Precisions never change. */
export function precisionsOf({ feed }: Venue): PrecisionLookup {
  const collaterals = knownCollaterals(feed);
  return (collateralIndex) => collaterals.find(({ index }) => index === collateralIndex)?.precision ?? null;
}

function knownCollaterals(feed: Venue['feed']): readonly Pick<Collateral, 'index' | 'precision'>[] {
  try {
    return feed.config().collaterals;
  } catch (error) {
    if (error instanceof GatewayError) return [];
    throw error;
  }
}

/** The logs of each transaction. */
export function transactionsOf(logs: readonly DiamondLog[]): DiamondLog[][] {
  const transactions = new Map<string, DiamondLog[]>();
  for (const log of logs) {
    const known = transactions.get(log.place.txHash);
    if (known) known.push(log);
    else transactions.set(log.place.txHash, [log]);
  }
  return [...transactions.values()];
}

/** Inputs of the transactions that began an order in these blocks; those that did not come with the logs are fetched. */
export async function readInputs(
  { chain }: Venue,
  { logs, inputs }: LogRange,
  known: ReadonlySet<string> = new Set(),
): Promise<ReadonlyMap<Hex, Hex>> {
  const wanted = logs.filter((log) => begins(log) && !known.has(logKey(log.place))).map(({ place }) => place.txHash);
  const missing = wanted.filter((hash) => !inputs.has(hash));
  return missing.length === 0 ? inputs : new Map([...inputs, ...(await chain.inputs([...new Set(missing)]))]);
}

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
