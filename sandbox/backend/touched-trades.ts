import type { Address } from '../../core/types.js';
import { frame, touchedTrade, type ChainFrame } from './chain-events.js';
import type { DiamondLog } from './diamond-log.js';
import type { DiamondReader } from './diamond-reader.js';
import { readTrade, storedOrder } from './trade-reader.js';
import type { WireValue } from './wire-format.js';

const POSITION = 0;

const keyOf = (user: Address, index: number | bigint): string => `${user}:${index}`;

/** The trade that an event is about; events call its owner by two names. */
function keyIn({ args }: DiamondLog): string | null {
  if ('user' in args && 'index' in args) return keyOf(args.user, args.index);
  return 'trader' in args && 'index' in args ? keyOf(args.trader, args.index) : null;
}

/**
 * Trades of which the logs of a stretch of blocks say all there is at its end: orders that began to rest in it, and as null what closed in
 * it, for good. An order that anything else was logged of is left out: not every event that changes a trade says how.
 */
function toldByLogs(logs: readonly DiamondLog[]): Map<string, WireValue> {
  const told = new Map<string, WireValue>();
  for (const log of logs) {
    const key = keyIn(log);
    if (key === null || log.name === 'OpenOrderPlaced') continue;
    if (log.name === 'TradeClosed') told.set(key, null);
    else if (log.name === 'TradeStored' && log.args.trade.tradeType !== POSITION) told.set(key, storedOrder(log.args));
    else if (told.get(key) !== null) told.delete(key);
  }
  return told;
}

/** A frame for each log that touched a trade which is still open, with the trade as it is now; the views are asked for what no log tells. */
export async function readTouchedTrades(diamond: DiamondReader, logs: readonly DiamondLog[]): Promise<ReadonlyMap<DiamondLog, ChainFrame>> {
  const containers = new Map<string, WireValue | Promise<WireValue>>(toldByLogs(logs));
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
