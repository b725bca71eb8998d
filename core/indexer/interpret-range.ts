import type { ChainEvent } from '../domain/chain-event.js';
import type { DiamondLog } from '../domain/diamond-log.js';
import type { PrecisionLookup } from '../domain/interpret-executions.js';
import { interpretLogs } from '../domain/interpret-logs.js';
import type { Collateral } from '../domain/market.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import { tradeRefKey } from '../ports/stores/tracking.js';

/** Interprets logs transaction by transaction; each sees the positions as the previous transactions left them. */
export function interpretRange(
  logs: readonly DiamondLog[],
  known: ReadonlyMap<string, PositionState | null>,
  precisionOf: PrecisionLookup,
): ChainEvent[] {
  const positions = new Map(known);
  return transactionsOf(logs).flatMap((transaction) => {
    const events = interpretLogs(
      transaction,
      (trader, tradeIndex) => positions.get(tradeRefKey({ trader, tradeIndex })) ?? null,
      precisionOf,
    );
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

function transactionsOf(logs: readonly DiamondLog[]): DiamondLog[][] {
  const transactions = new Map<string, DiamondLog[]>();
  for (const log of logs) {
    const known = transactions.get(log.place.txHash);
    if (known) known.push(log);
    else transactions.set(log.place.txHash, [log]);
  }
  return [...transactions.values()];
}
