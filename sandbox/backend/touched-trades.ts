import type { Address } from '../../core/types.js';
import { frame, touchedTrade, type ChainFrame } from './chain-events.js';
import type { DiamondLog } from './diamond-log.js';
import type { DiamondReader } from './diamond-reader.js';
import { readTrade, storedOrder } from './trade-reader.js';
import type { WireValue } from './wire-format.js';

const POSITION = 0;

const keyOf = (user: Address, index: number | bigint): string => `${user}:${index}`;

/** The trade of an event; events have two names for its owner. */
function keyIn({ args }: DiamondLog): string | null {
  if ('user' in args && 'index' in args) return keyOf(args.user, args.index);
  return 'trader' in args && 'index' in args ? keyOf(args.trader, args.index) : null;
}

/**
 * Trades whose final state follows from the logs of a block range alone: orders that began to rest in it, and null for trades closed in
 * it. An order with any other event is left out, as not every event that changes a trade contains the change.
 */
function tradesFromLogs(logs: readonly DiamondLog[]): Map<string, WireValue> {
  const trades = new Map<string, WireValue>();
  for (const log of logs) {
    const key = keyIn(log);
    if (key === null || log.name === 'OpenOrderPlaced') continue;
    if (log.name === 'TradeClosed') trades.set(key, null);
    else if (log.name === 'TradeStored' && log.args.trade.tradeType !== POSITION) trades.set(key, storedOrder(log.args));
    else if (trades.get(key) !== null) trades.delete(key);
  }
  return trades;
}

/** A frame for each log of a trade that is still open, with its current state; views are read only for what the logs do not contain. */
export async function readTouchedTrades(diamond: DiamondReader, logs: readonly DiamondLog[]): Promise<ReadonlyMap<DiamondLog, ChainFrame>> {
  const containers = new Map<string, WireValue | Promise<WireValue>>(tradesFromLogs(logs));
  const containerOf = (user: Address, index: number): WireValue | Promise<WireValue> => {
    const key = keyOf(user, index);
    const container = containers.get(key);
    if (container !== undefined) return container;
    const asked = readTrade(diamond, user, index);
    containers.set(key, asked);
    return asked;
  };
  const frames = new Map<DiamondLog, ChainFrame>();
  const readOne = async (log: DiamondLog): Promise<void> => {
    const touched = touchedTrade(log);
    const container = touched && (await containerOf(touched.user, touched.index));
    if (touched && container !== null) frames.set(log, frame(touched.frame, container));
  };
  await Promise.all(logs.map(readOne));
  return frames;
}
