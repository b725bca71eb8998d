import type { ChainEvent } from '../domain/chain-event.js';
import type { DiamondLog } from '../domain/diamond-log.js';
import { interpretLogs } from '../domain/interpret-logs.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import { tradeRefKey } from './tracking-store.js';

/** Logs → events, transaction by transaction, each seeing the positions as the ones before left them. */
export function interpretRange(logs: readonly DiamondLog[], known: ReadonlyMap<string, PositionState | null>): ChainEvent[] {
  const positions = new Map(known);
  return transactionsOf(logs).flatMap((transaction) => {
    const events = interpretLogs(transaction, (trader, tradeIndex) => positions.get(tradeRefKey({ trader, tradeIndex })) ?? null);
    for (const event of events) {
      if (event.tradeIndex === null) continue;
      const key = tradeRefKey({ trader: event.trader, tradeIndex: event.tradeIndex });
      positions.set(key, foldPosition(positions.get(key) ?? null, event));
    }
    return events;
  });
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
